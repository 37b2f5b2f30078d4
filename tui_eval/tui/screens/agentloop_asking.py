"""What the screen of AgentLoop asks the platform, and where that platform is: region, addresses, agent space."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work

from tui_eval.errors import PlatformError, TuiEvalError
from tui_eval.tui import agentloop_reading as reading
from tui_eval.tui import keys
from tui_eval.tui.agentloop_reading import NAMES, Detail, Where
from tui_eval.tui.background import away
from tui_eval.tui.projections import agentloop as shown
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.screens.dialogs import Prompt
from tui_eval.tui.screens.picking import Offer, Pick
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.cells import Cell, Row
from tui_eval.tui.widgets.line_table import LineTable

if TYPE_CHECKING:
    from tui_eval.platforms.agentloop.picking import Listing


class AgentLoopAsking(BaseScreen):
    """Keeps what was answered; ``AgentLoopScreen`` adds what is shown of it."""

    BINDINGS: ClassVar = keys.bindings("agentloop")

    def __init__(self) -> None:
        super().__init__()
        self.where = Where()
        self.listed: dict[str, Listing[Any]] = {}
        self.details: dict[tuple[str, str], Detail] = {}
        self.missing = ""
        self.trouble = ""
        self.asking = ""
        self.begun = asyncio.Event()
        """Set once it is known where to look: a key that comes sooner waits for it."""

    def table(self, name: str) -> LineTable:
        """One of the lists by its name."""
        return self.query_one(f"#{name}", LineTable)

    def show_lists(self) -> None:
        """Show what is known now."""
        raise NotImplementedError

    def tell(self) -> None:
        """Say where this is from, how old it is, and what is missing."""
        raise NotImplementedError

    # -- asking --

    @work(group="ask", exclusive=True)
    async def begin(self) -> None:
        path = self.tui.history.path
        try:
            self.where = await away(partial(reading.first_where, path, os.environ))
        except TuiEvalError as error:
            self.trouble = str(error)
        finally:
            self.begun.set()
        await self._look()

    def ask_again(self) -> None:
        super().ask_again()
        self._ask()

    @work(group="ask", exclusive=True)
    async def _ask(self) -> None:
        await self._look(anew=True)

    async def _look(self, anew: bool = False) -> None:
        """Show what was listed last; ask the platform when there is nothing of that, or when it is to be anew."""
        path, where = self.tui.history.path, self.where
        self.missing = await away(partial(reading.missing, where, os.environ))
        if where.place is not None and where.space:
            for name in NAMES:
                found = await self._known(name)
                if found is not None:
                    self.listed[name] = found
        self.show_lists()
        if self.missing:
            return
        self.trouble = ""
        for name in NAMES:
            if name in self.listed and not anew:
                continue
            self.asking = f"asking for the {name}…"
            self.tell()
            try:
                self.listed[name] = await away(partial(reading.ask, path, name, where, os.environ))
                self.trouble = self.listed[name].trouble or self.trouble
            except TuiEvalError as error:
                self.trouble = str(error)
                self.table(name).set_empty(f"The {name} are not known.\nctrl+r asks the platform again.")
            finally:
                self.asking = ""
            self.show_lists()

    async def _known(self, name: str) -> Listing[Any] | None:
        try:
            return await away(partial(reading.known, self.tui.history.path, name, self.where))
        except TuiEvalError as error:
            self.trouble = str(error)
            return None

    def take(self, where: Where) -> None:
        """Look at another platform or agent space, and begin there next time."""
        self.where = where
        self.listed.clear()
        self.details.clear()
        self.trouble = ""
        self.show_lists()
        self._keep_and_ask()

    @work(group="ask", exclusive=True)
    async def _keep_and_ask(self) -> None:
        try:
            await away(partial(reading.keep_where, self.tui.history.path, self.where))
        except TuiEvalError as error:
            self.notify(str(error), title="The choice was not kept", severity="warning")
        await self._look()

    # -- where --

    def action_region(self) -> None:
        from tui_eval.tui.screens.launch_form import LaunchFormScreen

        place = self.where.place

        def take(data: dict[str, Any]) -> None:
            try:
                self.take(reading.with_place(self.where, data))
            except TuiEvalError as error:
                self.notify(str(error), severity="error", timeout=10)
                return
            if not self.where.space:
                self.action_space()

        data = {} if place is None else place.model_dump(exclude_defaults=True)
        self.app.push_screen(LaunchFormScreen("AgentLoop's region", reading.Place, data, take))

    @asks("dialog", exclusive=True)
    async def action_space(self) -> None:
        await self.begun.wait()
        where = self.where
        if where.place is None:
            self.notify("Name the region first: press o.", severity="warning")
            return
        self.show_place("asking for the agent spaces…")
        try:
            found = await away(partial(reading.ask, self.tui.history.path, "spaces", where, os.environ))
        except PlatformError as error:
            self.notify(str(error), title="The agent spaces are not known", severity="error", timeout=10)
            await self._type_space()
            return
        except TuiEvalError as error:
            self.notify(str(error), severity="error", timeout=10)
            return
        finally:
            self.show_place("")
        offers = [
            Offer(Row(one.name, (one.name, Cell(one.description or one.region, "muted"))), one.name)
            for one in found.items
        ]
        note = f"{found.trouble}; {shown.age_text(time.time() - found.at)}" if found.trouble else ""
        chosen = await self.app.push_screen_wait(Pick("Agent space", shown.SPACES, offers, note=note))
        if chosen is not None:
            self.take(replace(where, space=str(chosen)))

    async def _type_space(self) -> None:
        """Where the spaces may not be listed, one can still be named."""
        name = await self.app.push_screen_wait(Prompt("Name of the agent space", self.where.space))
        if name and name.strip():
            self.take(replace(self.where, space=name.strip()))
