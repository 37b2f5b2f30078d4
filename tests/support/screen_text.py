"""What stands on the screen of an application under test, as text; and waiting for it, or for anything else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot


def screen_text(app: App[Any]) -> str:
    """Every line of the screen as it would be drawn now, dialogs and toasts included."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def see(pilot: Pilot[Any], text: str, seconds: float = 8.0) -> str:
    """Wait until a text stands on the screen; the whole screen. Fails the test when it does not come."""
    end = time.monotonic() + seconds
    while text not in (shown := screen_text(pilot.app)):
        assert time.monotonic() < end, f"{text!r} did not come:\n{shown}"
        await asyncio.sleep(0.02)
        await pilot.pause()
    return shown


async def until(pilot: Pilot[Any], holds: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until something is so. Fails the test, with the screen, when it does not come about.

    Unlike :func:`see` it does not wait for the application to be idle between two looks: it may be busy.
    """
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, screen_text(pilot.app)
        await asyncio.sleep(0.02)
