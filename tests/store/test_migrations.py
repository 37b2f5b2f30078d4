"""Older and newer histories: brought up to date with a copy kept, or refused."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.conftest import ROOT
from tests.store.files import contents, sound_history
from tui_eval.errors import HistoryError
from tui_eval.store import migrations
from tui_eval.store.opening import open_for_writing, open_read_only

NOW = migrations.newest_version()
LATER = NOW + 1
LATER_STEP = """
-- A column; and a trigger, which has semicolons inside.
ALTER TABLE runs ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey';
CREATE TRIGGER painted AFTER UPDATE OF colour ON runs BEGIN
    UPDATE runs SET note = 'painted; twice' WHERE id = new.id;
    SELECT 1;
END;
"""


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """The schema of a later program."""
    folder = tmp_path / "schema"
    shutil.copytree(migrations.SCHEMA_FOLDER, folder)
    (folder / f"{LATER:04}.sql").write_text(LATER_STEP)
    return folder


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return migrations.version_of(connection)


def test_an_older_history_is_brought_up_to_date_and_a_copy_is_kept(path: Path, schema: Path) -> None:
    sound_history(path, 3)
    with closing(open_for_writing(path, schema=schema)) as connection:
        assert connection.execute("SELECT DISTINCT colour FROM runs").fetchall() == [("grey",)]
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
    copy = path.with_name(f"history.db.before-{LATER:04}")
    assert (version(path), version(copy)) == (LATER, NOW)
    assert copy.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (3,)
    assert sorted(contents(path.parent)) == ["history.db", f"history.db.before-{LATER:04}"]


def test_reading_an_older_history_brings_it_up_to_date_first(path: Path, schema: Path) -> None:
    sound_history(path, 1)
    connection = open_read_only(path, schema=schema)
    assert connection is not None
    with closing(connection):
        assert connection.execute("SELECT colour FROM runs").fetchall() == [("grey",)]


def test_a_new_history_is_made_by_all_steps_without_a_copy(path: Path, schema: Path) -> None:
    open_for_writing(path, schema=schema).close()
    assert version(path) == LATER
    assert sorted(contents(path.parent)) == ["history.db"]


def test_an_older_program_says_that_the_history_is_newer(path: Path, schema: Path) -> None:
    open_for_writing(path, schema=schema).close()
    with pytest.raises(HistoryError, match=rf"newer version of tui_eval \({LATER}\)"):
        open_for_writing(path)


def test_a_newer_version_that_is_only_in_the_log_yet_is_seen_too(path: Path, schema: Path) -> None:
    sound_history(path)
    with closing(open_for_writing(path, schema=schema)), pytest.raises(HistoryError, match="newer version"):
        open_for_writing(path)


def test_a_step_that_fails_leaves_the_version_before(path: Path, schema: Path) -> None:
    sound_history(path, 2)
    (schema / f"{LATER + 1:04}.sql").write_text("DROP TABLE log;\nCREATE TABLE runs (id INTEGER);\n")
    with pytest.raises(HistoryError, match="already exists"):
        open_for_writing(path, schema=schema)
    assert version(path) == LATER
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM log").fetchone() == (0,)


def test_a_step_that_breaks_references_is_refused(path: Path, schema: Path) -> None:
    sound_history(path, 1)
    with closing(open_for_writing(path)) as connection:
        connection.execute(
            "INSERT INTO requests (run, position, name, state, solution_type) VALUES (1, 0, 'r', 'pending', 'http')"
        )
    (schema / f"{LATER:04}.sql").write_text("DELETE FROM runs;\n")
    with pytest.raises(HistoryError, match="break references"):
        open_for_writing(path, schema=schema)
    assert version(path) == NOW
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (1,)


def test_a_script_that_ends_in_the_middle_is_refused() -> None:
    assert len(list(migrations.statements(LATER_STEP))) == 2
    assert list(migrations.statements("-- nothing\n")) == []
    with pytest.raises(ValueError, match="in the middle"):
        list(migrations.statements("CREATE TABLE x (\n"))


@pytest.mark.parametrize("moment", ["_copy", "_apply"])
def test_a_kill_half_way_leaves_the_old_version_usable(path: Path, schema: Path, moment: str) -> None:
    sound_history(path, 5)
    code = f"""
import os, signal, sqlite3
from pathlib import Path
from tui_eval.store import migrations
from tui_eval.store.opening import open_for_writing
def killed(*values):
    if {moment!r} == "_apply":
        for statement in migrations.statements(values[2]):
            values[0].execute(statement)
        values[0].execute("PRAGMA user_version = {LATER}")
    else:
        Path({str(path)!r} + ".before-{LATER:04}.unfinished").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
migrations.{moment} = killed
open_for_writing(Path({str(path)!r}), schema=Path({str(schema)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=30, check=False)
    assert done.returncode == -signal.SIGKILL
    with closing(open_for_writing(path)) as connection:  # the old program goes on
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (5,)
        assert migrations.version_of(connection) == NOW
    open_for_writing(path, schema=schema).close()  # and the new one can try again
    assert version(path) == LATER
    assert version(path.with_name(f"history.db.before-{LATER:04}")) == NOW
    assert not path.with_name(f"history.db.before-{LATER:04}.unfinished").exists()


def test_a_copy_that_fails_stops_the_step(path: Path, schema: Path) -> None:
    sound_history(path, 1)
    path.with_name(f"history.db.before-{LATER:04}.unfinished").mkdir()
    with pytest.raises(HistoryError, match="cannot be used"):
        open_for_writing(path, schema=schema)
    assert version(path) == NOW


def at_once(count: int, work: object) -> list[BaseException]:
    """Run ``work`` in several threads that start together; what they raised."""
    errors: list[BaseException] = []
    start = threading.Barrier(count)

    def run() -> None:
        start.wait()
        try:
            work()  # type: ignore[operator]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_several_at_once_make_one_history(path: Path) -> None:
    assert at_once(8, lambda: open_for_writing(path).close()) == []
    assert version(path) == NOW
    assert sorted(contents(path.parent)) == ["history.db"]


def test_several_at_once_bring_it_up_to_date_once(path: Path, schema: Path) -> None:
    sound_history(path, 20)
    assert at_once(6, lambda: open_for_writing(path, schema=schema).close()) == []
    assert version(path) == LATER
    assert version(path.with_name(f"history.db.before-{LATER:04}")) == NOW


@pytest.mark.parametrize("moment", ["_build", "replace"])
def test_a_kill_while_a_history_is_made_leaves_nothing_in_the_way(path: Path, moment: str) -> None:
    where = "migrations._build" if moment == "_build" else "os.replace"
    code = f"""
import os, signal
from pathlib import Path
from tui_eval.store import migrations
from tui_eval.store.opening import open_for_writing
def killed(*values):
    Path({str(path)!r} + ".new").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
{where} = killed
open_for_writing(Path({str(path)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=30, check=False)
    assert done.returncode == -signal.SIGKILL
    assert os.path.getsize(path) == 0
    sound_history(path, 1)
    assert sorted(contents(path.parent)) == ["history.db"]
