"""Loading and checking a large plan: the time grows with the plan, not with its square."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tui_eval.engine.preflight import check_plan
from tui_eval.errors import Fault, SpecError
from tui_eval.spec.loading import load_plan

ENVIRONMENT = {"SUPPORT_TOKEN": "tok-7Qz+/=made_up"}
MOST_GROWTH = 6.0
"""Of the time, for a plan four times as large: 4 is in proportion, 16 would be quadratic."""


def _plan(requests: int, cases: int, *, key: str = "chunk_extractor") -> dict[str, Any]:
    rows = [{"id": f"c{at}", "question": f"what is {at}?", "answer": str(at)} for at in range(cases)]
    solution = {
        "type": "http",
        "headers": {"authorization": "Bearer ${SUPPORT_TOKEN}"},
        "body": {"input": "{{ input.question }}", "stream": True},
        key: "output",
    }
    return {
        "version": 1,
        "name": "large",
        "defaults": {"dataset": {"cases": rows}, "evaluators": [{"id": "exact", "expected": "y"}]},
        "requests": [
            {"name": f"r{at}", "solution": {**solution, "url": f"https://agents.example.com/{at}"}}
            for at in range(requests)
        ],
    }


def _many_requests(factor: int) -> dict[str, Any]:
    return _plan(requests=200 * factor, cases=2)


def _many_cases(factor: int) -> dict[str, Any]:
    return _plan(requests=1, cases=1_500 * factor)


def _many_faults(factor: int) -> dict[str, Any]:
    return _plan(requests=200 * factor, cases=2, key="chunk_extractr")


def _as_yaml(plan: dict[str, Any]) -> str:
    """One request and one case a line, as people write them."""
    defaults, requests = plan["defaults"], plan["requests"]
    lines = ["version: 1", "name: large", "defaults:", f"  evaluators: {json.dumps(defaults['evaluators'])}"]
    lines += ["  dataset:", "    cases:", *(f"      - {json.dumps(case)}" for case in defaults["dataset"]["cases"])]
    lines += ["requests:", *(f"  - {json.dumps(request)}" for request in requests)]
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["plan.yaml", "plan.json"])
@pytest.mark.parametrize("make", [_many_requests, _many_cases, _many_faults])
def test_the_time_to_load_and_check_grows_with_the_plan(
    make: Callable[[int], dict[str, Any]], name: str, tmp_path: Path
) -> None:
    def seconds(factor: int) -> float:
        path = tmp_path / name
        plan = make(factor)
        path.write_text(json.dumps(plan) if name.endswith(".json") else _as_yaml(plan), "utf-8")
        return min(_seconds_to_check(path) for _ in range(2))

    seconds(1)  # what is imported and compiled once is not part of it
    assert seconds(4) < MOST_GROWTH * seconds(1)


def test_a_fault_deep_in_a_large_plan_keeps_its_place(tmp_path: Path) -> None:
    plan = _plan(requests=300, cases=2)
    plan["requests"][298]["solution"]["chunk_extractr"] = "output"
    path = tmp_path / "plan.yaml"
    path.write_text(_as_yaml(plan), "utf-8")
    (fault,) = _faults(path)
    assert fault.path == "requests.r298.solution.chunk_extractr"
    assert "r298" in path.read_text("utf-8").splitlines()[fault.line - 1]
    assert "did you mean `chunk_extractor`" in fault.hint


def _seconds_to_check(path: Path) -> float:
    gc.collect()
    gc.disable()  # its passes cost what all other tests keep alive
    try:
        started = time.process_time()
        with suppress(SpecError):  # the plan with faults
            check_plan(load_plan(path, environment=ENVIRONMENT), ENVIRONMENT)
        return time.process_time() - started
    finally:
        gc.enable()


def _faults(path: Path) -> list[Fault]:
    with pytest.raises(SpecError) as caught:
        load_plan(path, environment=ENVIRONMENT)
    return list(caught.value.faults)
