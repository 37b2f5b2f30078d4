"""Histories as earlier programs wrote them: read, brought up to date at any pace, and gone on with."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.conftest import ROOT
from tests.store.records import finished, reading
from tests.store.samples.told import told
from tui_eval.domain import Outcome
from tui_eval.store.migrations import newest_version, steps
from tui_eval.store.opening import check_integrity, open_for_writing, open_read_only
from tui_eval.store.records import RunState
from tui_eval.store.writer import HistoryWriter

SAMPLES = Path(__file__).parent / "samples"
EARLIER = sorted(SAMPLES.glob("[0-9]*.db"))
KILLED = "20310406-120000-bbbb"


def sample(file: Path, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(file, path))


def test_every_earlier_version_has_its_sample() -> None:
    assert {int(file.stem) for file in EARLIER} >= set(steps()) - {newest_version()}


@pytest.mark.parametrize("file", EARLIER, ids=lambda file: file.stem)
def test_a_history_of_an_earlier_program_has_everything_that_was_in_it(file: Path, path: Path) -> None:
    sample(file, path)
    assert told(path) == json.loads(file.with_suffix(".json").read_text())
    assert check_integrity(path) == []
    connection = open_read_only(path)
    assert connection is not None
    assert connection.execute("PRAGMA user_version").fetchone() == (newest_version(),)
    connection.close()


@pytest.mark.parametrize("file", EARLIER, ids=lambda file: file.stem)
def test_one_brought_up_to_date_has_the_tables_of_a_new_one(file: Path, path: Path) -> None:
    sample(file, path)
    shapes = []
    for place in (path, path.with_name("new.db")):
        connection = open_for_writing(place)
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema ORDER BY name")]
        shapes.append(
            {name: connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall() for name in names}
        )
        connection.close()
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("file", EARLIER, ids=lambda file: file.stem)
async def test_a_run_that_an_earlier_program_left_unfinished_is_finished(file: Path, path: Path) -> None:
    sample(file, path)
    async with await HistoryWriter.open(path) as writer:
        run = await writer.adopt(KILLED)
        with reading(path) as history:
            (request,) = history.requests(run)
            queued = history.queued(request.id)
        assert len(queued) == 5
        for one in queued:
            writer.finished(finished(one.id, request.id, Outcome.PASSED))
        await writer.set_run_state(run.id, RunState.COMPLETED)
        assert writer.counters(request.id).finished == 8
    assert check_integrity(path) == []


INTERRUPTED = """
import os, shutil, signal, sqlite3, sys
from pathlib import Path

sample, folder, schema = map(Path, sys.argv[1:])

def steps_until_killed(path, allowed):
    class Counting(sqlite3.Connection):
        def execute(self, sql, *values):
            count()
            return super().execute(sql, *values)
        def backup(self, *values, **options):
            count()
            return super().backup(*values, **options)
    made = 0
    def count():
        nonlocal made
        if made == allowed:
            os.kill(os.getpid(), signal.SIGKILL)
        made += 1
    real_connect, real_replace = sqlite3.connect, os.replace
    sqlite3.connect = lambda *values, **options: real_connect(*values, **options, factory=Counting)
    def replace(*values):
        count()
        real_replace(*values)
        count()
    os.replace = replace
    from tui_eval.store.opening import open_for_writing
    open_for_writing(path, schema=schema).close()

from tui_eval.store.opening import check_integrity, open_for_writing, open_read_only
from tui_eval.store.migrations import newest_version, version_of
newest = newest_version(schema)
moment = 0
while True:
    path = folder / f"at-{moment}" / "history.db"
    path.parent.mkdir()
    shutil.copy(sample, path)
    child = os.fork()
    if not child:
        steps_until_killed(path, moment)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    with sqlite3.connect(path) as looking:
        version = version_of(looking)
        assert looking.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert looking.execute("SELECT count(*) FROM tasks").fetchone() == (16,), moment
    looking.close()
    again = open_for_writing(path, schema=schema)
    assert version_of(again) == newest
    assert again.execute("SELECT count(*) FROM tasks").fetchone() == (16,), moment
    again.close()
    kept = {file.name for file in path.parent.iterdir()}
    assert kept <= {"history.db", *(f"history.db.before-{number:04}" for number in range(2, newest + 1))}, kept
    print(moment, version)
    if status == 0:
        break
    assert os.WTERMSIG(status) == 9, status
    moment += 1
"""


def test_bringing_one_up_to_date_can_be_killed_at_any_point(tmp_path: Path) -> None:
    """At each statement, the copy and each change of a name: the version before or a later one, whole, never less."""
    schema = tmp_path / "schema"
    schema.mkdir()
    for number, script in steps().items():
        (schema / f"{number:04}.sql").write_text(script)
    last = newest_version() + 1
    (schema / f"{last:04}.sql").write_text(
        "ALTER TABLE runs ADD COLUMN x TEXT;\nUPDATE runs SET x = 1;\nCREATE TABLE y (z);\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(EARLIER[0]), str(tmp_path), str(schema)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    versions = [int(line.split()[1]) for line in done.stdout.splitlines()]
    assert versions == sorted(versions)
    assert set(versions) == {1, *range(2, last + 1)}
    assert len(versions) > 15
