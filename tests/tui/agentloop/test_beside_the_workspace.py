"""AgentLoop's plans, datasets and evaluators beside those of the workspace: one key there and back, and a filter."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.platforms.agentloop.fake import KEY, SECRET, FakePlatform
from tests.support.screen_text import screen_text, see
from tests.tui.agentloop.steps import PATIENCE, Make, place_of, plans_of_the_platform
from tui_eval.tui import platform_aside
from tui_eval.tui.agentloop_reading import Where, ask, keep_where
from tui_eval.tui.widgets.panels import PanelTabs


async def _listed(history: Path, fake: FakePlatform) -> None:
    """What the platform has is in the history, and nobody has an access key."""
    where = Where(place_of(fake), "demo-space")
    keep_where(history, where)
    for name in ("plans", "datasets", "evaluators"):
        await asyncio.to_thread(ask, history, name, where, {"AGENTLOOP_AK": KEY, "AGENTLOOP_SK": SECRET})


@pytest.mark.parametrize(
    ("key", "list_name", "there"),
    [("P", "plans", "Demo plan"), ("D", "datasets", "arith_ds"), ("E", "evaluators", "Builtin.agent_correctness")],
)
async def test_the_platforms_things_are_one_key_away_from_those_of_the_workspace(
    make_app: Make, tmp_path: Path, fake: FakePlatform, key: str, list_name: str, there: str
) -> None:
    await _listed(tmp_path / "history.db", fake)
    count = 2 if list_name == "plans" else 1
    asked = len(fake.asked)
    app = make_app()
    async with app.run_test(size=(110, 32), notifications=True) as pilot:
        await pilot.press(key)
        await see(pilot, f"B AgentLoop {count}, just now", PATIENCE)
        await pilot.press("B")
        page = await see(pilot, there, PATIENCE)
        assert app.focused is not None
        assert app.focused.id == list_name
        assert f"{list_name.capitalize()} › AgentLoop" in page.splitlines()[0]
        await pilot.press("B")
        await see(pilot, f"B AgentLoop {count}", PATIENCE)
        assert "› AgentLoop" not in screen_text(app).splitlines()[0]
    assert len(fake.asked) == asked, "a look at what is kept asks nothing"


async def test_the_list_that_is_open_already_turns_to_what_one_comes_from(
    make_app: Make, tmp_path: Path, fake: FakePlatform
) -> None:
    await _listed(tmp_path / "history.db", fake)
    app = make_app()
    async with plans_of_the_platform(app, (110, 32)) as pilot:
        await pilot.press("D")
        await see(pilot, "B AgentLoop 1", PATIENCE)
        await pilot.press("B")
        await see(pilot, "arith_ds", PATIENCE)
        assert app.focused is not None
        assert app.focused.id == "datasets"


async def test_who_has_never_been_there_sees_nothing_of_it(make_app: Make) -> None:
    app = make_app()
    async with app.run_test(size=(110, 32), notifications=True) as pilot:
        for key in "PDE":
            await pilot.press(key)
            page = await see(pilot, "filter", PATIENCE)
            assert "AgentLoop" not in page


def test_nothing_of_the_platform_is_imported_for_a_look_aside(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tui_eval.tui import platform_aside\n"
        "import tui_eval.tui.screens.plans, tui_eval.tui.screens.datasets, tui_eval.tui.screens.evaluators\n"
        f"assert platform_aside.text(Path({str(tmp_path / 'none.db')!r}), 'plans') == ''\n"
        "print([name for name in sys.modules if 'agentloop' in name or name == 'httpx'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_region_in_the_environment_is_reason_enough_to_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUI_EVAL_AGENTLOOP_REGION", "cn-hangzhou")
    assert platform_aside.text(tmp_path / "none.db", "plans") == "B AgentLoop"


async def test_the_lists_of_the_platform_are_filtered_as_every_list(
    make_app: Make, tmp_path: Path, fake: FakePlatform
) -> None:
    await _listed(tmp_path / "history.db", fake)
    app = make_app()
    async with plans_of_the_platform(app, (100, 30)) as pilot:
        await pilot.press("slash", *"!online")
        page = await see(pilot, "1 of 2", PATIENCE)
        assert "Live" not in page
        await pilot.press("enter", "escape")
        await see(pilot, "Live", PATIENCE)
        await pilot.press("slash", *"nothing-like-it", "enter")
        await see(pilot, "None of the plans matches", PATIENCE)


@pytest.mark.parametrize(
    ("width", "said"), [(120, "B AgentLoop 2, just now"), (64, "B AgentLoop 2"), (50, "B 2"), (46, "")]
)
async def test_what_is_elsewhere_takes_only_the_room_that_is_left(
    make_app: Make, tmp_path: Path, fake: FakePlatform, width: int, said: str
) -> None:
    await _listed(tmp_path / "history.db", fake)
    app = make_app()
    async with app.run_test(size=(width, 24), notifications=True) as pilot:
        await pilot.press("P")
        tabs = app.screen.query_one(PanelTabs)
        while not tabs.aside:
            await pilot.pause(0.02)
        await see(pilot, said or "4 File", PATIENCE)
        line = screen_text(app).splitlines()[1].rstrip()
        assert line.endswith(said or "4 File"), line
