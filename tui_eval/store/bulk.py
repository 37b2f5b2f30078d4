"""Many rows with few steps of SQLite.

Python's ``sqlite3`` gives the interpreter lock away and takes it back at every step, and ``executemany`` makes a step of
each row: for a writer's thread beside a busy event loop that is two changes of thread a row. Here one step takes up to
64 rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

# A few fixed sizes, so that few statements are compiled and all of them stay in the connection's cache.
_SIZES = (64, 16, 4, 1)


def execute_rows(connection: sqlite3.Connection, sql: str, rows: Iterable[Sequence[Any]]) -> int:
    """Execute ``sql`` for all rows, which have one length; how many rows of the table it changed.

    ``VALUES ?`` in ``sql`` stands for the rows; their columns are called ``column1`` … where ``VALUES`` is a table.
    Raises sqlite3.Error with some of the rows done: call it in a transaction.
    """
    rows = list(rows)
    changed = at = 0
    for size in _SIZES:
        while len(rows) - at >= size:
            some = rows[at : at + size]
            changed += connection.execute(_for_rows(sql, size, len(some[0])), list(chain.from_iterable(some))).rowcount
            at += size
    return changed


@lru_cache(maxsize=64)
def _for_rows(sql: str, rows: int, columns: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return sql.replace("VALUES ?", f"VALUES {', '.join([row] * rows)}", 1)
