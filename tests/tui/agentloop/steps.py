"""Steps that people take at AgentLoop's screens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tests.platforms.agentloop.fake import FakePlatform
from tests.support.screen_text import see
from tests.tui.launching import checked
from tui_eval.tui.agentloop_reading import Place
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.launch_draft import draft_of_file
from tui_eval.tui.screens.launch_review import ReviewScreen

Make = Callable[..., TuiEvalApp]
PATIENCE = 60.0  # seconds, on a machine that does other things


def place_of(fake: FakePlatform) -> Place:
    return Place(region_id="cn-hangzhou", custom_agentloop_endpoint=fake.url, custom_sls_endpoint=fake.url)


@asynccontextmanager
async def plans_of_the_platform(
    app: TuiEvalApp, size: tuple[int, int] = (110, 40), first: str = "Demo plan"
) -> AsyncIterator[Pilot[Any]]:
    """AgentLoop's screen, once its lists are there; ``first`` is a text to wait for."""
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.press("B")
        await see(pilot, first, PATIENCE)
        yield pilot


@asynccontextmanager
async def page_of(app: TuiEvalApp, plan: Path, size: tuple[int, int] = (110, 40)) -> AsyncIterator[Pilot[Any]]:
    """The pre-flight page of a plan file, checked."""
    async with app.run_test(size=size, notifications=True) as pilot:
        app.push_screen(ReviewScreen(draft_of_file(plan)))
        await checked(pilot)
        yield pilot


async def choose_evaluator(pilot: Pilot[Any]) -> str:
    """The first evaluator of the platform for the plan under the cursor, in its form; what stands there."""
    await pilot.press("p")
    await see(pilot, "Which evaluator of the platform?", PATIENCE)
    await pilot.press("enter")
    return await see(pilot, "expected_output: dataset.expected_output", PATIENCE)
