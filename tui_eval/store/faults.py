"""Turning SQLite's errors into :class:`~tui_eval.errors.HistoryError`: what, where, and what can be done."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tui_eval.errors import HistoryError

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_ELSEWHERE = "or use another file with --history"


class UnknownWord(ValueError):
    """A stored state or outcome that this program does not know."""


def damaged(path: Path, detail: str) -> HistoryError:
    """The file is broken. It is left exactly as it is; the message says how to go on and how to save what is there."""
    return HistoryError(
        f"{path}: the history is damaged ({detail}). It was left as it is. Either move it aside and start a new one "
        f"(`mv {path} {path}.damaged`, together with its -wal and -shm files), {_ELSEWHERE}; "
        f"what can still be read can be exported (`tui-eval export RUN --history {path}`), and "
        f"`sqlite3 {path} .recover` may bring back more."
    )


def explained(error: Exception, path: Path) -> HistoryError:
    """The :class:`HistoryError` for what SQLite, the system or our own code said about ``path``."""
    if isinstance(error, OSError):
        return HistoryError(f"{path}: the history cannot be used: {error.strerror or error}")
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED or "malformed" in str(error):
        return damaged(path, str(error))
    if "decode to UTF-8" in str(error):  # sqlite3's own words repeat the statement and the text
        return damaged(path, "a stored text is not UTF-8")
    if code in _BUSY:
        return HistoryError(f"{path}: the history is locked by another program. Wait for it or close it, {_ELSEWHERE}.")
    if code == sqlite3.SQLITE_FULL:
        return HistoryError(f"{path}: the disk is full, the history cannot be written. Free some space, {_ELSEWHERE}.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return HistoryError(f"{path}: the history cannot be written: no permission. Allow it, {_ELSEWHERE}.")
    if code == sqlite3.SQLITE_CANTOPEN:
        return HistoryError(
            f"{path}: the history cannot be opened ({error}). Check that the file and its folder may be used, {_ELSEWHERE}."
        )
    if code == sqlite3.SQLITE_IOERR:
        return HistoryError(f"{path}: reading or writing the history failed ({error}). Check the disk, {_ELSEWHERE}.")
    return HistoryError(
        f"{path}: the history could not be used: {error} ({type(error).__name__}). Look at it with "
        f"`tui-eval doctor --history {path}`, {_ELSEWHERE}."
    )


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Inside, errors of SQLite, of the system and of damaged content come out as :class:`HistoryError`."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise explained(error, path) from error
    except (zlib.error, UnicodeDecodeError, json.JSONDecodeError, UnknownWord) as error:
        raise damaged(path, f"a stored value cannot be read: {error}") from error
