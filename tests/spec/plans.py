"""Plans for the tests of loading, and the faults of those that cannot be loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tui_eval.errors import Fault, SpecError
from tui_eval.spec.loading import LoadedPlan, load_plan

PLAN = """\
version: 1
name: support-bot
task_concurrency: 16
runtime: {timeout_seconds: 3600, provider_limits: {api.example.com: 8}, qps: {api.example.com: 20}}
defaults:
  dataset: {path: data/tickets.jsonl, id: ticket_id, sample: {limit: 200, seed: 7}}
  evaluators:
    - {id: contains, variable_mapping: {output: experiment_output, expected_output: dataset.answer}}
  execution: {max_retries: 2, attempt_timeout_seconds: 60}
requests:
  - name: prod
    solution:
      type: http
      url: https://agents.example.com/invoke
      headers: {authorization: "Bearer ${SUPPORT_TOKEN}"}
      body: {input: "{{ input.question }}", stream: true}
  - name: candidate
    solution: {type: command, argv: [python, agent.py, --input, "{{ input.question }}"]}
    execution: {max_retries: 0}
"""
ENVIRONMENT = {"SUPPORT_TOKEN": "tok-7Qz+/=made_up"}
Write = Callable[..., Path]


def faults_of(source: Any, **options: Any) -> list[Fault]:
    with pytest.raises(SpecError) as caught:
        load_plan(source, environment=options.pop("environment", ENVIRONMENT), **options)
    return list(caught.value.faults)


def data(**changes: Any) -> dict[str, Any]:
    """The smallest plan there is, with changes to its one request."""
    request = {
        "name": "a",
        "dataset": {"cases": [{"q": "x"}]},
        "solution": {"type": "http", "url": "http://127.0.0.1:9/", "body": "{{ q }}"},
        "evaluators": [{"id": "exact", "expected": "y"}],
    }
    return {"version": 1, "name": "small", "requests": [{**request, **changes}]}


def loaded(**changes: Any) -> LoadedPlan:
    return load_plan(data(**changes), environment=ENVIRONMENT)


def messages(source: Any, **options: Any) -> str:
    return "\n".join(str(fault) for fault in faults_of(source, **options))
