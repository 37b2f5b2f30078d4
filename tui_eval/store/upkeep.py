"""Changes that people make to the history afterwards: delete a run, tags, a note, give space back; and a copy of
the whole."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from tui_eval.errors import HistoryError, UsageError
from tui_eval.store import fallback
from tui_eval.store.batch import forget
from tui_eval.store.encoding import clean, to_json
from tui_eval.store.faults import explaining
from tui_eval.store.liveness import state_now
from tui_eval.store.migrations import copy_whole, transaction
from tui_eval.store.opening import open_for_writing, open_read_only
from tui_eval.store.place import log_path
from tui_eval.store.records import RunRecord, RunState
from tui_eval.store.rows import RUN_COLUMNS, run_record
from tui_eval.store.run_queries import find

_LIVE = ", ".join(f"'{state.value}'" for state in RunState if state.live)
_CHUNK = 1000  # tasks deleted in one transaction: a live run that writes meanwhile waits some 50 ms at most
_OF_RUN = "request IN (SELECT id FROM requests WHERE run = ?)"


def delete_run(
    path: Path,
    run_id: str,
    stopped: Callable[[], bool] = lambda: False,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> bool:
    """Delete a run with all that only it uses, its runner's log too; cases and answers that other runs share stay.

    Raises UsageError when there is no such run, it is live, pinned, or has results beside the history that are not in
    it yet. A large run goes in several transactions; when that is interrupted the run says so in its error text and can
    be deleted again. Interrupted, and False, also when ``stopped()`` is true between two of them. ``tell`` gets how many
    of its tasks are gone, and how many there were, after each part.
    """
    gone = False

    def delete(connection: sqlite3.Connection) -> None:
        run = _to_delete(connection, path, run_id)
        (total,) = connection.execute(f"SELECT count(*) FROM tasks WHERE {_OF_RUN}", (run.id,)).fetchone()
        done = 0
        while deleted := _delete_some(connection, run):
            if stopped():
                return
            done += deleted
            tell(done, total)
        with transaction(connection):
            connection.execute("DELETE FROM runs WHERE id = ?", (run.id,))
        log_path(path, run.run_id).unlink(missing_ok=True)
        nonlocal gone
        gone = True

    _change(path, run_id, delete)
    return gone


def set_tags(path: Path, run_id: str, tags: Iterable[str]) -> None:
    """Replace the tags of a run: order kept, each once, without blanks around. Raises UsageError."""
    wanted = list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    _set(path, run_id, "tags", to_json(wanted))


def set_note(path: Path, run_id: str, note: str) -> None:
    """Replace the note of a run. Raises UsageError when there is no such run."""
    _set(path, run_id, "note", clean(note))


def set_pinned(path: Path, run_id: str, pinned: bool) -> None:
    """Protect a run from deletion, or no longer. Raises UsageError when there is no such run."""
    _set(path, run_id, "pinned", int(pinned))


def why_it_stays(path: Path, run: RunRecord, state: RunState) -> str:
    """Why a run must not be deleted, "" when it may be. ``state`` is its effective state."""
    if state.live:
        return f"is {state.value}: cancel it before it is deleted"
    if run.pinned:
        return "is pinned: unpin it before it is deleted"
    if places := fallback.find(path, run.run_id):
        return f"has results that are not in the history yet ({places[0]}): resume it before it is deleted"
    return ""


def backup(path: Path, target: Path) -> int:
    """Copy the whole history as it stands at this moment, next to live runs, to the new file ``target`` (0600); its
    size in bytes.

    It appears whole or not at all and was checked. Raises UsageError when there is no history or ``target`` is there
    already, HistoryError when the copy cannot be made.
    """
    if os.path.lexists(target):
        raise UsageError(f"{target} is there already: name a new file for the backup")
    source = open_read_only(path)
    if source is None:
        raise UsageError(f"there is no history at {path} to copy")
    with explaining(path), closing(source):
        copy_whole(source, target, target.with_name(f".{target.name}.{os.getpid()}.unfinished"))
    return target.stat().st_size


def vacuum(path: Path) -> tuple[int, int]:
    """Give the space of deleted runs back to the disk: size in bytes before and after.

    Raises UsageError while a run is live (it would have to wait too long to save its results) or there is no history,
    HistoryError when the disk has no room for the copy that SQLite works with.
    """
    if not path.exists():
        raise UsageError(f"there is no history at {path}")
    with explaining(path), closing(open_for_writing(path)) as connection:
        rows = connection.execute(f"SELECT {RUN_COLUMNS} FROM runs WHERE state IN ({_LIVE})").fetchall()
        live = [run.run_id for run in map(run_record, rows) if state_now(run).live]
        if live:
            raise UsageError(f"run {live[0]} is live: wait for it, or cancel it, and vacuum then")
        before = path.stat().st_size
        if shutil.disk_usage(path.parent).free < 2 * before:
            raise HistoryError(
                f"{path}: vacuum needs {2 * before / 1e6:.0f} MB of free space beside the history while it works. "
                f"Delete runs or make room first."
            )
        connection.execute("PRAGMA temp_store = FILE")  # not in memory: it may be larger than that
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, path.stat().st_size


def _to_delete(connection: sqlite3.Connection, path: Path, run_id: str) -> RunRecord:
    with transaction(connection):
        run = find(connection, run_id)
        if why := why_it_stays(path, run, state_now(run)):
            raise UsageError(f"run {run.run_id} {why}")
        connection.execute(
            "UPDATE runs SET state = 'failed', error = 'deleting it was interrupted: delete it again' WHERE id = ?",
            (run.id,),
        )
    return run


def _delete_some(connection: sqlite3.Connection, run: RunRecord) -> int:
    """Delete a chunk of the run's tasks; how many, 0 when there is none left."""
    with transaction(connection):
        rows = connection.execute(
            f"SELECT id, case_key FROM tasks WHERE {_OF_RUN} LIMIT ?",
            (run.id, _CHUNK),
        ).fetchall()
        tasks = [(task,) for task, _ in rows]
        forget(connection, [task for (task,) in tasks])
        connection.executemany("DELETE FROM tasks WHERE id = ?", tasks)
        connection.executemany(
            "DELETE FROM cases WHERE id = ? AND NOT EXISTS (SELECT 1 FROM tasks WHERE case_key = cases.id)",
            [(case,) for case in {case for _, case in rows}],
        )
    return len(rows)


def _set(path: Path, run_id: str, column: str, value: str | int) -> None:
    def change(connection: sqlite3.Connection) -> None:
        with transaction(connection):
            connection.execute(f"UPDATE runs SET {column} = ? WHERE id = ?", (value, find(connection, run_id).id))

    _change(path, run_id, change)


def _change(path: Path, run_id: str, change: Callable[[sqlite3.Connection], None]) -> None:
    if not path.exists():
        raise UsageError(f"there is no run {run_id!r}: {path} does not exist")
    with explaining(path), closing(open_for_writing(path)) as connection:
        change(connection)
