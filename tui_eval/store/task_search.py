"""Looking for tasks by all of their text: case, message, the whole output. A scan, in pages, that can be given up."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tui_eval.domain import as_text
from tui_eval.store import task_pages
from tui_eval.store.encoding import unpack
from tui_eval.store.records import OUTPUT_LIMIT
from tui_eval.text_query import TextQuery

_PAGE = 200
COLUMNS = ("case_id", "message", "output", "trace_id", "error_kind")
"""What of a task is looked through; of ``output`` the whole of it."""

_COLUMNS = f"tasks.id, {', '.join(f'tasks.{name}' for name in COLUMNS)}"
_OUTPUT, _MESSAGE, _KIND = 1 + COLUMNS.index("output"), 1 + COLUMNS.index("message"), 1 + COLUMNS.index("error_kind")


@dataclass(frozen=True, slots=True)
class Sought:
    """What tasks must be like: their text, and for a group of failures their kind of error and one of its messages.

    ``looked_at`` is told how many tasks were looked at so far; while ``given_up`` is True nothing more is looked at.
    """

    query: TextQuery = field(default_factory=TextQuery)
    error_kind: str | None = None
    messages: Collection[str] | None = None
    looked_at: Callable[[int], None] = lambda count: None
    given_up: Callable[[], bool] = lambda: False


def keys(connection: sqlite3.Connection, wanted: task_pages.Wanted, sought: Sought) -> array[int]:
    """The keys of the tasks that are ``wanted`` and like what is ``sought``, in order. When it was given up, those that
    were found until then. Raises UsageError for an unknown sort."""
    found = array("q")
    looked_at = 0
    for rows in _pages(connection, wanted):
        if sought.given_up():
            break
        found.extend(_matching(connection, rows, sought))
        looked_at += len(rows)
        sought.looked_at(looked_at)
    return found


def texts(connection: sqlite3.Connection, run: int) -> Iterator[tuple[int, str]]:
    """``(key, all of its text)`` of every task of a run."""
    for rows in _pages(connection, task_pages.Wanted(run, None, None, None)):
        yield from _texts(connection, rows)


def texts_of(connection: sqlite3.Connection, tasks: Sequence[int]) -> Iterator[tuple[int, str]]:
    """``(key, all of its text)`` of some tasks; one that is gone is left out."""
    for start in range(0, len(tasks), _PAGE):
        part = tasks[start : start + _PAGE]
        sql = f"SELECT {_COLUMNS} FROM tasks WHERE id IN ({', '.join('?' * len(part))})"
        yield from _texts(connection, connection.execute(sql, part).fetchall())


def _texts(connection: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> Iterator[tuple[int, str]]:
    full = dict(full_texts(connection, [row[0] for row in rows if is_cut(row[_OUTPUT])]))
    for row in rows:
        yield row[0], f"{shown_text(row)}\n{full[row[0]]}" if row[0] in full else shown_text(row)


def full_texts(connection: sqlite3.Connection, tasks: Iterable[int]) -> Iterator[tuple[int, str]]:
    """``(task, text form of its whole output)``, for tasks that have one kept."""
    chosen = list(tasks)
    sql = (
        "SELECT task, codec, data FROM attempts JOIN payloads ON payloads.id = attempts.payload "
        f"WHERE task IN ({', '.join('?' * len(chosen))}) ORDER BY task, error_kind = '', number"
    )
    texts: dict[int, str] = {}
    for task, codec, data in connection.execute(sql, chosen):
        answer = unpack(codec, data)["answer"]
        if isinstance(answer, dict) and answer.get("output") is not None:
            texts[task] = as_text(answer["output"])  # the last one that answered comes last
    yield from texts.items()


def shown_text(row: Sequence[Any]) -> str:
    """The text of ``tasks.id`` and COLUMNS as far as it stands in the row."""
    return "\n".join(text for text in row[1:] if text)


def is_cut(output: str) -> bool:
    """Whether the output of a task's row is only the beginning of it."""
    return len(output) >= OUTPUT_LIMIT


def _matching(connection: sqlite3.Connection, rows: list[tuple[Any, ...]], sought: Sought) -> list[int]:
    decided: dict[int, bool | None] = {row[0]: _decided(row, sought) for row in rows}
    open_rows = {row[0]: row for row in rows if decided[row[0]] is None}
    if open_rows:
        for task, text in full_texts(connection, open_rows):
            decided[task] = sought.query.matches(f"{shown_text(open_rows[task])}\n{text}")
    return [row[0] for row in rows if decided[row[0]]]


def _decided(row: tuple[Any, ...], sought: Sought) -> bool | None:
    if sought.error_kind is not None and row[_KIND] != sought.error_kind:
        return False
    if sought.messages is not None and row[_MESSAGE] not in sought.messages:
        return False
    text = shown_text(row)
    return sought.query.decides(text) if is_cut(row[_OUTPUT]) else sought.query.matches(text)


def _pages(connection: sqlite3.Connection, wanted: task_pages.Wanted) -> Iterator[list[tuple[Any, ...]]]:
    for sql, values in task_pages.statements(connection, wanted, _COLUMNS):
        cursor = connection.execute(sql, values)
        while rows := cursor.fetchmany(_PAGE):
            yield rows
