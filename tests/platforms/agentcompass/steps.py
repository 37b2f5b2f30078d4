"""Steps that people take at the pages of an orchestration."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot

from tests.support.screen_text import see, until
from tui_eval.tui.screens.agentcompass import CompassScreen
from tui_eval.tui.widgets.form import Form

PATIENCE = 30.0  # seconds, on a machine that does other things


async def page(pilot: Pilot[Any]) -> CompassScreen:
    """The page of an orchestration, once everything about it is known."""

    def ready() -> bool:
        screen = pilot.app.screen
        return isinstance(screen, CompassScreen) and screen._examined is not None and screen._installed is not None

    await until(pilot, ready, PATIENCE)
    screen = pilot.app.screen
    assert isinstance(screen, CompassScreen)
    return screen


async def launch_page(pilot: Pilot[Any]) -> CompassScreen:
    """From the first screen to the orchestration of the workspace, the last of the list."""
    await pilot.press("L")
    await see(pilot, "orchestration.ya", PATIENCE)
    await pilot.press("G", "enter")
    return await page(pilot)


async def form(pilot: Pilot[Any]) -> Form:
    await until(pilot, lambda: pilot.app.screen.query(Form), PATIENCE)
    return pilot.app.screen.query_one(Form)


async def typed(pilot: Pilot[Any], text: str) -> None:
    await pilot.press(*("space" if key == " " else key for key in text))


async def start(pilot: Pilot[Any]) -> None:
    """From the page of an orchestration that can be started to its run."""
    await see(pilot, "ready to start", PATIENCE)
    await pilot.press("r")
    await see(pilot, "Start orchestration.yaml?")
    await pilot.press("y")


async def save(pilot: Pilot[Any]) -> None:
    """Save the orchestration under the name that is offered; a question may follow."""
    await pilot.press("w")
    await see(pilot, "Save as")
    await pilot.press("enter")
