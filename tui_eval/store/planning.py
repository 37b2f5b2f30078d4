"""What the writer stores before the first call: the run, its requests, its tasks, and what it takes over."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.errors import HistoryError, UsageError
from tui_eval.store.bulk import execute_rows
from tui_eval.store.encoding import clean, content_hash, integer, pack, to_json
from tui_eval.store.migrations import transaction
from tui_eval.store.records import NewTask, RequestRecord, RunRecord


@dataclass(slots=True)
class TakeOver:
    """A task of an earlier run that a new one takes over; ``old_task`` is its key.

    ``keep_outcome`` keeps outcome, attempts and scores. Otherwise ``work`` is ``score``: only the attempt that gave
    the answer is kept, and the task waits to be judged again. ``case_input``, ``line`` and the fingerprints are given where they
    changed since; None keeps the old ones. ``reused_from`` is the run whose calls these were (None: the old task's
    own run, or the one that it was taken over from itself).
    """

    old_task: int
    position: int
    work: str = "call"
    keep_outcome: bool = True
    case_input: dict[str, JsonValue] | None = None
    line: int | None = None
    fingerprint: str | None = None
    evaluation_fingerprint: str | None = None
    reused_from: str | None = None


def insert_run(connection: sqlite3.Connection, run: RunRecord) -> int:
    """Store the run; its key. Raises UsageError when the run id is taken."""
    fields: dict[str, Any] = {
        "run_id": run.run_id,
        "name": clean(run.name),
        "state": run.state.value,
        "origin": run.origin,
        "origin_detail": to_json(run.origin_detail),
        "parent_run_id": run.parent_run_id,
        "plan_path": clean(run.plan_path),
        "folder": clean(run.folder),
        "program": run.program,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "error": clean(run.error),
        "warnings": to_json(run.warnings),
        "tags": to_json(run.tags),
        "note": clean(run.note),
        "host": clean(run.host),
        "pid": run.pid,
        "pid_started": run.pid_started,
        "heartbeat_at": run.heartbeat_at,
        "task_concurrency": run.task_concurrency,
        "pinned": run.pinned,
        "plan": to_json(run.plan),
    }
    names, marks = ", ".join(fields), ", ".join("?" * len(fields))
    with transaction(connection):
        if connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (run.run_id,)).fetchone():
            raise UsageError(f"there is a run {run.run_id} in the history already: choose another run id")
        cursor = connection.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", tuple(fields.values()))
        return int(cursor.lastrowid or 0)


def insert_requests(connection: sqlite3.Connection, requests: Sequence[RequestRecord]) -> list[int]:
    """Store the requests of a run, counters at zero; their keys in the same order."""
    keys = []
    with transaction(connection):
        for request in requests:
            cursor = connection.execute(
                "INSERT INTO requests (run, position, name, state, error, solution_type, dataset, dataset_hash, "
                "started_at, finished_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    request.run,
                    request.position,
                    clean(request.name),
                    request.state.value,
                    clean(request.error),
                    request.solution_type,
                    clean(request.dataset),
                    request.dataset_hash,
                    request.started_at,
                    request.finished_at,
                ),
            )
            keys.append(int(cursor.lastrowid or 0))
    return keys


def insert_tasks(connection: sqlite3.Connection, tasks: Sequence[NewTask]) -> None:
    """Store queued tasks, of the run that their request belongs to, each case once, whoever uses it. Raises HistoryError for a case and repeat given twice."""
    cases: dict[bytes, tuple[bytes, str, int, bytes]] = {}
    rows = []
    hashes: dict[int, bytes] = {}  # by identity: the repeats of a case share its columns
    for task in tasks:
        key = hashes.get(id(task.case_input))
        if key is None or cases[key][1] != clean(task.case_id):
            key = hashes[id(task.case_input)] = _intern(cases, task.case_id, task.case_input)
        rows.append(
            (
                task.request,
                task.position,
                key,
                clean(task.case_id),
                task.repeat,
                integer(task.line),
                task.work,
                task.fingerprint,
                task.evaluation_fingerprint,
            )
        )
    with transaction(connection):
        _insert_cases(connection, cases)
        try:
            execute_rows(connection, _INSERT_TASKS, rows)
        except sqlite3.IntegrityError as error:
            raise HistoryError(f"a case is given twice in one request, or the request is gone: {error}") from error
        _count_planned(connection, tasks)


_INSERT_TASKS = """
INSERT INTO tasks (run, request, position, case_key, case_id, repeat, line, work, fingerprint, evaluation_fingerprint)
SELECT (SELECT run FROM requests WHERE id = column1), column1, column2,
    (SELECT id FROM cases WHERE content_hash = column3), column4, column5, column6, column7, column8, column9
FROM (VALUES ?)
"""


def take_over(connection: sqlite3.Connection, run: int, request: int, items: Sequence[TakeOver]) -> None:
    """Copy tasks of earlier runs into this one with their attempts and scores, so that the old run may be deleted.

    What was sent and received is not copied: both runs point to the same rows (deleting one leaves the other's).
    Raises HistoryError when an old task is gone, or has no answer to judge.
    """
    cases: dict[bytes, tuple[bytes, str, int, bytes]] = {}
    with transaction(connection):
        connection.execute(
            "CREATE TEMP TABLE IF NOT EXISTS taking (new INTEGER PRIMARY KEY, old INTEGER, position INTEGER, "
            "score INTEGER, content_hash BLOB, line INTEGER, fingerprint TEXT, evaluation_fingerprint TEXT, "
            "reused_from TEXT)"
        )
        connection.execute("DELETE FROM taking")
        (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM tasks").fetchone()
        rows = []
        for new, item in enumerate(items, last + 1):
            key = None
            if item.case_input is not None:
                found = connection.execute("SELECT case_id FROM tasks WHERE id = ?", (item.old_task,)).fetchone()
                key = _intern(cases, found[0], item.case_input) if found else None
            rows.append(
                (
                    new,
                    item.old_task,
                    item.position,
                    not item.keep_outcome,
                    key,
                    integer(item.line),
                    item.fingerprint,
                    item.evaluation_fingerprint,
                    item.reused_from,
                )
            )
        _insert_cases(connection, cases)
        connection.executemany("INSERT INTO taking VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        _copy_taken(connection, run, request, len(items))


def _copy_taken(connection: sqlite3.Connection, run: int, request: int, expected: int) -> None:
    copied = connection.execute(_TAKE_TASKS, (run, request)).rowcount
    if copied != expected:
        raise HistoryError(f"{expected - copied} of the tasks to take over are no longer in the history")
    connection.execute(_TAKE_ATTEMPTS)
    without = connection.execute(
        "SELECT tasks.case_id FROM taking JOIN tasks ON tasks.id = taking.new WHERE taking.score "
        "AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.task = taking.new)"
    ).fetchone()
    if without is not None:
        raise HistoryError(f"case {without[0]!r} has no stored answer that could be judged again")
    connection.execute(_TAKE_SCORES)
    connection.execute(_COUNT_TAKEN, {"request": request})


_ANSWERED = (
    "(SELECT last.id FROM attempts AS last WHERE last.task = taking.old AND last.error_kind = '' "
    "AND last.payload IS NOT NULL ORDER BY last.number DESC LIMIT 1)"
)
_TAKE_TASKS = """
INSERT INTO tasks (id, run, request, position, case_key, case_id, repeat, line, work, outcome, fingerprint,
    evaluation_fingerprint, reused_from, attempts, started_at, finished_at, latency, score, error_kind, message, output,
    trace_id, input_tokens, output_tokens, cost)
SELECT taking.new, ?, ?, taking.position,
    coalesce((SELECT id FROM cases WHERE cases.content_hash = taking.content_hash), old.case_key),
    old.case_id, old.repeat, coalesce(taking.line, old.line), iif(taking.score, 'score', old.work),
    iif(taking.score, 'queued', old.outcome), coalesce(taking.fingerprint, old.fingerprint),
    coalesce(taking.evaluation_fingerprint, old.evaluation_fingerprint),
    iif(taking.score OR old.outcome = 'queued', NULL, coalesce(taking.reused_from, old.reused_from, runs.run_id)),
    iif(taking.score, 1, old.attempts),
    iif(taking.score, NULL, old.started_at), iif(taking.score, NULL, old.finished_at), old.latency,
    iif(taking.score, NULL, old.score), iif(taking.score, '', old.error_kind), iif(taking.score, '', old.message),
    old.output, old.trace_id, old.input_tokens, old.output_tokens, old.cost
FROM taking JOIN tasks AS old ON old.id = taking.old JOIN runs ON runs.id = old.run
"""
_TAKE_ATTEMPTS = f"""
INSERT INTO attempts (task, number, started_at, seconds, error_kind, message, status_code, trace_id, payload)
SELECT taking.new, iif(taking.score, 1, number), started_at, seconds, error_kind, message, status_code, trace_id, payload
FROM taking JOIN attempts ON attempts.task = taking.old
WHERE NOT taking.score OR attempts.id = {_ANSWERED}
ORDER BY taking.new, number
"""
_TAKE_SCORES = """
INSERT INTO scores (task, position, evaluator, value, passed, reason, error, detail)
SELECT taking.new, scores.position, evaluator, value, passed, reason, error, detail
FROM taking JOIN scores ON scores.task = taking.old WHERE NOT taking.score ORDER BY taking.new, scores.position
"""
_COUNT_TAKEN = """
UPDATE requests SET (total, passed, failed, error_count, unscored, cancelled, reused) = (
    SELECT requests.total + count(*), requests.passed + sum(outcome = 'passed'),
        requests.failed + sum(outcome = 'failed'), requests.error_count + sum(outcome = 'error'),
        requests.unscored + sum(outcome = 'unscored'), requests.cancelled + sum(outcome = 'cancelled'),
        requests.reused + sum(outcome <> 'queued')
    FROM taking JOIN tasks ON tasks.id = taking.new)
WHERE id = :request AND EXISTS (SELECT 1 FROM taking)
"""

RECOUNT = """
UPDATE requests SET running = 0, waiting = 0, (total, passed, failed, error_count, unscored, cancelled, reused,
        attempts, input_tokens, output_tokens, cost, latency_total, latency_count) = (
    SELECT count(*), coalesce(sum(outcome = 'passed'), 0), coalesce(sum(outcome = 'failed'), 0),
        coalesce(sum(outcome = 'error'), 0), coalesce(sum(outcome = 'unscored'), 0),
        coalesce(sum(outcome = 'cancelled'), 0), coalesce(sum(outcome <> 'queued' AND reused_from IS NOT NULL), 0),
        coalesce(sum(attempts) FILTER (WHERE called), 0), coalesce(sum(input_tokens) FILTER (WHERE called), 0),
        coalesce(sum(output_tokens) FILTER (WHERE called), 0), coalesce(sum(cost) FILTER (WHERE called), 0.0),
        coalesce(sum(latency) FILTER (WHERE called AND answered), 0.0),
        count(latency) FILTER (WHERE called AND answered)
    FROM (SELECT *, work = 'call' AND reused_from IS NULL AS called,
                 outcome IN ('passed', 'failed', 'unscored') AS answered FROM tasks WHERE request = requests.id))
WHERE run = ?
"""
"""All counters of a run from its tasks. Attempts, tokens, cost and latency are of the calls that this run made."""


def _intern(cases: dict[bytes, tuple[bytes, str, int, bytes]], case_id: str, columns: dict[str, JsonValue]) -> bytes:
    key = content_hash(case_id, columns)
    if key not in cases:
        cases[key] = (key, clean(case_id), *pack(columns))
    return key


def _insert_cases(connection: sqlite3.Connection, cases: dict[bytes, tuple[bytes, str, int, bytes]]) -> None:
    sql = "INSERT INTO cases (content_hash, case_id, codec, data) VALUES ? ON CONFLICT (content_hash) DO NOTHING"
    execute_rows(connection, sql, cases.values())


def _count_planned(connection: sqlite3.Connection, tasks: Sequence[NewTask]) -> None:
    planned: dict[int, int] = {}
    for task in tasks:
        planned[task.request] = planned.get(task.request, 0) + 1
    connection.executemany(
        "UPDATE requests SET total = total + ? WHERE id = ?", [(count, request) for request, count in planned.items()]
    )
