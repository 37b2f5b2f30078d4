"""Keys typed in one go, faster than questions and screens appear: each means what it would mean typed slowly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.support.histories import run_record, write_run
from tests.support.screen_text import screen_text, see, until
from tui_eval.store.reader import History
from tui_eval.tui import type_ahead
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.screens.dialogs import Prompt
from tui_eval.tui.screens.home import HomeScreen
from tui_eval.tui.type_ahead import asks

Make = Callable[..., TuiEvalApp]


def type_at_once(app: TuiEvalApp, *keys: str) -> None:
    """Put keys into the queue of the terminal, without waiting for any."""
    for key in keys:
        app.simulate_key(key)


async def test_an_answer_typed_before_its_question_appears_goes_to_the_question(make_app: Make, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    await write_run(path, run_record("goes"))
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await see(pilot, "completed")
        type_at_once(app, "d", "y")
        await see(pilot, "There is no run")
    with History(path) as history:
        assert history.runs(limit=10) == []


async def test_keys_for_the_second_of_two_questions_never_reach_the_screen_below(
    make_app: Make, tmp_path: Path
) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app("last")
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await see(pilot, "capital-000")
        # On the screen below, n asks for a note: the first one is the answer to the second question.
        type_at_once(app, "R", "enter", "n", "n", "x", "d")
        await see(pilot, "Note on")
        await until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == "xd")
        type_at_once(app, "enter")
        await until(pilot, lambda: len(app.screen_stack) == 2)
    with History(tmp_path / "history.db") as history:
        assert history.run("last").note == "xd"


async def test_a_key_typed_with_the_number_of_a_panel_is_that_panels(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app("last")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "capital-000")
        type_at_once(app, "1", "3", "enter")
        await see(pilot, "only ✗ failed")


async def test_a_key_typed_with_the_one_that_opens_a_screen_is_that_screens(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app()
    async with app.run_test(size=(100, 24), notifications=True) as pilot:
        await see(pilot, "completed")
        type_at_once(app, "enter", "slash", "z", "z")
        await see(pilot, "No task matches")
        focused = app.focused
        assert isinstance(focused, Input)
        assert focused.value == "zz"


class SlowHome(HomeScreen):
    """A screen whose question takes as long as a test wants."""

    asked_slowly = False
    answer: str | None = None

    @asks("change")
    async def action_note(self) -> None:
        SlowHome.asked_slowly = True
        await slow_question.wait()
        SlowHome.answer = await self.app.push_screen_wait(Prompt("Slow question"))


class AskingHome(HomeScreen):
    """A screen with an action that asks at once."""

    answer: str | None = None

    @asks("change")
    async def action_note(self) -> None:
        AskingHome.answer = await self.app.push_screen_wait(Prompt("Quick question"))


async def test_an_answer_is_taken_where_tasks_begin_before_they_are_known(
    make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Textual runs an application with eager tasks where Python has them (3.12 and later), tests without."""
    asyncio.get_running_loop().set_task_factory(getattr(asyncio, "eager_task_factory", None))
    await write_run(tmp_path / "history.db", run_record())
    app = make_app()
    monkeypatch.setattr(app, "get_default_screen", AskingHome)
    async with app.run_test(size=(100, 24), notifications=True) as pilot:
        await see(pilot, "completed")
        type_at_once(app, "n")
        await see(pilot, "Quick question")
        type_at_once(app, "x", "enter")
        await until(pilot, lambda: AskingHome.answer == "x")


slow_question = asyncio.Event()


@pytest.fixture
def slow_app(make_app: Make, monkeypatch: pytest.MonkeyPatch) -> TuiEvalApp:
    global slow_question
    slow_question = asyncio.Event()
    SlowHome.asked_slowly, SlowHome.answer = False, None
    app = make_app()
    monkeypatch.setattr(app, "get_default_screen", SlowHome)
    return app


async def test_keys_wait_for_a_question_that_takes_its_time(slow_app: TuiEvalApp, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    async with slow_app.run_test(size=(100, 24), notifications=True) as pilot:
        await see(pilot, "completed")
        type_at_once(slow_app, "n", "d", "q", "enter")
        await until(pilot, lambda: SlowHome.asked_slowly and slow_app.type_ahead.waiting == 3)
        assert SlowHome.answer is None
        slow_question.set()
        await until(pilot, lambda: SlowHome.answer is not None)
        assert SlowHome.answer == "dq"


async def test_keys_for_a_question_that_does_not_come_are_dropped_and_the_next_ones_work(
    slow_app: TuiEvalApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type_ahead, "PATIENCE", 0.3)
    await write_run(tmp_path / "history.db", run_record())
    async with slow_app.run_test(size=(100, 24), notifications=True) as pilot:
        await see(pilot, "completed")
        type_at_once(slow_app, "n", "d")
        await until(pilot, lambda: SlowHome.asked_slowly and not slow_app.type_ahead.waiting)
        type_at_once(slow_app, "slash")
        await until(pilot, lambda: isinstance(slow_app.focused, Input))
        assert "Delete" not in screen_text(slow_app)


async def test_quitting_waits_for_nothing(slow_app: TuiEvalApp, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    async with slow_app.run_test(size=(100, 24), notifications=True) as pilot:
        await see(pilot, "completed")
        type_at_once(slow_app, "n", "d", "ctrl+q")
        await until(pilot, lambda: not slow_app.is_running)
    assert slow_app.return_code == 0
