"""What stands on the screen of an application under test, as text; and waiting for it."""

from __future__ import annotations

import asyncio
import time
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
