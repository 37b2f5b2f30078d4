"""A read-only connection that follows the file of a history: it may be made, replaced or moved here meanwhile."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tui_eval.store.faults import explaining
from tui_eval.store.migrations import newest_version, steps
from tui_eval.store.opening import open_read_only

Rows = list[tuple[Any, ...]]

_MANY = 500  # keys in one query
_FETCHED = 1000  # rows at a time while streaming


class ReadConnection:
    """Every method raises HistoryError when the file turns out to be damaged.

    Where there is no history yet it is one without rows, until :meth:`changed` finds the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: object = None
        self._open()

    def close(self) -> None:
        self.sqlite.close()

    def changed(self) -> bool:
        """Whether anything was committed by others since the last call (0.2 ms); True the first time.

        Also finds a history that was made, replaced or moved here since.
        """
        with explaining(self.path):
            if self._file() != self._opened:
                self.sqlite.close()
                self._open()
                self._seen = None
            (version,) = self.sqlite.execute("PRAGMA data_version").fetchone()
        changed: bool = version != self._seen
        self._seen = version
        return changed

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Inside, everything is read as of one moment (for exports: rows and counters agree)."""
        with explaining(self.path):
            self.sqlite.execute("BEGIN")
        try:
            yield
        finally:
            # Nothing was written; unlike COMMIT this also ends a transaction in which SQLite met a damaged page.
            with explaining(self.path):
                if self.sqlite.in_transaction:
                    self.sqlite.execute("ROLLBACK")

    # -- queries --

    def rows(self, sql: str, *values: Any) -> Rows:
        """All rows of a query."""
        with explaining(self.path):
            return self.sqlite.execute(sql, values).fetchall()

    def stream(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, a thousand in memory at a time."""
        with explaining(self.path):
            cursor = self.sqlite.execute(sql, values)
        while True:
            with explaining(self.path):
                rows = cursor.fetchmany(_FETCHED)
            if not rows:
                return
            yield from rows

    def many(self, sql: str, keys: Iterable[int]) -> Iterator[tuple[Any, ...]]:
        """The rows of any number of keys, some hundred keys at a time; ``{}`` in ``sql`` is where they go."""
        for chunk in _chunks(sorted(set(keys))):
            yield from self.rows(sql.format(", ".join("?" * len(chunk))), *chunk)

    # -- the file --

    def _open(self) -> None:
        self._opened = self._file()
        found = open_read_only(self.path)
        if found is None:
            self._opened = None
            found = _without_rows()
        self.sqlite = found

    def _file(self) -> tuple[int, int] | None:
        """Which file is there, None where there is none yet (or an empty one)."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if found.st_size else None


def _without_rows() -> sqlite3.Connection:
    """A history in memory that has every table and no row."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    for script in steps().values():
        connection.executescript(script)
    connection.execute(f"PRAGMA user_version = {newest_version()}")
    return connection


def _chunks(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(keys), _MANY):
        yield keys[start : start + _MANY]
