"""What lies at the place of the history, found without changing anything there or beside it."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

from tui_eval.errors import HistoryError
from tui_eval.store.faults import damaged, explained

APPLICATION_ID = 0x54455641  # "TEVA", in the header of every history
_MAGIC = b"SQLite format 3\x00"
_HEADER = 100  # bytes; https://www.sqlite.org/fileformat2.html, section 1.3
_SMALL = 32 * 1024 * 1024  # bytes; a full check of so much takes some 20 ms


class Found(StrEnum):
    """What may be there and is fine; everything else is an error."""

    NOTHING = "nothing"  # no file, or an empty one: a new history can be made
    HISTORY = "history"


def identify(path: Path, newest: int) -> Found:
    """Look at the file at ``path``; ``newest`` is the highest schema number this program knows.

    Raises HistoryError for a folder, a pipe, a link to nowhere, a file of another program, of a newer version, a
    damaged one, or one that may not be read. Opens no SQLite connection that could write, lock or make a -wal file.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise HistoryError(f"{path}: this is {kind}; the history is a file. Name one with --history.")
        header = _read_header(path)
    except FileNotFoundError as error:
        if path.is_symlink():
            raise HistoryError(
                f"{path}: this is a link to {os.readlink(path)}, which is not there. Mend or remove the link."
            ) from error
        return _nothing(path)
    except OSError as error:
        raise explained(error, path) from error
    return _nothing(path) if not header else _by_header(path, header, newest)


_kept: dict[tuple[int, int], int] = {}
_kept_lock = threading.Lock()
_KEPT_AT_MOST = 64


def _read_header(path: Path) -> bytes:
    """The first bytes of the file, over a descriptor that stays open.

    Closing any descriptor of a file drops all POSIX locks that this process has on it, also those of SQLite
    connections (https://www.sqlite.org/howtocorrupt.html, section 2.2): another program would then believe that nobody
    uses the history and throw its -wal away. One descriptor a file is kept instead; of many files the oldest is closed.
    """
    with _kept_lock:
        found = path.stat()
        descriptor = _kept.get((found.st_dev, found.st_ino))
        if descriptor is None:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            opened = os.fstat(descriptor)
            _kept[opened.st_dev, opened.st_ino] = descriptor
            if len(_kept) > _KEPT_AT_MOST:
                os.close(_kept.pop(next(iter(_kept))))
        return os.pread(descriptor, _HEADER, 0)


def uri(path: Path, **options: str | int) -> str:
    """``path`` as an SQLite URI: characters such as ``?`` and ``#`` in it have no meaning, bytes that are no UTF-8 stay."""
    return f"file:{quote(os.fsencode(path))}?" + "&".join(f"{name}={value}" for name, value in options.items())


def newer(path: Path, version: int) -> HistoryError:
    return HistoryError(
        f"{path}: the history was written by a newer version of tui_eval ({version}). It was not touched. "
        f"Update tui_eval, or use another file with --history."
    )


def check_small(connection: sqlite3.Connection, path: Path) -> None:
    """Look through the whole file when that is quick; a large one is checked as it is read, or by `doctor`."""
    if path.stat().st_size <= _SMALL:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise damaged(path, str(verdict).replace("\n", " "))


def _nothing(path: Path) -> Found:
    # SQLite would throw the log of a file away that is empty or gone, with every result in it.
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise HistoryError(
            f"{path}: the history is empty or gone, but {log} still holds results of it. Nothing was touched. Put the "
            f"history back beside its log, or move the log away to start a new one."
        )
    return Found.NOTHING


def _by_header(path: Path, header: bytes, newest: int) -> Found:
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        raise damaged(path, "this is no SQLite file")
    application = int.from_bytes(header[68:72])
    version = int.from_bytes(header[60:64])
    if application == APPLICATION_ID:
        if version > newest:
            raise newer(path, version)
        return Found.HISTORY
    if application == 0 and version > newest and _has_runs(path):
        raise newer(path, version)
    raise HistoryError(
        f"{path}: this is a database of another program, not a history of tui_eval (application id "
        f"{application:#x}). It was not touched. Use another file with --history."
    )


def _has_runs(path: Path) -> bool:
    """Whether a file without our mark has our table. ``immutable``: nothing is locked, recovered or made."""
    connection = None
    try:
        connection = sqlite3.connect(uri(path, mode="ro", immutable=1), uri=True)
        found = connection.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'runs'").fetchone()
        if found:
            check_small(connection, path)
        return found is not None
    except sqlite3.Error as error:
        raise explained(error, path) from error
    finally:
        if connection is not None:
            connection.close()
