"""Pages of tasks by keyset: the cost of a page does not depend on how far down the list it is."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from tui_eval.domain import Outcome
from tui_eval.errors import UsageError
from tui_eval.store.records import TaskRecord
from tui_eval.store.rows import TASK_COLUMNS, task_record

Keyset: TypeAlias = tuple[Any, ...]
"""Where a page ends: the sort value of its last task and what tells equal ones apart. See :func:`keyset`."""

SORTS = ("position", "case_id", "outcome", "latency", "score", "attempts", "started_at", "finished_at", "error_kind")
_RUNNING = "EXISTS (SELECT 1 FROM activity WHERE activity.task = tasks.id)"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which tasks, and in which order; see :meth:`tui_eval.store.reader.History.tasks`."""

    run: int
    request: int | None
    outcomes: frozenset[Outcome] | None
    text: str | None
    sort: str = "position"
    descending: bool = False


def keyset(task: TaskRecord, sort: str) -> Keyset:
    """The place of a task in a list that is sorted by ``sort``; what ``after`` takes."""
    if sort == "position":
        return (task.request, task.position)
    value = getattr(task, sort)
    return (value.value if isinstance(value, Outcome) else value, task.id)


def page(connection: sqlite3.Connection, wanted: Wanted, limit: int, after: Keyset | None) -> list[TaskRecord]:
    """At most ``limit`` tasks after ``after``. Raises UsageError for an unknown ``sort``."""
    if wanted.sort not in SORTS:
        raise UsageError(f"tasks cannot be sorted by {wanted.sort!r}, only by: {', '.join(SORTS)}")
    if wanted.sort != "position":
        return _sorted_page(connection, wanted, limit, after)
    requests = _requests(connection, wanted)
    found: list[TaskRecord] = []
    for request in requests:
        if after is not None and _is_past(request, after[0], wanted.descending):
            continue
        position = after[1] if after is not None and after[0] == request else None
        found += _request_page(connection, wanted, request, position, limit - len(found))
        if len(found) >= limit:
            break
    return found


def keys(connection: sqlite3.Connection, wanted: Wanted) -> array[int]:
    """The keys of all such tasks in the order wanted: 8 bytes each, some 50 ms for 100,000. Raises UsageError."""
    found = array("q")
    for sql, values in statements(connection, wanted, "tasks.id"):
        found.extend(key for (key,) in connection.execute(sql, values))
    return found


def statements(connection: sqlite3.Connection, wanted: Wanted, columns: str) -> Iterator[tuple[str, list[Any]]]:
    """The statements that give ``columns`` of all such tasks, one after the other in the order wanted.

    Raises UsageError for an unknown ``sort``.
    """
    if wanted.sort not in SORTS:
        raise UsageError(f"tasks cannot be sorted by {wanted.sort!r}, only by: {', '.join(SORTS)}")
    direction = "DESC" if wanted.descending else "ASC"
    conditions, values = _conditions(wanted)
    if wanted.sort == "position":
        where = " AND ".join([*conditions, "tasks.request = ?"])
        for request in _requests(connection, wanted):
            sql = f"SELECT {columns} FROM tasks WHERE {where} ORDER BY tasks.position {direction}"
            yield sql, [*values, request]
        return
    conditions.append("tasks.request IN (SELECT id FROM requests WHERE run = ? AND ifnull(? = id, 1))")
    values += [wanted.run, wanted.request]
    column = _sort_column(wanted)
    order = f"{column} IS NULL, {column} {direction}, tasks.id {direction}"
    yield f"SELECT {columns} FROM tasks WHERE {' AND '.join(conditions)} ORDER BY {order}", values


def _sort_column(wanted: Wanted) -> str:
    if wanted.sort == "outcome":
        return f"(CASE WHEN tasks.outcome = 'queued' AND {_RUNNING} THEN 'running' ELSE tasks.outcome END)"
    return f"tasks.{wanted.sort}"


def _is_past(request: int, last: int, descending: bool) -> bool:
    return request > last if descending else request < last


def _requests(connection: sqlite3.Connection, wanted: Wanted) -> list[int]:
    # Keys are given in the order of the plan, so the place of a request in a list is its key.
    order = "DESC" if wanted.descending else "ASC"
    rows = connection.execute(f"SELECT id FROM requests WHERE run = ? ORDER BY id {order}", (wanted.run,))
    return [key for (key,) in rows if wanted.request in (None, key)]


def _request_page(
    connection: sqlite3.Connection, wanted: Wanted, request: int, position: int | None, limit: int
) -> list[TaskRecord]:
    """A page of one request by position, straight from an index."""
    conditions, values = _conditions(wanted)
    conditions.append("tasks.request = ?")
    values.append(request)
    if position is not None:
        conditions.append(f"tasks.position {'<' if wanted.descending else '>'} ?")
        values.append(position)
    order = "DESC" if wanted.descending else "ASC"
    sql = f"SELECT {TASK_COLUMNS} FROM tasks WHERE {' AND '.join(conditions)} ORDER BY tasks.position {order} LIMIT ?"
    return [task_record(row) for row in connection.execute(sql, (*values, limit))]


def _sorted_page(connection: sqlite3.Connection, wanted: Wanted, limit: int, after: Keyset | None) -> list[TaskRecord]:
    column = _sort_column(wanted)
    direction, beyond = ("DESC", "<") if wanted.descending else ("ASC", ">")
    conditions, values = _conditions(wanted)
    conditions.append("tasks.request IN (SELECT id FROM requests WHERE run = ? AND ifnull(? = id, 1))")
    values += [wanted.run, wanted.request]
    if after is not None and after[0] is None:
        conditions.append(f"({column} IS NULL AND tasks.id {beyond} ?)")
        values.append(after[1])
    elif after is not None:
        conditions.append(f"({column} {beyond} ? OR ({column} = ? AND tasks.id {beyond} ?) OR {column} IS NULL)")
        values += [after[0], after[0], after[1]]
    sql = (
        f"SELECT {TASK_COLUMNS} FROM tasks WHERE {' AND '.join(conditions)} "
        f"ORDER BY {column} IS NULL, {column} {direction}, tasks.id {direction} LIMIT ?"
    )
    return [task_record(row) for row in connection.execute(sql, (*values, limit))]


def _conditions(wanted: Wanted) -> tuple[list[str], list[Any]]:
    """What the tasks of a request must fulfil; that the request is one of the run is for the callers."""
    conditions: list[str] = []
    values: list[Any] = []
    if wanted.outcomes is not None:
        condition, stored = _outcome_condition(wanted.outcomes)
        conditions.append(condition)
        values += stored
    if wanted.text:
        pattern = "%" + wanted.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        columns = ("case_id", "message", "output", "trace_id", "error_kind")
        conditions.append("(" + " OR ".join(f"tasks.{name} LIKE ? ESCAPE '\\'" for name in columns) + ")")
        values += [pattern] * len(columns)
    return conditions, values


def _outcome_condition(outcomes: frozenset[Outcome]) -> tuple[str, list[str]]:
    """Running is not stored in a task: it is a queued one that has a row in activity."""
    stored = sorted(outcome.value for outcome in outcomes if outcome.final)
    queued, running = Outcome.QUEUED in outcomes, Outcome.RUNNING in outcomes
    if queued and running:
        stored.append(Outcome.QUEUED.value)
    condition = f"tasks.outcome IN ({', '.join('?' * len(stored))})" if stored else "0"
    if queued != running:
        one = f"(tasks.outcome = 'queued' AND {_RUNNING if running else 'NOT ' + _RUNNING})"
        condition = f"({condition} OR {one})" if stored else one
    return condition, stored
