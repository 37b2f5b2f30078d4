"""Opening the history: for the one that writes, and for everyone who only reads."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from tui_eval.errors import HistoryError
from tui_eval.store import migrations
from tui_eval.store.faults import explained, explaining
from tui_eval.store.file_system import refuse_network_disk, unsafe_disk
from tui_eval.store.identity import Found, check_small, identify, newer, uri

BUSY_SECONDS = 5.0


def open_for_writing(
    path: Path,
    *,
    busy_seconds: float = BUSY_SECONDS,
    schema: Path = migrations.SCHEMA_FOLDER,
    any_thread: bool = False,
) -> sqlite3.Connection:
    """Open the history, making it when there is none and bringing an older one up to date (a copy is kept).

    WAL, synchronous=FULL, foreign keys on, autocommit (transactions are explicit). Raises HistoryError, with the file
    untouched, for anything that is not a sound history of this or an older version; waits ``busy_seconds`` at most for
    a lock of another program. ``any_thread``: the connection will be used in another thread than this one.
    """
    with explaining(path):
        refuse_network_disk(path)
        if identify(path, migrations.newest_version(schema)) is Found.NOTHING:
            migrations.create(path, schema)
            identify(path, migrations.newest_version(schema))
        path = path.resolve()
        connection = sqlite3.connect(
            uri(path, mode="rw"),
            uri=True,
            timeout=busy_seconds,
            isolation_level=None,
            check_same_thread=not any_thread,
        )
        try:
            _set_up(connection, path, schema)
        except BaseException:
            connection.close()
            raise
        return connection


def _set_up(connection: sqlite3.Connection, path: Path, schema: Path) -> None:
    check_small(connection, path)
    if (version := migrations.version_of(connection)) > migrations.newest_version(schema):
        raise newer(path, version)
    migrations.migrate(connection, path, schema)
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise HistoryError(
            f"{path}: this place cannot hold the history: its file system has no shared memory for SQLite's WAL "
            f"(network folders often have not). Use a local folder with --history."
        )
    # FULL: a finished result is on the disk, not in the system's cache. With batches it costs next to nothing.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA wal_autocheckpoint = 1000")  # pages: about 4 MB of log
    connection.execute("PRAGMA journal_size_limit = 67108864")  # bytes: a long reader may have let it grow
    connection.execute("PRAGMA temp_store = MEMORY")


def open_read_only(
    path: Path, *, busy_seconds: float = BUSY_SECONDS, schema: Path = migrations.SCHEMA_FOLDER
) -> sqlite3.Connection | None:
    """Open the history for reading, next to a live writer or without one. None when there is no history yet.

    In a folder that cannot be written, where SQLite cannot make its -shm file, and on a network disk, the file is read
    as it stands (``immutable``), which is right only because no log lies beside it: no writer has it open. An older
    history is brought up to date first. Raises HistoryError as :func:`open_for_writing` does.
    """
    newest = migrations.newest_version(schema)
    with explaining(path):
        if identify(path, newest) is Found.NOTHING:
            return None
        path = path.resolve()
        connection, version = _connect_read_only(path, busy_seconds)
        if version == newest:
            return connection
        connection.close()
        if version > newest:
            raise newer(path, version)
        open_for_writing(path, busy_seconds=busy_seconds, schema=schema).close()
        return _connect_read_only(path, busy_seconds)[0]


def _connect_read_only(path: Path, busy_seconds: float) -> tuple[sqlite3.Connection, int]:
    if unsafe_disk(path):
        if _log_of(path):
            refuse_network_disk(path)
        return _connected(uri(path, mode="ro", immutable=1), busy_seconds)
    try:
        return _connected(uri(path, mode="ro"), busy_seconds)
    except sqlite3.OperationalError as error:
        cannot_make_files = not os.access(path.parent, os.W_OK)
        if not cannot_make_files:
            raise
        if log := _log_of(path):
            raise HistoryError(
                f"{path}: the history cannot be read here: {log.name} beside it holds results, and reading them needs "
                f"a folder that can be written. Copy both files to one, and name it with --history."
            ) from error
        return _connected(uri(path, mode="ro", immutable=1), busy_seconds)


def _log_of(path: Path) -> Path | None:
    """The log beside the history, None when there is none or nothing in it."""
    log = path.with_name(path.name + "-wal")
    return log if log.exists() and log.stat().st_size else None


def _connected(address: str, busy_seconds: float) -> tuple[sqlite3.Connection, int]:
    # Runners and screens read from worker threads and close from the main one; SQLite itself serialises (threadsafety
    # 3). Without statements that are kept: from 3.12 on Python may hand one of them to two threads at once.
    connection = sqlite3.connect(
        address,
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=0,
    )
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        connection.execute("PRAGMA query_only = ON")
        return connection, migrations.version_of(connection)
    except BaseException:
        connection.close()
        raise


def check_integrity(path: Path) -> list[str]:
    """Everything wrong inside the file, one line each; empty when it is sound (or not there yet).

    Reads the whole file: pages, references, and whether the counters of each request agree with its tasks (those of
    a live run do, in every committed state). Raises HistoryError when it cannot be opened at all.
    """
    connection = open_read_only(path)
    if connection is None:
        return []
    with closing(connection):
        try:
            found = [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
            if found:
                return found
            found += [
                f"{table} {row} refers to a row of {parent} that is not there"
                for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check")
            ]
            found += [
                f"request {name!r} of run {run_id}: counters say {counted} finished, its tasks say {there}"
                for run_id, name, counted, there in connection.execute(_MISCOUNTED)
            ]
        except sqlite3.DatabaseError as error:
            return [str(explained(error, path))]
    return found


_MISCOUNTED = """
SELECT runs.run_id, requests.name,
       requests.passed + requests.failed + requests.error_count + requests.unscored + requests.cancelled AS counted,
       (SELECT count(*) FROM tasks WHERE tasks.request = requests.id AND tasks.outcome <> 'queued') AS there
FROM requests JOIN runs ON runs.id = requests.run
WHERE counted <> there
"""
