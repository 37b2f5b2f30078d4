"""Deleting runs, tags and notes, giving space back, and a copy of the whole."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.conftest import ROOT
from tests.store.files import ended
from tests.store.records import finished, planned, reading
from tui_eval.errors import HistoryError, UsageError
from tui_eval.store import upkeep
from tui_eval.store.command_box import give, wait_taken
from tui_eval.store.opening import check_integrity
from tui_eval.store.place import log_path
from tui_eval.store.reader import History
from tui_eval.store.upkeep import backup, delete_run, set_note, set_pinned, set_tags, vacuum
from tui_eval.store.writer import HistoryWriter


def counts(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        tables = ("runs", "requests", "cases", "tasks", "attempts", "scores", "payloads", "activity", "commands", "log")
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}


async def test_a_deleted_run_leaves_nothing_behind(path: Path) -> None:
    await ended(path, "one", 2100)
    delete_run(path, "one")
    assert set(counts(path).values()) == {0}


async def test_what_other_runs_use_stays(path: Path) -> None:
    await ended(path, "one")
    await ended(path, "two")
    delete_run(path, "one")
    assert counts(path)["cases"] == counts(path)["tasks"] == counts(path)["payloads"] == 3
    with reading(path) as history:
        assert len(history.runs()) == 1
        task = history.tasks(history.run("two"))[0]
        assert history.case(task.case_key)
        assert history.attempts(task.id, payloads=True)[0].payload is not None
    assert check_integrity(path) == []


async def test_a_live_or_pinned_or_unknown_run_is_not_deleted(path: Path) -> None:
    await ended(path, "pinned")
    set_pinned(path, "pinned", True)
    async with await HistoryWriter.open(path) as writer:
        await planned(writer, 1, "live")
        for run_id, word in (("live", "running"), ("pinned", "unpin"), ("unknown", "no run")):
            with pytest.raises(UsageError, match=word):
                delete_run(path, run_id)
    set_pinned(path, "pinned", False)
    delete_run(path, "pinned")


async def test_a_deletion_cut_short_can_be_done_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await ended(path, "one", 2500)
    real = upkeep._delete_some
    done = iter([True])

    def once(*values: object) -> bool:
        next(done)
        return real(*values)  # type: ignore[arg-type]

    monkeypatch.setattr(upkeep, "_delete_some", once)
    with pytest.raises(StopIteration):
        delete_run(path, "one")
    monkeypatch.undo()
    with reading(path) as history:
        assert "delete it again" in history.run("one").error
    delete_run(path, "one")
    assert set(counts(path).values()) == {0}


async def test_tags_and_a_note_can_be_changed(path: Path) -> None:
    await ended(path, "one")
    set_tags(path, "one", ["b", " a ", "b", "", "评测"])
    set_note(path, "last", "looks\nfine \udc80")
    with reading(path) as history:
        run = history.run("one")
        assert run.tags == ["b", "a", "评测"]
        assert run.note == "looks\nfine \\udc80"
        assert len(history.runs(tag="a")) == 1


def test_where_there_is_no_history_none_is_made(path: Path) -> None:
    for change in (lambda: set_note(path, "one", "x"), lambda: give(path, "one", "pause", {}, "me")):
        with pytest.raises(UsageError, match="does not exist"):
            change()
    assert not path.exists()


async def test_a_viewer_asks_and_the_runner_answers(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        run, _ = await planned(writer, 1, "one")
        first = await asyncio.to_thread(give, path, "one", "set_concurrency", {"value": 3}, "me@here 7")
        second = await asyncio.to_thread(give, path, "on", "cancel_run", {}, "me@here 7")
        assert wait_taken(path, first, 0.0) is None
        taken = await writer.commands(run.id)
        assert [(one.id, one.kind, one.arguments) for one in taken] == [
            (first, "set_concurrency", {"value": 3}),
            (second, "cancel_run", {}),
        ]
        assert taken[0].given_by == "me@here 7"
        assert abs(taken[0].given_at - time.time()) < 60
        assert await writer.commands(run.id) == []
        waiting = asyncio.create_task(asyncio.to_thread(wait_taken, path, first, 5.0))
        await writer.answer(first, "now 3")
        assert await waiting == "now 3"
        with reading(path) as history:
            assert [(one.answer, one.taken_at is None) for one in history.commands(run)] == [
                ("now 3", False),
                ("", True),
            ]


async def test_what_nobody_would_obey_is_refused(path: Path) -> None:
    await ended(path, "one")
    with pytest.raises(UsageError, match="completed"):
        give(path, "one", "pause", {}, "me")
    with pytest.raises(UsageError, match="explode"):
        give(path, "one", "explode", {}, "me")
    with pytest.raises(UsageError, match="no run"):
        give(path, "two", "pause", {}, "me")
    assert counts(path)["commands"] == 0


async def test_a_backup_is_the_whole_history_as_of_one_moment(path: Path, tmp_path: Path) -> None:
    await ended(path, "one", 50)
    target = tmp_path / "copy.db"
    async with await HistoryWriter.open(path) as writer:
        _, request = await planned(writer, 500, "live")
        with reading(path) as history:
            keys = [one.id for one in history.queued(request, limit=500)]
        copying = asyncio.create_task(asyncio.to_thread(backup, path, target))
        for key in keys:
            writer.finished(finished(key, request))
            await asyncio.sleep(0.0005)
        size = await copying
    assert size == target.stat().st_size
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy.db", "data"]
    assert check_integrity(target) == []
    with reading(target) as history:
        assert [overview.run.run_id for overview in history.runs()] == ["live", "one"]
        assert history.runs()[1].counters.passed == 50


async def test_a_backup_replaces_nothing_and_leaves_nothing_half_made(path: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(UsageError, match="no history"):
        backup(path, tmp_path / "copy.db")
    await ended(path, "one")
    with pytest.raises(UsageError, match="there already"):
        backup(path, taken)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="there already"):
        backup(path, tmp_path / "link")
    with pytest.raises(HistoryError, match="No such file"):
        backup(path, tmp_path / "no" / "copy.db")
    assert taken.read_text() == "mine"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data", "link", "taken"]


async def test_a_backup_that_finds_no_room_is_taken_away_again(path: Path, tmp_path: Path) -> None:
    await ended(path, "one", 400)
    code = f"""
import resource
from pathlib import Path
from tui_eval.errors import HistoryError
from tui_eval.store.upkeep import backup
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    backup(Path({str(path)!r}), Path({str(tmp_path / "copy.db")!r}))
except HistoryError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "copy.db" in done.stdout, done.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data"]


async def test_vacuum_gives_the_space_of_deleted_runs_back(path: Path) -> None:
    await ended(path, "one", 2000)
    await ended(path, "two", 20)
    delete_run(path, "one")
    watcher = History(path)
    before, after = vacuum(path)
    assert after < before / 3
    assert path.stat().st_size == after
    assert [overview.run.run_id for overview in watcher.runs()] == ["two"]
    watcher.close()
    assert check_integrity(path) == []


async def test_vacuum_waits_for_no_live_run(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        await planned(writer, 1, "live")
        with pytest.raises(UsageError, match="live is live"):
            vacuum(path)
    with pytest.raises(UsageError, match="no history"):
        vacuum(path.with_name("other.db"))


async def test_vacuum_needs_room(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await ended(path, "one")
    monkeypatch.setattr(upkeep.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 0))  # type: ignore[attr-defined]
    with pytest.raises(HistoryError, match="free space"):
        vacuum(path)


async def test_a_deleted_run_takes_its_log_with_it(path: Path) -> None:
    await ended(path, "one")
    log = log_path(path, "one")
    log.parent.mkdir()
    log.write_text("told")
    delete_run(path, "one")
    assert not log.exists()
