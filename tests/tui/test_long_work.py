"""Long work: beside the keys, told where one is, stopped with a key, and never reading code from a workspace."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.histories import finished_history, many_tasks
from tests.support.screen_text import screen_text, see
from tui_eval.errors import TuiEvalError
from tui_eval.store import upkeep
from tui_eval.store.reader import History
from tui_eval.tui import exporting, runs_reading
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.child_command import started
from tui_eval.tui.long_work import Tell

Make = Callable[..., TuiEvalApp]


async def test_work_is_told_on_every_screen_and_stopped_with_a_key(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    ended = asyncio.Event()

    async def work(tell: Tell) -> None:
        tell("3 of 20")
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "There is no run")
        app.long_work.start("deleting", work)
        await see(pilot, "deleting 3 of 20 (ctrl+g stops)")
        await pilot.press("comma")
        await see(pilot, "Settings")
        assert "deleting 3 of 20" in screen_text(app)
        await pilot.press("ctrl+g")
        await see(pilot, "Stopped: deleting 3 of 20")
        assert ended.is_set()
        await pilot.press("ctrl+g")
        await see(pilot, "Nothing is being written or deleted.")


async def test_short_work_leaves_the_title_alone_and_what_goes_wrong_is_said(make_app: Make) -> None:
    app = make_app()

    async def work(tell: Tell) -> None:
        tell("now")
        raise TuiEvalError("the disk is full of [/b]")

    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "There is no run")
        app.long_work.start("writing", work)
        shown = await see(pilot, "the disk is full of [/b]")
        assert "(ctrl+g stops)" not in shown
        assert not app.long_work.text


async def test_a_deletion_that_is_stopped_leaves_what_was_not_reached(
    make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.db"
    run = await many_tasks(path, 10_000)
    forget = upkeep.forget

    def slowly(connection: sqlite3.Connection, tasks: list[int]) -> None:
        time.sleep(0.01)  # 50 s in all, unless it is stopped
        forget(connection, tasks)

    monkeypatch.setattr(upkeep, "_CHUNK", 2)
    monkeypatch.setattr(upkeep, "forget", slowly)
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "large")
        await pilot.press("d")
        await see(pilot, "Delete 1 run?")
        await pilot.press("y", "ctrl+g")
        await see(pilot, "Stopped: deleting")
        with History(path) as history:
            assert 0 < len(history.task_keys(history.run(run.run_id))) < 10_000
        monkeypatch.setattr(upkeep, "_CHUNK", 1000)
        await pilot.press("d")
        await see(pilot, "Delete 1 run?")
        await pilot.press("y")
        await see(pilot, "There is no run", 20)


def test_a_workspace_with_files_named_like_modules_has_none_of_them_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "sqlite3", "yaml", "tui_eval"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')")
    history = tmp_path / "data" / "history.db"
    (run,) = finished_history(history)
    monkeypatch.chdir(tmp_path)

    async def both() -> None:
        target = str(tmp_path / "out.md")
        arguments = ("export", run.run_id, "--format", "md", "--output", target, "--history", str(history))
        await exporting.run_quietly(*arguments)
        await runs_reading.update_index(history)

    asyncio.run(both())
    assert (tmp_path / "out.md").is_file()
    assert (tmp_path / "data" / "history.db.search").is_file()
    assert not (tmp_path / "executed").exists()


async def test_how_much_of_an_export_is_written_is_told_and_what_goes_wrong_said_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = (
        "import sys, time\n"
        "for done in (0, 17, 40): print(done, 'of 40 tasks', file=sys.stderr, flush=True)\n"
        "sys.exit('the disk is full\\nafter 40 of 40 tasks and more')\n"
    )
    monkeypatch.setattr(exporting, "program", lambda: [sys.executable, "-c", script])
    told: list[str] = []
    with pytest.raises(TuiEvalError) as raised:
        await exporting.run_quietly("export", tell=told.append)
    assert told == ["0 %", "42 %", "100 %"]
    assert str(raised.value) == "the disk is full\nafter 40 of 40 tasks and more"


async def test_a_run_is_exported_with_its_progress_in_the_title_bar(make_app: Make, tmp_path: Path) -> None:
    await many_tasks(tmp_path / "history.db", 20_000)
    app = make_app("last")
    shown: set[str] = set()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "20,000")
        await pilot.press("e")
        await see(pilot, "Export")
        await pilot.press("j", "enter")
        await see(pilot, "Write to file")
        await pilot.press("enter")
        end = time.monotonic() + 60
        while "Written" not in screen_text(app):
            assert time.monotonic() < end
            shown |= set(re.findall(r"writing \d+ % \(ctrl\+g stops\)", screen_text(app)))
            await pilot.pause(0.05)
    assert shown


async def test_a_process_that_is_given_up_while_it_starts_is_not_left_behind(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"import time, pathlib; time.sleep(1); pathlib.Path({str(mark)!r}).touch()"
    starting = asyncio.ensure_future(started(sys.executable, "-c", script))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await asyncio.sleep(1.5)
    assert not mark.exists()


async def test_work_that_ends_while_the_screens_are_left_ends_nothing(make_app: Make) -> None:
    app = make_app()
    tells: list[Tell] = []

    async def work(tell: Tell) -> None:
        tells.append(tell)
        await asyncio.sleep(60)

    async with app.run_test(size=(80, 24)) as pilot:
        await see(pilot, "There is no run")
        app.long_work.start("writing", work)
        await pilot.pause()
        await pilot.press("ctrl+q")
    (tell,) = tells
    tell("19 of 20")  # by a thread that was still at it
    assert app.return_code == 0


async def test_how_much_of_a_large_run_is_deleted_is_told_in_the_title_bar(
    make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.db"
    await many_tasks(path, 400)
    forget = upkeep.forget

    def slowly(connection: sqlite3.Connection, tasks: list[int]) -> None:
        time.sleep(0.02)  # 4 s in all
        forget(connection, tasks)

    monkeypatch.setattr(upkeep, "_CHUNK", 2)
    monkeypatch.setattr(upkeep, "forget", slowly)
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "large")
        await pilot.press("d")
        await see(pilot, "Delete 1 run?")
        await pilot.press("y")
        shares = set()
        for _ in range(3000):
            if found := re.search(r"deleting (\d+) % \(ctrl\+g stops\)", screen_text(app)):
                shares.add(int(found[1]))
            if len(shares) > 1 or not app.long_work._running:
                break
            await pilot.pause(0.02)
        assert len(shares) > 1
        await see(pilot, "0 runs", 60)


def test_a_deletion_tells_how_far_it_is_after_every_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = asyncio.run(many_tasks(tmp_path / "history.db", 25))
    monkeypatch.setattr(upkeep, "_CHUNK", 10)
    told: list[tuple[int, int]] = []
    assert upkeep.delete_run(tmp_path / "history.db", run.run_id, tell=lambda *how_far: told.append(how_far))
    assert told == [(10, 25), (20, 25), (25, 25)]
