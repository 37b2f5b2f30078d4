"""Records that the tests of the history share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tui_eval.domain import Outcome, Score
from tui_eval.store.reader import History
from tui_eval.store.records import (
    AttemptPayload,
    AttemptRecord,
    FinishedTask,
    NewTask,
    RequestRecord,
    RequestState,
    RunRecord,
    RunState,
)
from tui_eval.store.writer import HistoryWriter


def run_record(run_id: str = "20310405-120000-aaaa", **changes: Any) -> RunRecord:
    values: dict[str, Any] = {
        "run_id": run_id,
        "name": "support-bot",
        "state": RunState.RUNNING,
        "plan": {"version": 1, "name": "support-bot", "requests": []},
        "folder": "/plans",
        "program": "0.1.0",
        "created_at": time.time(),
    }
    return RunRecord(**values | changes)


def request_record(run: int, position: int = 0, name: str = "prod") -> RequestRecord:
    return RequestRecord(run=run, position=position, name=name, state=RequestState.PENDING, solution_type="http")


def new_tasks(request: int, count: int, **changes: Any) -> list[NewTask]:
    return [
        NewTask(
            **{
                "request": request,
                "position": number,
                "case_id": f"c{number}",
                "case_input": {"question": f"What is {number}?", "n": number},
                "line": number + 1,
                "fingerprint": f"f{number}",
                "evaluation_fingerprint": f"e{number}",
            }
            | changes
        )
        for number in range(count)
    ]


def attempt(output: Any = "hello", number: int = 1, **changes: Any) -> AttemptRecord:
    values: dict[str, Any] = {
        "number": number,
        "started_at": 1000.0,
        "seconds": 0.25,
        "status_code": 200,
        "trace_id": "t" * 32,
        "payload": AttemptPayload({"url": "http://127.0.0.1/x"}, {"output": output}),
    }
    return AttemptRecord(**values | changes)


def finished(task: int, request: int, outcome: Outcome = Outcome.PASSED, **changes: Any) -> FinishedTask:
    values: dict[str, Any] = {
        "task": task,
        "request": request,
        "outcome": outcome,
        "started_at": 1000.0,
        "finished_at": 1001.0,
        "attempts": [attempt()],
        "scores": [Score("exact", 1.0 if outcome is Outcome.PASSED else 0.0, outcome is Outcome.PASSED, "because")],
        "latency": 0.25,
        "output": "hello",
        "trace_id": "t" * 32,
        "input_tokens": 10,
        "output_tokens": 5,
        "cost": 0.5,
    }
    return FinishedTask(**values | changes)


async def planned(writer: HistoryWriter, count: int, run_id: str = "20310405-120000-aaaa") -> tuple[RunRecord, int]:
    """A run with one request of so many tasks; the run and the request's key."""
    run = run_record(run_id)
    await writer.create_run(run)
    request = request_record(run.id)
    await writer.add_requests([request])
    await writer.add_tasks(new_tasks(request.id, count))
    return run, request.id


@contextmanager
def reading(path: Path) -> Iterator[History]:
    with History(path) as history:
        yield history
