"""From a plan to a run that has ended, on the screens and in the history."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tests.support.screen_text import screen_text, see
from tui_eval.errors import HistoryError
from tui_eval.store.reader import History
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.screens.launch_review import ReviewScreen

PATIENCE = 30.0  # seconds, on a machine that does other things


async def opened(pilot: Pilot[Any], plan: Path) -> ReviewScreen:
    """The pre-flight page of a plan, checked."""
    app = pilot.app
    assert isinstance(app, TuiEvalApp)
    app.open("launch", plan=plan)
    await see(pilot, "what to know")
    return await checked(pilot)


async def checked(pilot: Pilot[Any]) -> ReviewScreen:
    """Wait until the check has said something."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        await pilot.pause(0.02)
        screen = pilot.app.screen
        if isinstance(screen, ReviewScreen) and (screen._verdict is not None or screen._problem):
            return screen
    raise AssertionError(screen_text(pilot.app))


async def begun(path: Path) -> str:
    """The id of the run that was started, once it stands in the history."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(HistoryError), History(path) as history:
            if runs := history.runs(limit=1):
                return runs[0].run.run_id
        await asyncio.sleep(0.02)
    raise AssertionError("no run began")


async def ended(path: Path, run_id: str) -> str:
    """The state of a run once its runner has ended, and no process of it is left."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(HistoryError), History(path) as history:
            run = history.run(run_id)
            if run.finished_at is not None and not Path(f"/proc/{run.pid}").exists():
                return run.state.value
        await asyncio.sleep(0.02)
    raise AssertionError("the run did not end")
