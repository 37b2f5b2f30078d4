"""One batch of the writer: what gathers for about 100 ms, and the one transaction that stores it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_eval.domain import Outcome, Score
from tui_eval.errors import HistoryError
from tui_eval.store.bulk import execute_rows
from tui_eval.store.encoding import amount, clean, finite, integer, pack, price, shortened, to_json
from tui_eval.store.liveness import Runner
from tui_eval.store.migrations import transaction
from tui_eval.store.records import OUTPUT_LIMIT, Activity, AttemptRecord, Counters, FinishedTask, LogLine

Redact = Callable[[Any], Any]
"""Gives a JSON value or text back with the known secrets replaced."""

MESSAGE_LIMIT = 500  # characters
_ANSWERED = (Outcome.PASSED, Outcome.FAILED, Outcome.UNSCORED)
_OUTCOME_COUNTERS = {outcome: outcome.value for outcome in Outcome if outcome.final}


class NotOurs(HistoryError):
    """The run was deleted, or another runner took it over: nothing of it may be written any more."""


@dataclass(slots=True)
class Prepared:
    """A finished task as rows: everything but the ids that the transaction gives."""

    task: FinishedTask
    row: tuple[Any, ...]
    attempts: list[tuple[Any, ...]]
    payloads: list[tuple[int, bytes] | None]
    scores: list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Rest:
    """The tasks of a request that will not be called any more."""

    request: int
    message: str
    at: float


@dataclass(slots=True)
class Batch:
    """What waits to be written. ``activity`` None: unchanged. ``waiters`` are told when all of it is safe."""

    finished: list[FinishedTask] = field(default_factory=list)
    prepared: list[Prepared] = field(default_factory=list)
    log: list[LogLine] = field(default_factory=list)
    rests: list[Rest] = field(default_factory=list)
    activity: list[Activity] | None = None
    run_changes: dict[str, Any] = field(default_factory=dict)
    request_changes: dict[int, dict[str, Any]] = field(default_factory=dict)
    answers: list[tuple[float, str, int]] = field(default_factory=list)
    waiters: list[asyncio.Future[None]] = field(default_factory=list)

    def add(self, later: Batch) -> None:
        """Take in what came after this one."""
        self.finished += later.finished
        self.prepared += later.prepared
        self.log += later.log
        self.rests += later.rests
        self.activity = self.activity if later.activity is None else later.activity
        self.run_changes |= later.run_changes
        for request, changes in later.request_changes.items():
            self.request_changes.setdefault(request, {}).update(changes)
        self.answers += later.answers
        self.waiters += later.waiters

    def tell(self) -> None:
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)
        self.waiters.clear()


def prepare(tasks: Iterable[FinishedTask], redact: Redact | None) -> list[Prepared]:
    """The rows of finished tasks, secrets replaced, texts cut to the limits of their columns. Never fails for what a
    task holds: an answer that is no JSON value is stored as a note that says so."""
    return [_prepared(task, redact) for task in tasks]


def count(counters: Counters, task: FinishedTask, sign: int = 1) -> None:
    """Add a finished task to the counters of its request (``sign`` -1: take it out again)."""
    name = _OUTCOME_COUNTERS[task.outcome]
    setattr(counters, name, getattr(counters, name) + sign)
    called = sum(1 for attempt in task.attempts if not attempt.id)
    if not called:
        return
    counters.attempts += sign * called
    counters.input_tokens += sign * (amount(task.input_tokens) or 0)
    counters.output_tokens += sign * (amount(task.output_tokens) or 0)
    counters.cost += sign * (price(task.cost) or 0.0)
    latency = finite(task.latency)
    if latency is not None and task.outcome in _ANSWERED:
        counters.latency_total += sign * latency
        counters.latency_count += sign


def write(
    connection: sqlite3.Connection, path: Path, run: int, owner: Runner, batch: Batch
) -> tuple[int, list[FinishedTask]]:
    """Store a prepared batch in one transaction: how many tasks were new, and those that fit no task of the run.

    A batch that is written a second time (after a commit whose success was not known) changes nothing. Raises
    sqlite3.Error with nothing stored, and :class:`NotOurs`.
    """
    with transaction(connection):
        _still_ours(connection, path, run, owner)
        try:
            connection.execute("SAVEPOINT tasks")
            _insert(connection, batch.prepared)
            rejected: list[FinishedTask] = []
            stored = batch.prepared
        except sqlite3.OperationalError:
            raise
        except sqlite3.Error:
            connection.execute("ROLLBACK TO tasks")
            stored, rejected = _insert_singly(connection, batch.prepared)
        _write_counters(connection, stored)
        _write_rest(connection, run, batch)
    return len(stored), rejected


def _prepared(task: FinishedTask, redact: Redact | None) -> Prepared:
    new = [attempt for attempt in task.attempts if not attempt.id]
    values = [score.value for score in task.scores if score.value is not None]
    row = (
        task.outcome.value,
        task.attempts[-1].number if task.attempts else 0,
        finite(task.started_at),
        finite(task.finished_at),
        finite(task.latency),
        finite(sum(values) / len(values)) if values else None,
        clean(task.error_kind),
        _line(task.message, redact),
        shortened(_hidden(task.output, redact), OUTPUT_LIMIT),
        clean(_hidden(task.trace_id, redact)),
        amount(task.input_tokens),
        amount(task.output_tokens),
        price(task.cost),
        task.task,
    )
    attempts = [
        (
            attempt.number,
            finite(attempt.started_at) or 0.0,
            finite(attempt.seconds) or 0.0,
            clean(attempt.error_kind),
            clean(_hidden(attempt.message, redact)),
            integer(attempt.status_code),
            clean(_hidden(attempt.trace_id, redact)),
        )
        for attempt in new
    ]
    scores = [_score_row(position, score, redact) for position, score in enumerate(task.scores)]
    return Prepared(task, row, attempts, [_payload(attempt, redact) for attempt in new], scores)


def _payload(attempt: AttemptRecord, redact: Redact | None) -> tuple[int, bytes] | None:
    if attempt.payload is None:
        return None
    value: dict[str, Any] = {"request": attempt.payload.request, "answer": attempt.payload.answer}
    try:
        return pack(redact(value) if redact else value)
    except (TypeError, ValueError, RecursionError) as error:
        note = f"what was sent and received could not be stored: {type(error).__name__}: {error}"
        return pack({"request": {}, "answer": {"notes": [shortened(note, MESSAGE_LIMIT)]}})


def _score_row(position: int, score: Score, redact: Redact | None) -> tuple[Any, ...]:
    try:
        detail = to_json(redact(score.detail) if redact else score.detail) if score.detail else "{}"
    except (TypeError, ValueError, RecursionError) as error:
        detail = to_json({"not_stored": f"{type(error).__name__}: {error}"[:MESSAGE_LIMIT]})
    return (
        position,
        clean(score.evaluator),
        score.value,
        score.passed,
        clean(_hidden(score.reason, redact)),
        clean(_hidden(score.error, redact)),
        detail,
    )


def _hidden(text: str, redact: Redact | None) -> str:
    return str(redact(text)) if redact and text else text


def _line(text: str, redact: Redact | None) -> str:
    return shortened(" ".join(_hidden(text, redact).split()), MESSAGE_LIMIT) if text else ""


def _still_ours(connection: sqlite3.Connection, path: Path, run: int, owner: Runner) -> None:
    row = connection.execute("SELECT run_id, host, pid, pid_started FROM runs WHERE id = ?", (run,)).fetchone()
    if row is None:
        raise NotOurs(f"{path}: the run is no longer in the history (deleted?); its further results are kept aside")
    run_id, *there = row
    if there != [owner.host, owner.pid, owner.pid_started]:
        raise NotOurs(f"{path}: run {run_id} was taken over by process {there[1]} on {there[0]}; this one gives up")


# A task that is scored again keeps the figures of the call that gave the answer, a resumed one its earlier attempts.
_FINISH = """
UPDATE tasks SET outcome = column1, attempts = max(attempts, column2), started_at = column3, finished_at = column4,
    latency = coalesce(column5, latency), score = column6, error_kind = column7, message = column8,
    output = coalesce(nullif(column9, ''), iif(work = 'score', output, '')),
    trace_id = coalesce(nullif(column10, ''), iif(work = 'score', trace_id, '')),
    input_tokens = coalesce(column11, input_tokens), output_tokens = coalesce(column12, output_tokens),
    cost = coalesce(column13, cost)
FROM (VALUES ?) WHERE tasks.id = column14 AND outcome = 'queued'
"""
_INSERT_ATTEMPTS = (
    "INSERT INTO attempts (task, number, started_at, seconds, error_kind, message, status_code, trace_id, payload) "
    "VALUES ?"
)
_INSERT_LOG = "INSERT INTO log (run, at, level, request, message) VALUES ?"


def _insert(connection: sqlite3.Connection, tasks: Sequence[Prepared]) -> None:
    """Store tasks that nothing was stored of yet. Raises sqlite3.IntegrityError when one is not queued."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM payloads").fetchone()
    payloads: list[tuple[int, int, bytes]] = []
    attempts: list[tuple[Any, ...]] = []
    scores: list[tuple[Any, ...]] = []
    for prepared in tasks:
        key = prepared.task.task
        for attempt, payload in zip(prepared.attempts, prepared.payloads, strict=True):
            if payload is not None:
                last += 1
                payloads.append((last, *payload))
            attempts.append((key, *attempt, last if payload is not None else None))
        scores += [(key, *score) for score in prepared.scores]
    changed = execute_rows(connection, _FINISH, [prepared.row for prepared in tasks])
    if changed != len(tasks):
        raise sqlite3.IntegrityError(f"{len(tasks) - changed} finished tasks are not queued")
    execute_rows(connection, "INSERT INTO payloads VALUES ?", payloads)
    execute_rows(connection, _INSERT_ATTEMPTS, attempts)
    execute_rows(connection, "INSERT INTO scores VALUES ?", scores)


def _insert_singly(
    connection: sqlite3.Connection, tasks: Sequence[Prepared]
) -> tuple[list[Prepared], list[FinishedTask]]:
    """The slow way, one by one: what is stored already is passed over, leftovers are replaced."""
    stored, rejected = [], []
    for prepared in tasks:
        key = prepared.task.task
        row = connection.execute("SELECT outcome FROM tasks WHERE id = ?", (key,)).fetchone()
        if row is None:
            rejected.append(prepared.task)
        elif row[0] == Outcome.QUEUED:
            connection.execute("SAVEPOINT task")
            try:
                _make_room(connection, prepared)
                _insert(connection, [prepared])
                stored.append(prepared)
            except sqlite3.OperationalError:
                raise
            except sqlite3.Error:
                connection.execute("ROLLBACK TO task")
                rejected.append(prepared.task)
            connection.execute("RELEASE task")
    return stored, rejected


def _make_room(connection: sqlite3.Connection, prepared: Prepared) -> None:
    """Delete what stands where the rows of a task will go; its other attempts stay."""
    key = prepared.task.task
    for attempt in prepared.attempts:
        connection.execute("DELETE FROM attempts WHERE task = ? AND number = ?", (key, attempt[0]))
    connection.execute("DELETE FROM scores WHERE task = ?", (key,))


def forget(connection: sqlite3.Connection, tasks: Sequence[int]) -> None:
    """Delete attempts and scores of tasks, and what was sent and received where no other run shares it."""
    for task in tasks:
        payloads = connection.execute("DELETE FROM attempts WHERE task = ? RETURNING payload", (task,)).fetchall()
        connection.executemany(
            "DELETE FROM payloads WHERE id = ? AND NOT EXISTS (SELECT 1 FROM attempts WHERE payload = payloads.id)",
            [row for row in payloads if row[0] is not None],
        )
        connection.execute("DELETE FROM scores WHERE task = ?", (task,))


def _write_counters(connection: sqlite3.Connection, stored: Iterable[Prepared]) -> None:
    """Add what was stored to the counters, in the same transaction: they agree with the rows in every state."""
    changes: dict[int, Counters] = {}
    for prepared in stored:
        count(changes.setdefault(prepared.task.request, Counters()), prepared.task)
    connection.executemany(
        "UPDATE requests SET passed = passed + ?, failed = failed + ?, error_count = error_count + ?, "
        "unscored = unscored + ?, cancelled = cancelled + ?, attempts = attempts + ?, "
        "input_tokens = input_tokens + ?, output_tokens = output_tokens + ?, cost = cost + ?, "
        "latency_total = latency_total + ?, latency_count = latency_count + ? WHERE id = ?",
        [
            (
                change.passed,
                change.failed,
                change.error,
                change.unscored,
                change.cancelled,
                change.attempts,
                change.input_tokens,
                change.output_tokens,
                change.cost,
                change.latency_total,
                change.latency_count,
                request,
            )
            for request, change in changes.items()
        ],
    )


def _write_rest(connection: sqlite3.Connection, run: int, batch: Batch) -> None:
    for rest in batch.rests:
        _cancel(connection, rest)
    if batch.activity is not None:
        _write_activity(connection, run, batch.activity)
    execute_rows(
        connection,
        _INSERT_LOG,
        [(run, finite(line.at) or 0.0, line.level, clean(line.request), clean(line.message)) for line in batch.log],
    )
    connection.executemany("UPDATE commands SET taken_at = ?, answer = ? WHERE id = ?", batch.answers)
    _update(connection, "runs", run, batch.run_changes)
    for request, changes in batch.request_changes.items():
        _update(connection, "requests", request, changes)


def _cancel(connection: sqlite3.Connection, rest: Rest) -> None:
    cancelled = connection.execute(
        "UPDATE tasks SET outcome = 'cancelled', finished_at = ?, message = ? WHERE request = ? AND outcome = 'queued'",
        (rest.at, shortened(rest.message, MESSAGE_LIMIT), rest.request),
    ).rowcount
    connection.execute("UPDATE requests SET cancelled = cancelled + ? WHERE id = ?", (cancelled, rest.request))


def _write_activity(connection: sqlite3.Connection, run: int, activity: Sequence[Activity]) -> None:
    connection.execute("DELETE FROM activity WHERE run = ?", (run,))
    execute_rows(
        connection,
        "INSERT OR REPLACE INTO activity (task, run, phase, since, until, attempt, detail) SELECT * FROM (VALUES ?) "
        "WHERE EXISTS (SELECT 1 FROM tasks WHERE id = column1 AND outcome = 'queued')",
        [
            (one.task, run, one.phase, finite(one.since) or 0.0, finite(one.until), one.attempt, clean(one.detail))
            for one in activity
        ],
    )


def _update(connection: sqlite3.Connection, table: str, key: int, changes: dict[str, Any]) -> None:
    if changes:
        names = ", ".join(f"{name} = ?" for name in changes)
        connection.execute(f"UPDATE {table} SET {names} WHERE id = ?", (*changes.values(), key))
