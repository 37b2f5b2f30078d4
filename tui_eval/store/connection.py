"""An aiosqlite connection that runs a whole function in its thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import aiosqlite

P = ParamSpec("P")
T = TypeVar("T")


class Connection(aiosqlite.Connection):
    """One hop to the thread for a whole transaction: quick, and a cancelled caller never leaves half of one open."""

    async def run(self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """``work(connection, ...)`` in the connection's thread."""
        execute = cast(Any, self._execute)
        return cast(T, await execute(work, self._conn, *args, **options))
