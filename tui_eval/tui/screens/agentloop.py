"""AgentLoop: what an agent space has, and the way from one of its offline plans to a launch."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.widget import Widget
from textual.widgets import Static

from tui_eval.errors import PlatformError, TuiEvalError
from tui_eval.tui import agentloop_reading as reading
from tui_eval.tui import keys
from tui_eval.tui.agentloop_reading import NAMES, Detail, Where
from tui_eval.tui.background import away
from tui_eval.tui.polling import in_front
from tui_eval.tui.projections import agentloop as shown
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.screens.dialogs import Prompt
from tui_eval.tui.screens.picking import Offer, Pick
from tui_eval.tui.text import content
from tui_eval.tui.widgets.cells import Cell, Row
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.panels import PanelTabs
from tui_eval.tui.widgets.styled_text import StyledText, StyledView

if TYPE_CHECKING:
    from tui_eval.platforms.agentloop.picking import Listing

_SHORT = 24


class AgentLoopScreen(BaseScreen):
    """Plans, datasets, evaluators and earlier runs of one agent space; what the platform said last is there at once."""

    DEFAULT_CSS = """
    AgentLoopScreen #where { height: auto; max-height: 3; padding: 0 1; color: $muted; text-style: $muted-style; }
    AgentLoopScreen LineTable { height: 1fr; }
    AgentLoopScreen #details { height: 1fr; padding: 0 1; border-top: solid $edge; }
    """
    BINDINGS: ClassVar = keys.bindings("agentloop")
    PANELS = (*(f"#{name}" for name in NAMES), "#details")
    HINTS = ("table.select", "agentloop.space", "agentloop.details", "app.refresh", "agentloop.region")
    LABELS: ClassVar = {"app.refresh": "ask again"}
    HELP = (
        "What AgentLoop has. 1 plans, 2 datasets, 3 evaluators, 4 earlier experiment runs, 5 all about the one under "
        "the cursor. Enter on an offline plan goes on to its launch with a solution of yours; ctrl+r asks the platform "
        "again. Access keys come from the environment or the profile of `aliyun configure`."
    )

    def __init__(self) -> None:
        super().__init__()
        self._where = Where()
        self._listed: dict[str, Listing[Any]] = {}
        self._details: dict[tuple[str, str], Detail] = {}
        self._list = NAMES[0]
        self._missing = ""
        self._trouble = ""
        self._asking = ""
        self._told = ""
        self._stale = False

    def body(self) -> Iterable[Widget]:
        yield Static("", id="where", markup=False)
        yield PanelTabs()
        for name in NAMES:
            yield LineTable(shown.COLUMNS[name], id=name, marking=False, empty="Looking…")
        yield StyledView(id="details")

    def on_mount(self) -> None:
        self._arrange()
        self.focus_panel(1)
        self.set_interval(15.0, self._tell)
        self.call_after_refresh(self._begin)

    def table(self, name: str) -> LineTable:
        return self.query_one(f"#{name}", LineTable)

    # -- panels --

    def _arrange(self) -> None:
        on_details = self.focused is not None and self.focused.id == "details"
        short = self.size.height < _SHORT
        for name in NAMES:
            self.table(name).display = name == self._list and not (short and on_details)
        self.query_one("#details").display = on_details or not short
        self.query_one(PanelTabs).current = len(NAMES) if on_details else NAMES.index(self._list)

    def focus_panel(self, number: int) -> None:
        if not 1 <= number <= len(self.PANELS):
            return
        if number <= len(NAMES):
            self._list = NAMES[number - 1]
        widget = self.query_one(self.PANELS[number - 1])
        widget.display = True  # only what is displayed takes the focus
        self.set_focus(widget)
        self._arrange()
        self._show_details()

    def next_panel(self, direction: int) -> None:
        """tab: the next panel, hidden or not."""
        focused = "" if self.focused is None else f"#{self.focused.id}"
        place = self.PANELS.index(focused) if focused in self.PANELS else NAMES.index(self._list)
        self.focus_panel((place + direction) % len(self.PANELS) + 1)

    def on_resize(self) -> None:
        self._arrange()

    def give_back(self) -> bool:
        if self.focused is not None and self.focused.id == "details":
            self.focus_panel(NAMES.index(self._list) + 1)
            return True
        return False

    # -- asking --

    @work(group="ask", exclusive=True)
    async def _begin(self) -> None:
        path = self.tui.history.path
        try:
            self._where = await away(partial(reading.first_where, path, os.environ))
        except TuiEvalError as error:
            self._trouble = str(error)
        await self._look()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        if self._stale:
            self._show()

    def ask_again(self) -> None:
        super().ask_again()
        self._ask()

    @work(group="ask", exclusive=True)
    async def _ask(self) -> None:
        await self._look(anew=True)

    async def _look(self, anew: bool = False) -> None:
        """Show what was listed last; ask the platform when there is nothing of that, or when it is to be anew."""
        path, where = self.tui.history.path, self._where
        self._missing = await away(partial(reading.missing, where, os.environ))
        if where.place is not None and where.space:
            for name in NAMES:
                found = await self._known(name)
                if found is not None:
                    self._listed[name] = found
        self._show()
        if self._missing:
            return
        self._trouble = ""
        for name in NAMES:
            if name in self._listed and not anew:
                continue
            self._asking = f"asking for the {name}…"
            self._tell()
            try:
                self._listed[name] = await away(partial(reading.ask, path, name, where, os.environ))
                self._trouble = self._listed[name].trouble or self._trouble
            except TuiEvalError as error:
                self._trouble = str(error)
                self.table(name).set_empty(f"The {name} are not known.\nctrl+r asks the platform again.")
            finally:
                self._asking = ""
            self._show()

    async def _known(self, name: str) -> Listing[Any] | None:
        try:
            return await away(partial(reading.known, self.tui.history.path, name, self._where))
        except TuiEvalError as error:
            self._trouble = str(error)
            return None

    def _take(self, where: Where) -> None:
        """Look at another platform or agent space, and begin there next time."""
        self._where = where
        self._listed.clear()
        self._details.clear()
        self._trouble = ""
        self._show()
        self._keep_and_ask()

    @work(group="ask", exclusive=True)
    async def _keep_and_ask(self) -> None:
        try:
            await away(partial(reading.keep_where, self.tui.history.path, self._where))
        except TuiEvalError as error:
            self.notify(str(error), title="The choice was not kept", severity="warning")
        await self._look()

    # -- showing --

    def _show(self) -> None:
        if not in_front(self):
            self._stale = True  # it is shown when this screen comes back, unless it is being left
            return
        self._stale = False
        for name in NAMES:
            table = self.table(name)
            found = self._listed.get(name)
            if found is not None:
                table.set_empty(shown.EMPTY[name])
            elif self._missing:
                table.set_empty("Nothing can be asked yet:\n" + "\n".join(self._missing.split("; ")))
            table.show([] if found is None else [shown.item_row(name, item) for item in found.items])
        titles = [f"{name.capitalize()} {len(self._listed[name].items)}" if name in self._listed else name.capitalize()
                  for name in NAMES]  # fmt: skip
        self.query_one(PanelTabs).titles = (*titles, "Details")
        self._tell()
        self._show_details()

    def _tell(self) -> None:
        """The line that says where this is from and how old it is."""
        if not in_front(self):
            self._stale = True
            return
        place = self._where.place
        parts = [] if place is None else [place.custom_agentloop_endpoint or place.region_id]
        parts.append(f"agent space {self._where.space}" if self._where.space else "no agent space")
        if self._listed:
            oldest = min(found.at for found in self._listed.values())
            parts.append(shown.age_text(time.time() - oldest))
        text = ", ".join(parts)
        for more in (self._missing, self._trouble):
            if more:
                text += f"\n{more}"
        if text != self._told:
            self._told = text
            self.query_one("#where", Static).update(content(text))
        self.show_place(self._asking)

    def _current(self) -> tuple[str, Any] | None:
        """The list in front and its item under the cursor."""
        key = self.table(self._list).cursor_key
        found = self._listed.get(self._list)
        items = () if found is None else found.items
        item = next((each for each in items if shown.key_of(self._list, each) == key), None)
        return None if item is None else (self._list, item)

    @on(LineTable.Highlighted)
    def _moved(self, event: LineTable.Highlighted) -> None:
        self._show_details()

    def _show_details(self) -> None:
        if not in_front(self):
            self._stale = True
            return
        current = self._current()
        view = self.query_one(StyledView)
        if current is None:
            view.show(StyledText())
            return
        name, item = current
        found = self._details.get((name, shown.key_of(name, item)))
        if found is None:
            view.show(StyledText(shown.detail_parts(asdict(item), None)))
            self._recall(name, shown.key_of(name, item))
        else:
            view.show(StyledText(shown.detail_parts(found.data, time.time() - found.at)))

    @work(group="recall", exclusive=True)
    async def _recall(self, name: str, key: str) -> None:
        """What the platform said about it before, from the history."""
        where = self._where
        try:
            found = await away(partial(reading.known_detail, self.tui.history.path, name, key, where))
        except TuiEvalError as error:
            self._trouble = str(error)
            self._tell()
            return
        if found is not None and where == self._where:
            self._details.setdefault((name, key), found)
            self._show_details()

    # -- keys --

    @on(LineTable.Selected)
    def _selected(self, event: LineTable.Selected) -> None:
        if self._list == "plans":
            self._launch()
        else:
            self.action_details()

    @work(group="details", exclusive=True)
    async def action_details(self) -> None:
        current, where = self._current(), self._where
        if current is None:
            return
        name, key = current[0], shown.key_of(*current)
        self.show_place(f"asking about {key}…")
        try:
            found = await away(partial(reading.ask_detail, self.tui.history.path, name, key, where, os.environ))
        except TuiEvalError as error:
            self.notify(str(error), title="Not known", severity="error", timeout=10)
            return
        finally:
            self.show_place("")
        if where == self._where:
            self._details[name, key] = found
            self._show_details()
            if self.size.height < _SHORT and in_front(self):
                self.focus_panel(len(self.PANELS))  # there is room for one panel only

    def action_region(self) -> None:
        from tui_eval.tui.screens.launch_form import LaunchFormScreen

        place = self._where.place

        def take(data: dict[str, Any]) -> None:
            try:
                self._take(reading.with_place(self._where, data))
            except TuiEvalError as error:
                self.notify(str(error), severity="error", timeout=10)
                return
            if not self._where.space:
                self.action_space()

        data = {} if place is None else place.model_dump(exclude_defaults=True)
        self.app.push_screen(LaunchFormScreen("AgentLoop's region", reading.Place, data, take))

    @work(group="dialog", exclusive=True)
    async def action_space(self) -> None:
        where = self._where
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
            self._take(replace(where, space=str(chosen)))

    async def _type_space(self) -> None:
        """Where the spaces may not be listed, one can still be named."""
        name = await self.app.push_screen_wait(Prompt("Name of the agent space", self._where.space))
        if name and name.strip():
            self._take(replace(self._where, space=name.strip()))

    @work(group="dialog", exclusive=True)
    async def _launch(self) -> None:
        current = self._current()
        if current is not None:
            from tui_eval.tui.screens.agentloop_launch import launch_plan

            await launch_plan(self.tui, self._where, current[1])
