"""The application around the screens: going places, leaving, help, palette, toasts, themes, keys of one's own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.css.query import NoMatches
from textual.worker import WorkerFailed

from tests.support.histories import run_record, write_run
from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text, see
from tui_eval.display import safe
from tui_eval.tui import keys, routes, settings, theming
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.screens.dialogs import Choose, Confirm, Option, Prompt
from tui_eval.tui.widgets.line_table import LineTable

Make = Callable[..., TuiEvalApp]
SECTIONS = [name for name, route in routes.ROUTES.items() if route.section and routes.available(name)]


async def test_esc_goes_back_and_never_quits_and_q_does_at_the_first_screen(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await see(pilot, "completed")
        await pilot.press("enter")
        await see(pilot, "Tasks 14")
        await pilot.press("escape", "escape", "escape", "escape")
        assert len(app.screen_stack) == 1
        await pilot.press("comma")
        await see(pilot, "Settings")
        await pilot.press("q")
        assert len(app.screen_stack) == 1
        assert app.is_running
        await pilot.press("q")
    assert app.return_code == 0


@pytest.mark.parametrize("keys", [("ctrl+q",), ("ctrl+c", "ctrl+c")])
async def test_quitting_works_from_everywhere_also_from_a_question(make_app: Make, keys: tuple[str, ...]) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("T")
        await see(pilot, "Theme")
        await pilot.press(*keys)
    assert app.return_code == 0


@pytest.mark.parametrize("name", SECTIONS)
async def test_every_section_is_reached_and_left_by_its_key(make_app: Make, tmp_path: Path, name: str) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "There is no run")
        await pilot.press(
            {
                "home": "f2",
                "plans": "f3",
                "datasets": "f4",
                "solutions": "f5",
                "evaluators": "f6",
                "launch": "f7",
                "settings": "f8",
                "agentloop": "B",
            }[name]
        )
        await pilot.pause(0.2)
        assert getattr(app.screen, "route", "") == name
        for _ in range(4):
            await pilot.press("escape")
        assert len(app.screen_stack) == 1


async def test_help_shows_what_can_be_done_here_before_how_to_move_and_the_palette_finds_the_same(
    make_app: Make, tmp_path: Path
) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app()
    async with app.run_test(size=(100, 40), notifications=True) as pilot:
        await see(pilot, "completed")
        await pilot.press("question_mark")
        shown = await see(pilot, "Next row")
        assert "↓" in next(line for line in shown.split("\n") if "Next row" in line)
        assert shown.index("Change the tags") < shown.index("Next row")
        assert "enter open" not in shown
        await pilot.press("escape")
        await pilot.pause(0.2)
        await pilot.press("colon")
        await pilot.press(*"setti")
        await see(pilot, "Settings: theme")
        await pilot.press("enter")
        await see(pilot, "Kept in")


async def test_a_text_of_help_that_is_cut_is_read_below(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app()
    async with app.run_test(size=(60, 18), notifications=True) as pilot:
        await see(pilot, "completed")
        await pilot.press("question_mark")
        await see(pilot, "Home")
        await pilot.press("j")
        await see(pilot, keys_help("home.filter").split()[-1])


def keys_help(name: str) -> str:
    return next(key.help for group in keys.groups() for key in group.keys if key.id == name)


async def test_toasts_show_any_text_as_it_is(make_app: Make) -> None:
    app = make_app()
    async with app.run_test(size=(100, 40), notifications=True) as pilot:
        for text in (*MARKUP, *COMMANDS):
            app.notify(text, title=text)
            await pilot.pause()
            first = safe(text).split("\n")[0].replace("\t", " ")[:20]
            assert first.split(" ")[0] in screen_text(app)
            app.clear_notifications()
            await pilot.pause()


@pytest.mark.parametrize("text", [MARKUP[1], MARKUP[8], COMMANDS[0], COMMANDS[7]])
async def test_questions_show_any_text_as_it_is(make_app: Make, text: str) -> None:
    app = make_app()
    async with app.run_test(size=(100, 40), notifications=True) as pilot:
        for question in (Confirm(text, [text], calls=3), Choose(text, [Option("a", text, text)]), Prompt(text, text)):
            app.push_screen(question)
            await pilot.pause(0.1)
            shown = screen_text(app)
            assert safe(text).split("\n")[0].replace("\t", "    ")[:30] in shown
            assert "\x1b" not in shown
            await pilot.press("escape")


async def test_a_question_says_how_many_calls_it_makes_and_means_no_by_default(make_app: Make) -> None:
    app = make_app()
    answers: list[object] = []
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        app.push_screen(Confirm("Start?", calls=1200), answers.append)
        assert "1,200 calls" in await see(pilot, "Start?")
        await pilot.press("enter")
        app.push_screen(Confirm("Start?", calls=1), answers.append)
        await see(pilot, "1 call.")
        await pilot.press("y")
        app.push_screen(Prompt("Name", check=lambda text: "" if text == "ok" else "not that"), answers.append)
        await see(pilot, "Name")
        await pilot.press("x", "enter")
        await see(pilot, "not that")
        await pilot.press("backspace", "o", "k", "enter")
        await pilot.pause()
    assert answers == [False, True, "ok"]


async def test_a_theme_is_tried_while_choosing_and_kept_when_chosen(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test(size=(80, 30), notifications=True) as pilot:
        before = app.theme
        await pilot.press("T")
        await see(pilot, "Paper")
        await pilot.press("G")
        await pilot.pause()
        assert app.theme != before
        await pilot.press("escape")
        await pilot.pause()
        assert app.theme == before
        await pilot.pause(0.2)
        await pilot.press("T")
        await see(pilot, "Paper")
        await pilot.press("G", "enter")
        await pilot.pause()
    assert settings.read(tmp_path / "config.yaml")[0].theme == app.theme != before


async def test_an_unknown_theme_is_told_and_the_usual_one_is_used(make_app: Make) -> None:
    app = make_app(theme="[/b] nowhere")
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await see(pilot, "[/b] nowhere")


async def test_a_history_that_cannot_be_read_is_told(make_app: Make, tmp_path: Path) -> None:
    (tmp_path / "history.db").write_bytes(b"not a database " * 100)
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await see(pilot, "The history cannot be read")


@pytest.mark.parametrize("size", [(1, 1), (5, 3), (20, 5)])
async def test_tiny_terminals_end_nothing(make_app: Make, tmp_path: Path, size: tuple[int, int]) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app()
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause(0.3)
        await pilot.press("enter")
        await pilot.pause(0.3)
        await pilot.press("question_mark", "escape", "slash", "escape", "1", "2", "3")
        assert app.is_running


async def test_a_theme_of_the_user_is_drawn_anew_when_its_file_changes(make_app: Make, tmp_path: Path) -> None:
    folder = theming.user_folder()
    folder.mkdir(parents=True)
    ours = (theming.shipped_folder() / "dusk.yaml").read_text(encoding="utf-8")
    (folder / "mine.yaml").write_text(ours.replace("Dusk (dark)", "Mine [/b]"), encoding="utf-8")
    app = make_app(theme="mine")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "There is no run")
        assert app.theme == "mine"
        before = app.current_theme.primary
        (folder / "mine.yaml").write_text(ours.replace("#82a8dc", "#ff00ff"), encoding="utf-8")
        app._look_at_themes()
        assert app.current_theme.primary.lower() == "#ff00ff" != before
        (folder / "other.yaml").write_text("kind: [", encoding="utf-8")
        app._look_at_themes()
        await see(pilot, "other.yaml: this theme was left out")
        await pilot.press("T")
        await see(pilot, "Dusk")
        (folder / "mine.yaml").unlink()
        app._look_at_themes()
        assert app.theme == "mine"


async def test_keys_of_the_users_own_replace_ours_everywhere_they_are_shown(make_app: Make, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("keymap: {app.launch: f9, table.down: 'ctrl+n', no.such: x}\n")
    found, problems = settings.read(tmp_path / "config.yaml")
    assert problems == []
    await write_run(tmp_path / "history.db", run_record("first", time.time() - 60))
    await write_run(tmp_path / "history.db", run_record("second"))
    app = make_app(keymap=found.keymap)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        shown = await see(pilot, "no key with the id no.such")
        assert "f9 launch" in shown.lower()
        await pilot.press("ctrl+n")
        table = app.screen.query_one(LineTable)
        assert table.cursor == 1
        await pilot.press("k", "j")  # j is not ours any more
        assert table.cursor == 0
        await pilot.press("question_mark")
        assert "ctrl+n" in await see(pilot, "Next row")


async def test_an_answer_that_comes_after_its_screen_was_left_ends_nothing(make_app: Make) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "There is no run")
        app.open("settings")
        await see(pilot, "Settings")
        left = app.screen

        async def late() -> None:
            while left.query("#settings"):
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    break
            left.query_one("#nothing")

        left.run_worker(late())
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause(0.2)
        assert app.defect is None
        assert app.is_running


async def test_a_widget_that_is_not_there_is_a_defect_on_a_screen_in_use(make_app: Make) -> None:
    async def wrong() -> None:
        app.screen.query_one("#nothing")

    app = make_app()
    with pytest.raises(WorkerFailed):  # noqa: PT012
        async with app.run_test(size=(80, 24)) as pilot:
            app.screen.run_worker(wrong())
            await pilot.pause(0.2)
    assert isinstance(app.defect, NoMatches)
