"""Changes that people make to the history afterwards: delete a run, tags, a note, move a broken file aside."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from tui_eval.errors import HistoryError, UsageError
from tui_eval.store.batch import forget
from tui_eval.store.encoding import clean, to_json
from tui_eval.store.faults import explaining
from tui_eval.store.liveness import state_now
from tui_eval.store.migrations import transaction
from tui_eval.store.opening import open_for_writing
from tui_eval.store.records import RunRecord
from tui_eval.store.run_queries import find

_CHUNK = 1000  # tasks deleted in one transaction: a live run that writes meanwhile waits some 50 ms at most


def delete_run(path: Path, run_id: str) -> None:
    """Delete a run with all that only it uses; cases and answers that other runs share stay.

    Raises UsageError when there is no such run, it is live, or it is pinned. A large run goes in several
    transactions; when that is interrupted the run says so in its error text and can be deleted again.
    """

    def delete(connection: sqlite3.Connection) -> None:
        run = _to_delete(connection, run_id)
        while _delete_some(connection, run):
            continue
        with transaction(connection):
            connection.execute("DELETE FROM runs WHERE id = ?", (run.id,))

    _change(path, run_id, delete)


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


def move_aside(path: Path) -> Path:
    """Give a broken history another name, with its -wal and -shm files, so that a new one can be started.

    The new name, ``history.db.damaged-YYYYMMDD-HHMMSS``. Raises HistoryError; nothing is ever overwritten.
    """
    aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    with explaining(path):
        for ending in ("-shm", "-wal", ""):
            source, target = path.with_name(path.name + ending), aside.with_name(aside.name + ending)
            if target.exists():
                raise HistoryError(f"{target} is there already: move it first")
            if source.exists() or not ending:
                source.rename(target)
    return aside


def _to_delete(connection: sqlite3.Connection, run_id: str) -> RunRecord:
    with transaction(connection):
        run = find(connection, run_id)
        if (state := state_now(run)).live:
            raise UsageError(f"run {run.run_id} is {state.value}: cancel it before it is deleted")
        if run.pinned:
            raise UsageError(f"run {run.run_id} is pinned: unpin it before it is deleted")
        connection.execute(
            "UPDATE runs SET state = 'failed', error = 'deleting it was interrupted: delete it again' WHERE id = ?",
            (run.id,),
        )
    return run


def _delete_some(connection: sqlite3.Connection, run: RunRecord) -> bool:
    """Delete a chunk of the run's tasks; False when there is none left."""
    with transaction(connection):
        rows = connection.execute(
            "SELECT id, case_key FROM tasks WHERE request IN (SELECT id FROM requests WHERE run = ?) LIMIT ?",
            (run.id, _CHUNK),
        ).fetchall()
        tasks = [(task,) for task, _ in rows]
        forget(connection, [task for (task,) in tasks])
        connection.executemany("DELETE FROM tasks WHERE id = ?", tasks)
        connection.executemany(
            "DELETE FROM cases WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM tasks WHERE case_key = ?1)",
            [(case,) for case in {case for _, case in rows}],
        )
    return bool(rows)


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
