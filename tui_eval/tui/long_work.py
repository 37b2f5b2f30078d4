"""Long work that the user asked for (deleting, exporting): beside the keys, told in the title bar, stopped with a key.

It belongs to the application, not to a screen: it goes on while the user looks at other things, and ends with the
program.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui_eval.errors import TuiEvalError

if TYPE_CHECKING:
    from textual.worker import Worker

    from tui_eval.tui.application import TuiEvalApp

Tell = Callable[[str], None]
Work = Callable[[Tell], Awaitable[None]]
SHOWN_AFTER = 0.5
"""Seconds before work is told of: what is done by then needs no words."""


@dataclass(slots=True)
class Running:
    """One piece of work under way. ``about`` is what is worked on, ``told`` how far it is, in its own words."""

    title: str
    about: str = ""
    told: str = ""
    since: float = field(default_factory=time.monotonic)
    stopped: bool = False
    worker: Worker[None] | None = None

    @property
    def text(self) -> str:
        """``writing 43 % (ctrl+g stops) run.csv``; "" while it may be over in a moment. What may be cut comes last."""
        if time.monotonic() - self.since < SHOWN_AFTER:
            return ""
        return " ".join(part for part in (self.title, self.told, "(ctrl+g stops)", self.about) if part)


class LongWork:
    """The pieces of work under way, the newest last. One for the application."""

    def __init__(self, app: TuiEvalApp, changed: Callable[[], None]) -> None:
        self._app = app
        self._changed = changed
        self._running: list[Running] = []

    @property
    def text(self) -> str:
        """What the title bar says: of the newest piece of work."""
        return next((each.text for each in reversed(self._running) if each.text), "")

    def start(self, title: str, work: Work, about: str = "") -> None:
        """Begin: ``work`` gets a function to say how far it is. It is cancelled when the user stops it; what it raises
        as TuiEvalError or OSError is told."""
        running = Running(title, about)
        self._running.append(running)
        running.worker = self._app.run_worker(self._do(running, work), group="long work", exit_on_error=True)
        self._app.set_timer(SHOWN_AFTER + 0.05, self._changed)

    def stop_newest(self) -> bool:
        """Stop the newest piece of work; False when there is none."""
        running = next((each for each in reversed(self._running) if not each.stopped), None)
        if running is None or running.worker is None:
            return False
        running.stopped = True
        running.worker.cancel()
        return True

    async def _do(self, running: Running, work: Work) -> None:
        def tell(text: str) -> None:
            running.told = text
            self._changed()

        try:
            await work(tell)
        except asyncio.CancelledError:
            if not running.stopped:
                raise
            self._app.notify(
                "Stopped: " + " ".join(part for part in (running.title, running.about, running.told) if part),
                severity="warning",
            )
        except (TuiEvalError, OSError) as error:
            self._app.notify(str(error), title="Not done", severity="error", timeout=10)
        finally:
            self._running.remove(running)
            self._changed()
