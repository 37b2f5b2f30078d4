"""The lines that frame a screen: what one comes for stands first in the line of keys, nothing is cut that need not be."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.histories import run_record, write_run
from tests.support.screen_text import see
from tui_eval.demo.samples import samples_folder
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.projections.agentloop import ago
from tui_eval.tui.screens.dialogs import Choose, Option
from tui_eval.tui.screens.help import help_rows
from tui_eval.tui.widgets.panels import with_aside

Make = Callable[..., TuiEvalApp]
TITLES = ("Plans 15", "Requests 1", "Variables 1", "File")


@pytest.mark.parametrize(
    ("width", "gap", "aside"),
    [
        (100, " │ ", "B AgentLoop 12, 3 h ago"),
        (74, "  ", "B AgentLoop 12, 3 h ago"),
        (70, " │ ", "B AgentLoop 12"),
        (67, " │ ", "B AgentLoop 12"),
        (58, " │ ", "B 12"),
        (51, " ", "B 12"),
        (48, "  ", ""),
    ],
)
def test_what_stands_aside_is_shortened_before_a_count_is_left_out(width: int, gap: str, aside: str) -> None:
    assert with_aside(TITLES, 0, "B AgentLoop 12, 3 h ago", width) == (TITLES, gap, aside)


@pytest.mark.parametrize(
    ("steps", "first"),
    [
        ({}, "enter open  L launch  P plans"),
        ({"enter": "capital-000"}, "enter open  R re-run failed…  r re-run this"),
        ({"enter": "capital-000", "3": "how many"}, "enter its tasks  R re-run failed…"),
        ({"enter": "capital-000", "5": "what happened"}, "enter whole line"),
        ({"enter": "capital-000", "G": "", "enter ": "Attempts"}, "n next  p previous  r re-run  y copy"),
        ({"P": "✓ valid"}, "enter open  L launch  e edit"),
        ({"P": "✓ valid", "L": "ready to start"}, "r start  enter open  e settings  a all settings  w save"),
        ({"D": "quickstart"}, "enter open  t sample  c check"),
        ({"O": "in plan"}, "enter open  t try  n new"),
    ],
    ids=["home", "run", "failures", "log", "task", "plans", "pre-flight", "datasets", "solutions"],
)
async def test_what_a_screen_is_for_stands_first_in_the_line_of_keys(
    make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: dict[str, str], first: str
) -> None:
    monkeypatch.setenv("DEMO_AGENT_URL", "http://127.0.0.1:9")
    await write_run(tmp_path / "history.db", run_record("plan"))
    (tmp_path / "data").mkdir()
    for name in ("http-json.yaml", "data/quickstart.jsonl"):
        shutil.copy(samples_folder() / name, tmp_path / name)
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await see(pilot, "completed")
        for key, awaited in steps.items():
            await pilot.press(key.strip())
            await see(pilot, awaited)
        await see(pilot, first)


async def test_help_has_one_line_for_numbered_keys(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record("plan"))
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await see(pilot, "completed")
        rows = [tuple(cell if isinstance(cell, str) else cell.text for cell in row.cells) for row in help_rows(app.screen)]  # type: ignore[union-attr]  # fmt: skip
        assert ("1 … 5", "Go to panel 1 to 5") in rows
        assert not any(text == "Go to panel 2" for _, text in rows)


async def test_the_remark_on_a_setting_is_read_in_full_below_the_table(make_app: Make) -> None:
    app = make_app()
    async with app.run_test(size=(60, 18)) as pilot:
        await pilot.press("comma")
        await see(pilot, "theme: changes at once; T chooses it anywhere")
        await pilot.press("j")
        await see(pilot, "mouse: automatic means off over SSH")
        await see(pilot, "enter change")


async def test_help_has_room_for_keys_on_a_short_screen_too(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record("plan"))
    app = make_app()
    async with app.run_test(size=(60, 18)) as pilot:
        await see(pilot, "completed")
        await pilot.press("question_mark")
        shown = await see(pilot, "Every run of the history")  # what the screen is for, below its title
        assert "Change the note of this run" in shown
        await pilot.press("j")
        await see(pilot, "turns one around")  # all of a text that the table cuts


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3, "just now"), (40, "40 s ago"), (1119, "18 min ago"), (5 * 3600 + 9, "5 h ago"), (200_000, "2 days ago")],
)
def test_how_long_ago_something_was_is_said_in_one_unit(seconds: float, text: str) -> None:
    assert ago(seconds) == text


@pytest.mark.parametrize("size", [(60, 18), (80, 24)])
async def test_every_choice_of_a_long_list_is_seen_with_its_whole_remark(make_app: Make, size: tuple[int, int]) -> None:
    app = make_app()
    remark = "a remark that is longer than its place in the list, up to its END"
    async with app.run_test(size=size) as pilot:
        await see(pilot, "There is no run")
        app.push_screen(Choose("Which?", [Option(f"v{each}", f"choice {each:02}", remark) for each in range(30)]))
        await see(pilot, "choice 00")
        await pilot.press("G")
        shown = await see(pilot, "choice 29")
        assert "choice 00" not in shown
        await see(pilot, "END")
        await pilot.press("g")
        await see(pilot, "choice 00")
