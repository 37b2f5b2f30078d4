"""The index for texts over the whole history: in a file beside it, made after runs have ended, never by a runner.

It holds no text, only which three characters in a row occur in which task (FTS5, trigram, contentless): what it names
is looked through again (:mod:`run_search`), so it may name too much, but never too little. Everything in it can be made
anew from the history: a damaged file, or one of another version, is simply replaced.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

from tui_eval.errors import HistoryError
from tui_eval.store.encoding import clean
from tui_eval.store.reader import History
from tui_eval.store.records import RunRecord

VERSION = 1
BUSY_SECONDS = 2.0
_BATCH = 500  # texts in one transaction: a reader waits for one of them at most
_STALE_SHARE = 4
_SCHEMA = f"""
CREATE TABLE runs (
    id      INTEGER PRIMARY KEY,
    run_id  TEXT    NOT NULL UNIQUE,
    stamp   TEXT    NOT NULL    -- of the run when it was read: a resumed one is read anew; '' while it is being read
) STRICT;
CREATE TABLE tasks (
    text    INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL,
    task    INTEGER NOT NULL    -- its key in the history
) STRICT;
CREATE INDEX tasks_by_run ON tasks (run);
CREATE TABLE made (texts INTEGER NOT NULL) STRICT;  -- how many there ever were: no number is used twice
INSERT INTO made VALUES (0);
CREATE VIRTUAL TABLE texts USING fts5(text, content='', detail=none, columnsize=0, tokenize='trigram');
PRAGMA user_version = {VERSION};
"""
Progress = Callable[[int, int], None]


def index_path(history: Path) -> Path:
    """Where the index of a history lies."""
    return history.with_name(f"{history.name}.search")


def stamp_of(run: RunRecord) -> str:
    """What is another one when a run that has ended was taken up again."""
    return f"{run.created_at} {run.started_at} {run.finished_at} {run.state}"


class SearchIndex:
    """The index, to read. ``usable`` is False when there is none (yet), or none can be had here."""

    def __init__(self, history: Path) -> None:
        self._connection = _open(index_path(history))

    @property
    def usable(self) -> bool:
        return self._connection is not None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def runs(self) -> dict[str, str]:
        """The stamp of each run that is in the index, by run id."""
        if self._connection is None:
            return {}
        return dict(self._connection.execute("SELECT run_id, stamp FROM runs"))

    def candidates(self, terms: list[str]) -> dict[str, list[int]]:
        """The tasks that may have all of ``terms``, by run id; of each run the newest first.

        ``terms`` are casefolded; those of less than three characters do not count.
        """
        expression = _expression(terms)
        if self._connection is None or not expression:
            return {}
        sql = (
            "SELECT runs.run_id, tasks.task FROM texts CROSS JOIN tasks ON tasks.text = texts.rowid "
            "JOIN runs ON runs.id = tasks.run WHERE texts MATCH ?"
        )
        found: dict[str, list[int]] = {}
        for run_id, task in self._connection.execute(sql, (expression,)):
            found.setdefault(run_id, []).append(task)
        return found


def grams(text: str) -> set[str]:
    """Every three characters in a row."""
    return {text[place : place + 3] for place in range(len(text) - 2)}


def update(
    history: History,
    *,
    progress: Progress = lambda done, total: None,
    given_up: Callable[[], bool] = lambda: False,
) -> bool:
    """Bring the index up to date with the runs that have ended; ``progress`` is told ``(runs done, of how many)``.

    False when that cannot be done here and now: SQLite without FTS5's trigrams, no right to write, another program at
    it. Then searches look through what is not in the index.
    """
    path = index_path(history.path)
    try:
        with _alone(path), closing(_open_for_writing(path)) as connection:
            ended = {run.run_id: run for run in _ended(history)}
            _forget(connection, ended)
            known = dict(connection.execute("SELECT run_id, stamp FROM runs"))
            missing = [run for run in ended.values() if run.run_id not in known]
            for place, run in enumerate(missing):
                progress(place, len(missing))
                if given_up() or not _add(connection, history, run, given_up):
                    return True
            progress(len(missing), len(missing))
    except (sqlite3.Error, OSError):
        return False
    return True


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Only one program brings an index up to date. Raises BlockingIOError when another one does."""
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        os.chmod(lock.fileno(), 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def _ended(history: History) -> Iterator[RunRecord]:
    """Every run that no runner works on, newest first."""
    before: tuple[float, int] | None = None
    while page := history.runs(limit=500, before=before):
        yield from (overview.run for overview in page if not overview.state.live)
        before = (page[-1].run.created_at, page[-1].run.id)


def _forget(connection: sqlite3.Connection, ended: Mapping[str, RunRecord]) -> None:
    """Take out what is gone from the history, has changed, or was never read to its end.

    Its texts stay, without a way to them; when they are too many the index is made anew.
    """
    for key, run_id, stamp in connection.execute("SELECT id, run_id, stamp FROM runs").fetchall():
        if run_id not in ended or stamp_of(ended[run_id]) != stamp:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM tasks WHERE run = ?", (key,))
            connection.execute("DELETE FROM runs WHERE id = ?", (key,))
            connection.execute("COMMIT")
    (kept,) = connection.execute("SELECT count(*) FROM tasks").fetchone()
    (made,) = connection.execute("SELECT texts FROM made").fetchone()
    if (made - kept) * _STALE_SHARE > made:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM tasks")
        connection.execute("DELETE FROM runs")
        connection.execute("UPDATE made SET texts = 0")
        connection.execute("INSERT INTO texts (texts) VALUES ('delete-all')")
        connection.execute("COMMIT")
        connection.execute("VACUUM")


def _add(connection: sqlite3.Connection, history: History, run: RunRecord, given_up: Callable[[], bool]) -> bool:
    """Read a run into the index; False when it was given up on the way."""
    (made,) = connection.execute("SELECT texts FROM made").fetchone()
    key = connection.execute("INSERT INTO runs (run_id, stamp) VALUES (?, '')", (run.run_id,)).lastrowid
    texts = history.task_texts(run)
    try:
        while batch := list(islice(texts, _BATCH)):
            rows = [(place, task, _indexed(text)) for place, (task, text) in enumerate(batch, made + 1)]
            made += len(batch)
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", [(row[0], row[2]) for row in rows])
            connection.executemany("INSERT INTO tasks VALUES (?, ?, ?)", [(row[0], key, row[1]) for row in rows])
            connection.execute("UPDATE made SET texts = ?", (made,))
            connection.execute("COMMIT")
            if given_up():
                return False
    except HistoryError:
        return True  # damaged there: a search that looks through it says so
    connection.execute("UPDATE runs SET stamp = ? WHERE id = ?", (stamp_of(run), key))
    return True


def _indexed(text: str) -> str:
    """A text as the index has it: without case (SQLite's idea of it is another one), and no NUL, which would end it."""
    return clean(text).casefold().replace("\0", "\1")


def _expression(terms: Iterable[str]) -> str:
    wanted = sorted({gram for term in terms for gram in grams(_indexed(term))})
    return " AND ".join('"' + gram.replace('"', '""') + '"' for gram in wanted)


def _open(path: Path) -> sqlite3.Connection | None:
    if not path.is_file():
        return None
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS, check_same_thread=False
        )
    except sqlite3.Error:
        return None
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute("SELECT count(*) FROM runs, made")
    except sqlite3.Error:
        version = None
    if version == VERSION:
        return connection
    connection.close()
    return None


def _open_for_writing(path: Path) -> sqlite3.Connection:
    """Raises sqlite3.Error or OSError when there can be none here."""
    usable = _open(path)
    if usable is not None:
        usable.close()
    else:
        path.unlink(missing_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")  # it can be made anew
        if usable is None:
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection


def main(arguments: list[str]) -> int:
    """``python -m tui_eval.store.search_index HISTORY``: bring its index up to date, behind whatever else runs."""
    os.nice(10)
    try:
        with History(Path(arguments[0])) as history:
            return 0 if update(history) else 1
    except HistoryError:
        return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
