"""Task records for the tests of analysis and reports."""

from __future__ import annotations

from typing import Any

from tui_eval.domain import Outcome
from tui_eval.store.records import Counters, RequestRecord, RequestState, RunRecord, RunState, TaskRecord


def task(case_id: str = "a", outcome: Outcome = Outcome.PASSED, **values: Any) -> TaskRecord:
    """A finished task; every field can be given."""
    fields: dict[str, Any] = {
        "id": 1,
        "run": 1,
        "request": 1,
        "position": 0,
        "case_key": 1,
        "case_id": case_id,
        "repeat": 0,
        "line": 1,
        "work": "call",
        "outcome": outcome,
        "fingerprint": "f",
        "evaluation_fingerprint": "e",
        "reused_from": None,
        "attempts": 1,
        "started_at": 1_800_000_000.0,
        "finished_at": 1_800_000_001.5,
        "latency": 1.5,
        "score": None,
        "error_kind": "",
        "message": "",
        "output": "",
        "trace_id": "",
        "input_tokens": None,
        "output_tokens": None,
    }
    return TaskRecord(**{**fields, **values})


def counters(*outcomes: Outcome, **values: Any) -> Counters:
    """Counters of tasks with these outcomes."""
    result = Counters(total=len(outcomes), **values)
    for outcome in outcomes:
        if outcome is not Outcome.QUEUED:
            setattr(result, outcome.value, getattr(result, outcome.value) + 1)
    return result


def request(name: str = "prod", **values: Any) -> RequestRecord:
    fields: dict[str, Any] = {
        "run": 1,
        "position": 0,
        "name": name,
        "state": RequestState.COMPLETED,
        "solution_type": "http",
        "id": 1,
    }
    return RequestRecord(**{**fields, **values})


def run(plan: dict[str, Any] | None = None, **values: Any) -> RunRecord:
    fields: dict[str, Any] = {
        "run_id": "20261129-143501-7f3a",
        "name": "support-bot",
        "state": RunState.COMPLETED,
        "plan": plan or {},
        "folder": "/somewhere",
        "program": "0.1.0",
        "created_at": 1_800_000_000.0,
        "id": 1,
        "started_at": 1_800_000_000.0,
        "finished_at": 1_800_000_009.25,
    }
    return RunRecord(**{**fields, **values})
