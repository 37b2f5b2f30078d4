"""Histories made for tests: written by the real writer, or in bulk by SQL where only the size matters."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tui_eval.domain import Outcome, Score
from tui_eval.runner import new_run_id
from tui_eval.store.opening import open_for_writing
from tui_eval.store.records import (
    Activity,
    AttemptPayload,
    AttemptRecord,
    FinishedTask,
    LogLine,
    NewTask,
    RequestRecord,
    RequestState,
    RunRecord,
    RunState,
)
from tui_eval.store.writer import HistoryWriter

OUTCOMES = (
    Outcome.PASSED,
    Outcome.PASSED,
    Outcome.PASSED,
    Outcome.FAILED,
    Outcome.ERROR,
    Outcome.UNSCORED,
    Outcome.CANCELLED,
)
MESSAGES = {
    Outcome.FAILED: "contains: the output has not the text 'Canberra'",
    Outcome.ERROR: "HTTP 502 from https://agent.example.com/invoke",
    Outcome.UNSCORED: "judge: the judge did not answer within 60 s",
    Outcome.CANCELLED: "cancelled by ada",
}
KINDS = {Outcome.ERROR: "http_status", Outcome.CANCELLED: "cancelled"}


def run_record(name: str = "support-bot", created_at: float | None = None, run_id: str = "") -> RunRecord:
    """A run that is being planned now; change its fields as the test needs."""
    made = time.time() if created_at is None else created_at
    plan = {"version": 1, "name": name, "task_concurrency": 8, "requests": []}
    return RunRecord(run_id or new_run_id(made), name, RunState.RUNNING, plan, "/tmp", "0.1.0", made, started_at=made)


def finished_task(
    task: int,
    request: int,
    outcome: Outcome,
    *,
    output: str = "Canberra",
    message: str | None = None,
    at: float = 0.0,
    seconds: float = 0.8,
) -> FinishedTask:
    """The end of a task with one attempt, its payload and a score that fit the outcome."""
    message = MESSAGES.get(outcome, "") if message is None else message
    kind = KINDS.get(outcome, "")
    answer = None if outcome in (Outcome.ERROR, Outcome.CANCELLED) else {"output": output, "raw": output}
    payload = AttemptPayload({"method": "POST", "url": "https://agent.example.com/invoke"}, answer)
    attempts = [AttemptRecord(1, at, seconds, kind, message if kind else "", 502 if kind else 200, payload=payload)]
    passed = {Outcome.PASSED: True, Outcome.FAILED: False}.get(outcome)
    value = None if passed is None else float(passed)
    error = message if outcome is Outcome.UNSCORED else ""
    scores = [] if answer is None else [Score("contains", value, passed, message, error)]
    return FinishedTask(
        task,
        request,
        outcome,
        at,
        at + seconds,
        attempts,
        scores,
        latency=seconds,
        error_kind=kind,
        message=message,
        output=output if answer else "",
        input_tokens=120,
        output_tokens=30,
        cost=0.0004,
    )


async def write_run(
    path: Path,
    run: RunRecord,
    *,
    requests: Sequence[str] = ("prod", "candidate"),
    outcomes: Sequence[Outcome] = OUTCOMES,
    texts: Sequence[str] = (),
    end: RunState | None = RunState.COMPLETED,
    running: int = 0,
) -> RunRecord:
    """A run with one task an outcome in each request; with ``end`` None it stays live (this process is its runner).

    ``texts`` are used, in turn, as case id, output and message. ``running`` tasks more are being worked on.
    """
    async with await HistoryWriter.open(path) as writer:
        await writer.create_run(run)
        records = [
            RequestRecord(
                run.id,
                place,
                name,
                RequestState.RUNNING,
                "http",
                dataset="data/capitals.jsonl",
                started_at=run.created_at,
            )
            for place, name in enumerate(requests)
        ]
        await writer.add_requests(records)
        for record in records:
            await writer.add_tasks(
                [
                    NewTask(record.id, place, _case_id(place, texts), {"question": "What is the capital?"})
                    for place in range(len(outcomes) + running)
                ]
            )
        with closing(sqlite3.connect(path)) as connection:
            keys = {
                (request, position): key
                for key, request, position in connection.execute(
                    "SELECT id, request, position FROM tasks WHERE run = ?", (run.id,)
                )
            }
        for record in records:
            for place, outcome in enumerate(outcomes):
                text = {"output": texts[place % len(texts)], "message": texts[place % len(texts)]} if texts else {}
                writer.finished(
                    finished_task(keys[record.id, place], record.id, outcome, at=run.created_at + place, **text)
                )
        now = time.time()
        writer.activity(
            run.id,
            [
                Activity(keys[record.id, len(outcomes) + extra], "streaming", now - extra, 1, detail="3 events")
                for record in records
                for extra in range(running)
            ],
        )
        for record in records:
            writer.in_flight(record.id, running, 0)
        writer.log(run.id, LogLine(run.created_at, "info", "the run began"))
        if end is not None:
            for record in records:
                await writer.set_request_state(record.id, RequestState.COMPLETED, finished_at=run.created_at + 90)
            await writer.set_run_state(run.id, end, finished_at=run.created_at + 90)
        writer.heartbeat(run.id)
        await writer.flush()
    return run


def finished_history(path: Path, names: Sequence[str] = ("support-bot",), **options: object) -> list[RunRecord]:
    """A history with one finished run a name, a minute apart, the last one the newest. For tests without a loop."""

    async def write() -> list[RunRecord]:
        now = time.time() - 60 * len(names)
        return [
            await write_run(path, run_record(name, now + 60 * place), **options)  # type: ignore[arg-type]
            for place, name in enumerate(names)
        ]

    return asyncio.run(write())


def _case_id(place: int, texts: Sequence[str]) -> str:
    return f"{texts[place % len(texts)]} {place}" if texts else f"capital-{place:03d}"


def many_runs(path: Path, count: int) -> None:
    """``count`` finished runs with one request each, a minute apart, by SQL."""
    with closing(open_for_writing(path)) as connection:
        connection.execute("BEGIN")
        now = time.time()
        for place in range(count):
            made = now - 60 * (count - place)
            connection.execute(
                "INSERT INTO runs (run_id, name, state, origin, folder, program, created_at, started_at, finished_at, "
                "tags, plan) VALUES (?, ?, 'completed', 'launch', '/tmp', '0.1.0', ?, ?, ?, ?, '{}')",
                (
                    f"20260101-000000-{place:06x}",
                    f"plan-{place % 7}",
                    made,
                    made,
                    made + 30,
                    json.dumps(["nightly"] if place % 2 else []),
                ),
            )
        connection.execute(
            "INSERT INTO requests (run, position, name, state, solution_type, total, passed, failed) "
            "SELECT id, 0, 'prod', 'completed', 'http', 10, 9, 1 FROM runs WHERE id NOT IN (SELECT run FROM requests)"
        )
        connection.execute("COMMIT")


async def many_tasks(path: Path, count: int, *, state: RunState = RunState.COMPLETED) -> RunRecord:
    """A run with ``count`` finished tasks in one request, by SQL: every tenth failed, every hundredth an error."""
    run = await write_run(path, run_record("large"), requests=("prod",), outcomes=(), end=state)
    with closing(open_for_writing(path)) as connection:
        connection.execute("BEGIN")
        (request,) = connection.execute("SELECT id FROM requests WHERE run = ?", (run.id,)).fetchone()
        connection.execute(
            "INSERT INTO cases (content_hash, case_id, codec, data) VALUES (zeroblob(16), 'case', 0, ?)",
            (b'{"question": "?"}',),
        )
        (case,) = connection.execute("SELECT id FROM cases WHERE content_hash = zeroblob(16)").fetchone()
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) "
            "INSERT INTO tasks (run, request, position, case_key, case_id, repeat, outcome, attempts, started_at, "
            "finished_at, latency, score, message, output) "
            "SELECT ?, ?, i, ?, printf('case-%06d', i), 0, "
            "CASE WHEN i % 100 = 0 THEN 'error' WHEN i % 10 = 0 THEN 'failed' ELSE 'passed' END, 1, 1.0, 2.0, "
            "(i % 977) / 100.0, 1.0, CASE WHEN i % 10 = 0 THEN 'not the expected text ' || i ELSE '' END, 'Canberra' "
            "FROM n",
            (count, run.id, request, case),
        )
        failed, errors = count // 10 - count // 100, count // 100
        connection.execute(
            "UPDATE requests SET total = ?, passed = ?, failed = ?, error_count = ? WHERE id = ?",
            (count, count - failed - errors, failed, errors, request),
        )
        connection.execute("COMMIT")
    return replace(run, state=state)
