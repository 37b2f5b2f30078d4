"""An agent that misbehaves costs its own request's tasks and nothing else."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from tests.support.product import Agent, Product

PLAN = """
version: 1
name: beside
task_concurrency: 16
runtime: {{cleanup_grace_seconds: 1}}
defaults:
  dataset: {{path: cases.jsonl}}
  evaluators: [{{id: exact, variable_mapping: {{expected_output: dataset.answer}}}}]
  execution: {{attempt_timeout_seconds: 2.5, idle_timeout_seconds: 2}}
requests:
  - name: bad
    solution: {{type: http, url: "${{BAD}}/flaky?mode={mode}&share=1&gap=1000", body: {{question: "{{{{ question }}}}"}}, output_extractor: output{more}}}
  - name: good
    solution: {{type: http, url: "${{GOOD}}/json?ms=20", body: {{question: "{{{{ question }}}}"}}, output_extractor: output}}
"""


@pytest.mark.parametrize("mode", ["hang", "flood", "drip", "429", "drop", "garbage", "500"])
def test_a_bad_agent_has_no_effect_on_the_other_requests_tasks(product: Product, agent: Agent, mode: str) -> None:
    from tests.support.product import agent_process

    product.write_cases([{"id": f"s{n}", "question": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(40)])
    more = ", max_response_bytes: 65536" if mode == "flood" else ""
    plan = product.write_plan(PLAN.format(mode=mode, more=more))
    with agent_process() as bad:
        began = time.monotonic()
        product.run("run", str(plan), environment={"BAD": bad.url, "GOOD": agent.url})
        took = time.monotonic() - began
    run_id = product.query("SELECT run_id FROM runs")[0][0]
    outcomes = Counter((name, outcome) for (name, _, _), outcome in product.outcomes(run_id).items())
    assert outcomes == {("good", "passed"): 40, ("bad", "error"): 40}
    (spread,) = product.query(
        "SELECT max(finished_at) - min(started_at) FROM tasks WHERE request = (SELECT id FROM requests WHERE name = 'good')"
    )[0]
    assert spread < 1.9, "the good request's tasks waited for the bad agent"
    assert took < 40
