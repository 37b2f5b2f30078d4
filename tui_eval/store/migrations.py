"""The schema by number: making a new history, and bringing an older one up to date.

``schema/NNNN.sql`` leads from version NNNN - 1 to NNNN. Each runs in one transaction with ``user_version`` inside, so
a kill at any moment leaves the version before it, whole. Before the first one the file is copied beside itself.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from tui_eval.errors import HistoryError
from tui_eval.store.faults import damaged, explaining
from tui_eval.store.identity import APPLICATION_ID, newer, uri
from tui_eval.store.place import prepare

_creating = threading.Lock()

SCHEMA_FOLDER = Path(__file__).parent / "schema"


def steps(folder: Path = SCHEMA_FOLDER) -> dict[int, str]:
    """The scripts by number, in order."""
    return {int(file.stem): file.read_text(encoding="utf-8") for file in sorted(folder.glob("[0-9]*.sql"))}


def newest_version(folder: Path = SCHEMA_FOLDER) -> int:
    return max(int(file.stem) for file in folder.glob("[0-9]*.sql"))


def version_of(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction that holds the write lock from its beginning; any error undoes it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A disk that is full makes SQLite roll back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def create(path: Path, folder: Path = SCHEMA_FOLDER) -> None:
    """Make a whole new history where there is no file or an empty one, at once: never seen half made.

    It is built beside its place and moved there. Of several processes at it, one makes it and the others find it.
    """
    prepare(path)
    path = path.resolve()
    # One thread at a time: closing `empty` would drop the locks of another thread's connection, were it made by then.
    with _creating:
        while path.stat().st_size == 0:
            _create_once(path, folder)


def _create_once(path: Path, folder: Path) -> None:
    """Make the history unless another process does; returns when either is done."""
    with path.open("rb") as empty:
        fcntl.flock(empty, fcntl.LOCK_EX)
        if not os.path.samestat(os.fstat(empty.fileno()), path.stat()):
            return  # someone made the history while we waited
        new = path.with_name(path.name + ".new")
        for name in (new, path.with_name(new.name + "-wal"), path.with_name(new.name + "-journal")):
            name.unlink(missing_ok=True)  # left by a process that was killed; the lock is ours
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with _removing_leftover(new):
            _build(new, folder)
            os.replace(new, path)
        _sync_folder(path.parent)


@contextmanager
def _removing_leftover(file: Path) -> Iterator[None]:
    """Inside, an error takes the half-made ``file`` away again."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            file.unlink(missing_ok=True)
        raise


def _build(file: Path, folder: Path) -> None:
    with closing(sqlite3.connect(uri(file, mode="rw"), uri=True, isolation_level=None)) as connection:
        with transaction(connection):
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for number, script in steps(folder).items():
                _apply(connection, number, script)
        connection.execute("PRAGMA journal_mode = WAL")


def _apply(connection: sqlite3.Connection, number: int, script: str) -> None:
    for statement in statements(script):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {number}")


def statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one (``executescript`` would commit in between)."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip() and not all(line.strip().startswith("--") or not line.strip() for line in pending.splitlines()):
        raise ValueError(f"the schema script ends in the middle of a statement: {pending.strip()[:60]}")


def migrate(connection: sqlite3.Connection, path: Path, folder: Path = SCHEMA_FOLDER) -> None:
    """Bring an open history to the newest version; several processes at once are fine.

    Raises HistoryError when it is newer than this program. A copy of the state before stays as
    ``history.db.before-NNNN``.
    """
    if version_of(connection) == newest_version(folder):
        return
    copied = False
    connection.execute("PRAGMA foreign_keys = OFF")  # tables may be rebuilt; has no effect inside a transaction
    for number, script in steps(folder).items():
        with transaction(connection):
            version = version_of(connection)
            if version > newest_version(folder):
                raise newer(path, version)
            if version >= number:
                continue
            if not copied:
                _copy(path, number)
                copied = True
            _apply(connection, number, script)
            if (broken := connection.execute("PRAGMA foreign_key_check").fetchone()) is not None:
                raise HistoryError(f"{path}: version {number} of the history would break references ({broken}).")
    connection.execute("PRAGMA foreign_keys = ON")


def _copy(path: Path, number: int) -> None:
    """Copy the file as it is committed now. The caller holds the write lock, so nothing changes meanwhile."""
    with closing(sqlite3.connect(uri(path, mode="ro"), uri=True)) as source:
        kept = path.with_name(f"{path.name}.before-{number:04}")
        unfinished = kept.with_name(kept.name + ".unfinished")
        unfinished.unlink(missing_ok=True)  # of an attempt that was killed
        copy_whole(source, kept, unfinished, replace=True)


def copy_whole(source: sqlite3.Connection, target: Path, unfinished: Path, *, replace: bool = False) -> None:
    """Copy an open history as of one moment to ``target`` (0600), which appears whole and checked, or not at all.

    It is made in ``unfinished``, a new file in the same folder. A file at ``target`` is replaced when ``replace`` says
    so. Raises HistoryError, or OSError.
    """
    with explaining(target):
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with _removing_leftover(unfinished), explaining(target):
        with closing(sqlite3.connect(uri(unfinished, mode="rw"), uri=True)) as copy:
            source.backup(copy)
            # A file on its own, without a -wal of its own beside it.
            copy.execute("PRAGMA journal_mode = DELETE")
            (verdict,) = copy.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise damaged(target, str(verdict).replace("\n", " "))
        if replace or not _linked(unfinished, target):
            os.replace(unfinished, target)
    _sync_folder(target.parent)


def _linked(file: Path, target: Path) -> bool:
    """Give ``file`` the name ``target`` unless there is such a file (FileExistsError); False where the disk knows no
    links."""
    try:
        os.link(file, target)
    except FileExistsError:
        raise
    except OSError:
        return False
    file.unlink()
    return True


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
