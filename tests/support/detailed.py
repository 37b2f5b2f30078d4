"""Tasks with everything that a task can have: for tests of the screens that show one in full."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.histories import run_record
from tui_eval.domain import Outcome, Score
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

SENT = {
    "method": "POST",
    "url": "${AGENT_URL}/invoke",
    "headers": {"authorization": "Bearer ${TOKEN}", "traceparent": "(new for each attempt)"},
    "body": {"question": "What is it? ${HOME}"},
}
EVALUATORS = [
    {"id": "exact", "variable_mapping": {"expected_output": "dataset.answer"}},
    {"id": "judge", "name": "tone", "rubric": "Is it polite?"},
]


@dataclass(frozen=True, slots=True)
class Told:
    """One task: its case, its output and what came of it. ``answers`` are the attempts' answers in the order made;
    one that is None was an error."""

    case_id: str
    outcome: Outcome = Outcome.FAILED
    output: Any = "Sydney"
    expected: Any = "Canberra"
    message: str = ""
    answers: Sequence[Mapping[str, Any] | None] = ({},)
    scores: Sequence[Score] = field(default=(Score("exact", 0.0, False, '"Canberra" is not "Sydney"'),))
    error: str = "connection"


async def write_told(
    path: Path, tasks: Sequence[Told], run: RunRecord | None = None, *, request: str = "prod"
) -> tuple[RunRecord, list[int]]:
    """A finished run with one request and these tasks; the run and the keys of its tasks."""
    run = run or run_record()
    solution = {"type": "http", "url": "${AGENT_URL}/invoke", "headers": {"authorization": "Bearer ${TOKEN}"}}
    run.plan["requests"] = [{"name": request, "solution": solution, "evaluators": EVALUATORS}]
    async with await HistoryWriter.open(path) as writer:
        await writer.create_run(run)
        record = RequestRecord(run.id, 0, request, RequestState.RUNNING, "http", started_at=run.created_at)
        await writer.add_requests([record])
        cases = [{"question": "What is it?", "answer": task.expected} for task in tasks]
        await writer.add_tasks(
            [NewTask(record.id, n, task.case_id, case) for n, (task, case) in enumerate(zip(tasks, cases, strict=True))]
        )
        with closing(sqlite3.connect(path)) as connection:
            sql = "SELECT id FROM tasks WHERE run = ? ORDER BY position"
            keys = [key for (key,) in connection.execute(sql, (run.id,))]
        for key, task in zip(keys, tasks, strict=True):
            if task.outcome.final:
                writer.finished(_finished(key, record.id, task, run.created_at))
        await writer.set_request_state(record.id, RequestState.COMPLETED, finished_at=run.created_at + 9)
        await writer.set_run_state(run.id, RunState.COMPLETED, finished_at=run.created_at + 9)
        await writer.flush()
    return run, keys


def _finished(key: int, request: int, task: Told, at: float) -> FinishedTask:
    attempts = []
    for number, answer in enumerate(task.answers, 1):
        kind = task.error if answer is None else ""
        received = None if answer is None else {"output": task.output, "raw": str(task.output), **answer}
        message = "refused by the agent" if kind else ""
        payload = AttemptPayload(dict(SENT), received)
        status = (answer or {}).get("status_code")
        attempts.append(AttemptRecord(number, at + number, 0.5, kind, message, status, payload=payload))
    text = task.output if isinstance(task.output, str) else str(task.output)
    return FinishedTask(
        key,
        request,
        task.outcome,
        at,
        at + 1,
        attempts,
        list(task.scores),
        latency=0.5,
        error_kind=attempts[-1].error_kind if attempts else "",
        message=task.message,
        output=text[:200],
    )
