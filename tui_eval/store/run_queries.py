"""Questions about runs as a whole: lists, one by id, what failed, figures, size. Functions on an open connection."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from tui_eval.domain import Outcome
from tui_eval.errors import UsageError
from tui_eval.store.liveness import state_now
from tui_eval.store.records import Counters, RunRecord, RunState
from tui_eval.store.rows import COUNTERS, RUN_COLUMNS, command_arguments, known, run_record

LAST = "last"
_LIVE = tuple(state.value for state in RunState if state.live)


@dataclass(slots=True)
class RunOverview:
    """A run in a list: its record (plan left out), the counters of its requests summed, its effective state."""

    run: RunRecord
    counters: Counters
    state: RunState


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs; see :meth:`tui_eval.store.reader.History.runs`."""

    name: str | None = None
    tag: str | None = None
    state: RunState | None = None
    since: float | None = None
    until: float | None = None


@dataclass(slots=True)  # not frozen: a run can have very many, and those take twice as long to make
class FailureRow:
    """Tasks of one request that ended alike, word for word; ``task`` and ``case_id`` are of the first of them."""

    request: int
    outcome: Outcome
    error_kind: str
    message: str
    count: int
    task: int
    case_id: str


@dataclass(slots=True)  # not frozen: see FailureRow
class TaskValue:
    """The figures of one task. ``latency`` in seconds; None where there is none."""

    request: int
    case_id: str
    repeat: int
    outcome: Outcome
    reused: bool
    latency: float | None
    score: float | None
    attempts: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class GivenCommand:
    """A command and what became of it; ``taken_at`` is None while the runner has not answered."""

    id: int
    kind: str
    arguments: dict[str, Any]
    given_by: str
    given_at: float
    taken_at: float | None
    answer: str


def overviews(
    connection: sqlite3.Connection, wanted: Wanted, limit: int, before: tuple[float, int] | None
) -> list[RunOverview]:
    """A page of runs, newest first; reads a row a run and the counters of the page, nothing else."""
    found: list[RunOverview] = []
    while len(found) < limit:
        missing = limit - len(found)
        rows = _page(connection, wanted, missing, before)
        for run in (run_record(row) for row in rows):
            before = (run.created_at, run.id)
            state = state_now(run)
            # What is stored of a run whose runner was killed is out of date: only its effective state counts.
            if wanted.state is None or state == wanted.state:
                found.append(RunOverview(run, Counters(), state))
        if len(rows) < missing:
            break
    _fill_counters(connection, found)
    return found


def _page(
    connection: sqlite3.Connection, wanted: Wanted, limit: int, before: tuple[float, int] | None
) -> list[tuple[Any, ...]]:
    conditions: list[str] = ["1"]
    values: list[Any] = []
    if before is not None:
        conditions.append("(created_at, id) < (?, ?)")
        values += before
    if wanted.name is not None:
        conditions.append("instr(lower(name), lower(?)) > 0")
        values.append(wanted.name)
    if wanted.tag is not None:
        conditions.append("EXISTS (SELECT 1 FROM json_each(tags) WHERE json_each.value = ?)")
        values.append(wanted.tag)
    if wanted.state is not None:
        stored = [wanted.state.value, *(_LIVE if wanted.state is RunState.INTERRUPTED else ())]
        conditions.append(f"state IN ({', '.join('?' * len(stored))})")
        values += stored
    if wanted.since is not None:
        conditions.append("created_at >= ?")
        values.append(wanted.since)
    if wanted.until is not None:
        conditions.append("created_at < ?")
        values.append(wanted.until)
    sql = f"SELECT {RUN_COLUMNS} FROM runs WHERE {' AND '.join(conditions)} ORDER BY created_at DESC, id DESC LIMIT ?"
    return connection.execute(sql, (*values, limit)).fetchall()


def _fill_counters(connection: sqlite3.Connection, found: list[RunOverview]) -> None:
    keys = [overview.run.id for overview in found]
    sums = ", ".join(f"sum({name})" for name in COUNTERS)
    sql = f"SELECT run, {sums} FROM requests WHERE run IN ({', '.join('?' * len(keys))}) GROUP BY run"
    counters = {row[0]: Counters(*row[1:]) for row in connection.execute(sql, keys)}
    for overview in found:
        overview.counters = counters.get(overview.run.id, overview.counters)


def find(connection: sqlite3.Connection, run_id: str) -> RunRecord:
    """A run by id, by a beginning of it that only one has, or ``last``. Raises UsageError."""
    if run_id == LAST:
        row = connection.execute("SELECT run_id FROM runs ORDER BY created_at DESC, id DESC LIMIT 1").fetchone()
        if row is None:
            raise UsageError("there is no run in the history yet")
        (run_id,) = row
    sql = f"SELECT plan, {RUN_COLUMNS} FROM runs WHERE run_id = ?"
    row = connection.execute(sql, (run_id,)).fetchone()
    if row is None:
        row = connection.execute(sql, (_by_beginning(connection, run_id),)).fetchone()
    return run_record(row[1:], row[0])


def _by_beginning(connection: sqlite3.Connection, beginning: str) -> str:
    rows = connection.execute(
        "SELECT run_id FROM runs WHERE substr(run_id, 1, length(:start)) = :start AND :start <> '' "
        "ORDER BY created_at DESC, id DESC",
        {"start": beginning},
    )
    found: list[str] = [run_id for (run_id,) in rows]
    if len(found) == 1:
        return found[0]
    if found:
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise UsageError(f"{beginning!r} is the beginning of several runs: {', '.join(found[:5])}{more}")
    from difflib import get_close_matches

    rows = connection.execute("SELECT run_id FROM runs ORDER BY created_at DESC, id DESC LIMIT 1000")
    near = get_close_matches(beginning, [run_id for (run_id,) in rows], n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "`tui-eval runs` lists those there are"
    raise UsageError(f"there is no run {beginning!r} in the history ({hint})")


def children(connection: sqlite3.Connection, run_id: str) -> list[RunRecord]:
    rows = connection.execute(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE parent_run_id = ? ORDER BY created_at, id", (run_id,)
    )
    return [run_record(row) for row in rows]


def commands(connection: sqlite3.Connection, run: int) -> list[GivenCommand]:
    rows = connection.execute(
        "SELECT id, kind, arguments, given_by, given_at, taken_at, answer FROM commands WHERE run = ? ORDER BY id",
        (run,),
    )
    return [
        GivenCommand(key, kind, command_arguments(arguments), given_by, given_at, taken_at, answer)
        for key, kind, arguments, given_by, given_at, taken_at, answer in rows
    ]


def failures(connection: sqlite3.Connection, run: int) -> list[FailureRow]:
    """Grouped by request, outcome, kind and exact message; most frequent first, then in the order of the plan."""
    rows = connection.execute(
        "SELECT tasks.request, outcome, error_kind, message, count(*), min(tasks.id), case_id "
        "FROM requests JOIN tasks ON tasks.request = requests.id "
        "WHERE requests.run = ? AND outcome IN ('failed', 'error', 'unscored') "
        "GROUP BY tasks.request, outcome, error_kind, message ORDER BY count(*) DESC, min(tasks.id)",
        (run,),
    )
    known = {outcome.value: outcome for outcome in Outcome}
    return [FailureRow(request, known[outcome], *rest) for request, outcome, *rest in rows]


TASK_VALUES = """
SELECT tasks.request, case_id, repeat, outcome, reused_from IS NOT NULL, latency, score, tasks.attempts,
    tasks.input_tokens, tasks.output_tokens, tasks.cost
FROM requests CROSS JOIN tasks ON tasks.request = requests.id WHERE requests.run = ?
ORDER BY tasks.request, tasks.position
"""
TIMINGS = """
WITH given (run, step, since) AS (VALUES (?, ?, ?))
SELECT request, position % step = 0,
    CASE WHEN outcome IN ('passed', 'failed', 'unscored') AND reused_from IS NULL THEN latency END, finished_at
FROM given CROSS JOIN tasks
WHERE request IN (SELECT id FROM requests WHERE requests.run = given.run) AND outcome <> 'queued'
    AND (position % step = 0 OR finished_at >= since)
"""
SCORE_VALUES = """
SELECT tasks.request, scores.evaluator, scores.value, scores.passed, scores.error <> ''
FROM requests CROSS JOIN tasks ON tasks.request = requests.id CROSS JOIN scores ON scores.task = tasks.id
WHERE requests.run = ?
"""


def task_value(row: tuple[Any, ...]) -> TaskValue:
    """A row of TASK_VALUES."""
    request, case_id, repeat, outcome, reused, *rest = row
    return TaskValue(request, case_id, repeat, known(Outcome, outcome), bool(reused), *rest)


def size(connection: sqlite3.Connection, run: int) -> int:
    """Bytes of the large columns of a run, and some 300 for each task and its rows."""
    (payloads,) = connection.execute(
        "SELECT coalesce(sum(length(data)), 0) FROM requests CROSS JOIN tasks ON tasks.request = requests.id "
        "CROSS JOIN attempts ON attempts.task = tasks.id CROSS JOIN payloads ON payloads.id = attempts.payload "
        "WHERE requests.run = ?",
        (run,),
    ).fetchone()
    tasks, cases = connection.execute(
        "SELECT count(*), coalesce(sum(length(data)), 0) FROM requests CROSS JOIN tasks ON tasks.request = requests.id "
        "CROSS JOIN cases ON cases.id = tasks.case_key WHERE requests.run = ? AND repeat = 0",
        (run,),
    ).fetchone()
    return int(payloads + cases + 300 * tasks)
