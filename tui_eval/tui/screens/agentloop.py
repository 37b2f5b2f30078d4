"""AgentLoop: what an agent space has, and the way from one of its offline plans to a launch."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.widget import Widget
from textual.widgets import Static

from tui_eval import text_query
from tui_eval.errors import TuiEvalError
from tui_eval.text_query import TextQuery
from tui_eval.tui import agentloop_reading as reading
from tui_eval.tui.agentloop_reading import NAMES
from tui_eval.tui.background import away
from tui_eval.tui.polling import in_front
from tui_eval.tui.projections import agentloop as shown
from tui_eval.tui.screens.agentloop_asking import AgentLoopAsking
from tui_eval.tui.text import content
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.filter_bar import FilterBar
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.panels import PanelTabs
from tui_eval.tui.widgets.styled_text import StyledText, StyledView

if TYPE_CHECKING:
    pass

_SHORT = 24


class AgentLoopScreen(AgentLoopAsking):
    """Plans, datasets, evaluators and earlier runs of one agent space; what the platform said last is there at once."""

    DEFAULT_CSS = """
    AgentLoopScreen #where { height: auto; max-height: 3; padding: 0 1; color: $muted; text-style: $muted-style; }
    AgentLoopScreen LineTable { height: 1fr; }
    AgentLoopScreen #details { height: 1fr; padding: 0 1; border-top: solid $edge; }
    """
    PANELS = (*(f"#{name}" for name in NAMES), "#details")
    HINTS = (
        "table.select",
        "agentloop.details",
        "agentloop.judge",
        "agentloop.filter",
        "agentloop.files",
        "agentloop.space",
        "agentloop.region",
        "app.refresh",
    )
    LABELS: ClassVar = {"app.refresh": "ask again"}
    HELP = (
        "What AgentLoop has. 1 plans, 2 datasets, 3 evaluators, 4 earlier experiment runs, 5 all about the one under "
        "the cursor. Enter on an offline plan goes on to its launch with a solution of yours; p lets the platform judge "
        "it with one more evaluator; ctrl+r asks the platform again; B goes to what the workspace has of the same kind. "
        "Access keys come from the environment or the profile of `aliyun configure`."
    )

    def __init__(self) -> None:
        super().__init__()
        self.sought = TextQuery()
        self._list = NAMES[0]
        self._told = ""
        self._stale = False

    def body(self) -> Iterable[Widget]:
        yield Static("", id="where", markup=False)
        yield FilterBar("words of any column")
        yield PanelTabs()
        for name in NAMES:
            yield LineTable(shown.COLUMNS[name], id=name, marking=False, empty="Looking…")
        yield StyledView(id="details")

    def on_mount(self) -> None:
        self._arrange()
        self.focus_panel(NAMES.index(self._list) + 1)
        self.set_interval(15.0, self.tell)
        self.call_after_refresh(self.begin)

    def arrived_from(self, route: str) -> None:
        """From a screen of the workspace: to the list of the same kind."""
        if route in NAMES:
            self._list = route
            if self.is_mounted:
                self.focus_panel(NAMES.index(route) + 1)

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
        self.refresh_bindings()
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
        return self.query_one(FilterBar).close()

    # -- filter --

    def action_filter(self) -> None:
        self.query_one(FilterBar).open()

    @on(FilterBar.Changed)
    def _filter_changed(self, event: FilterBar.Changed) -> None:
        self.sought = text_query.parse(event.text)
        self.show_lists()

    @on(FilterBar.Left)
    def _filter_left(self) -> None:
        self.focus_panel(NAMES.index(self._list) + 1)

    # -- showing --

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        if self._stale:
            self.show_lists()

    def show_lists(self) -> None:
        if not in_front(self):
            self._stale = True  # it is shown when this screen comes back, unless it is being left
            return
        self._stale = False
        self.refresh_bindings()
        for name in NAMES:
            table = self.table(name)
            table.selecting = bool(self.listed) or not self.missing
            found = self.listed.get(name)
            if found is not None and self.sought and found.items:
                table.set_empty(f"None of the {name} matches.\nChange the filter with /, or clear it with esc.")
            elif found is not None:
                table.set_empty(shown.EMPTY[name])
            elif self.missing:
                table.set_empty("Nothing can be asked yet:\n" + "\n".join(self.missing.split("; ")))
            table.show([] if found is None else shown.item_rows(name, found.items, self.sought))
        titles = [f"{name.capitalize()} {len(self.listed[name].items)}" if name in self.listed else name.capitalize()
                  for name in NAMES]  # fmt: skip
        self.query_one(PanelTabs).titles = (*titles, "Details")
        self._tell_filter()
        self.tell()
        self._show_details()

    def tell(self) -> None:
        """The line that says where this is from and how old it is."""
        if not in_front(self):
            self._stale = True
            return
        place = self.where.place
        parts = [] if place is None else [place.custom_agentloop_endpoint or place.region_id]
        parts.append(f"agent space {self.where.space}" if self.where.space else "no agent space")
        if self.listed:
            oldest = min(found.at for found in self.listed.values())
            parts.append(shown.age_text(time.time() - oldest))
        text = ", ".join(parts)
        for more in (self.missing, self.trouble):
            if more:
                text += f"\n{more}"
        if text != self._told:
            self._told = text
            self.query_one("#where", Static).update(content(text))
        self.show_place(self.asking)

    def _tell_filter(self) -> None:
        found = self.listed.get(self._list)
        count = self.table(self._list).source.count()
        self.query_one(FilterBar).tell("" if found is None else f"{count:,} of {len(found.items):,}")

    def _current(self) -> tuple[str, Any] | None:
        """The list in front and its item under the cursor."""
        key = self.table(self._list).cursor_key
        found = self.listed.get(self._list)
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
        found = self.details.get((name, shown.key_of(name, item)))
        if found is None:
            view.show(StyledText(shown.detail_parts(asdict(item), None)))
            self._recall(name, shown.key_of(name, item))
        else:
            view.show(StyledText(shown.detail_parts(found.data, time.time() - found.at)))

    @work(group="recall", exclusive=True)
    async def _recall(self, name: str, key: str) -> None:
        """What the platform said about it before, from the history."""
        where = self.where
        try:
            found = await away(partial(reading.known_detail, self.tui.history.path, name, key, where))
        except TuiEvalError as error:
            self.trouble = str(error)
            self.tell()
            return
        if found is not None and where == self.where:
            self.details.setdefault((name, key), found)
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
        current, where = self._current(), self.where
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
        if where == self.where:
            self.details[name, key] = found
            self._show_details()
            if self.size.height < _SHORT and in_front(self):
                self.focus_panel(len(self.PANELS))  # there is room for one panel only

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("details", "judge", "filter") and self.missing and not self.listed:
            return False  # what is to be chosen first stands in the line of keys
        return self._list == "plans" if action == "judge" else True

    def action_files(self) -> None:
        """What the workspace has of the same kind."""
        self.tui.action_go("home" if self._list == "runs" else self._list)

    @asks("dialog", exclusive=True)
    async def action_judge(self) -> None:
        """Let the platform judge the plan under the cursor with one more evaluator."""
        from tui_eval.tui.screens.agentloop_judging import choose_evaluator

        current = self._current()
        if current is None:
            self.notify("There is no plan here to give an evaluator.", severity="warning")
        elif not current[1].runnable:
            self.notify("Only offline plans with a dataset can be given evaluators here.", severity="warning")
        else:
            plan_id = current[1].plan_id
            await choose_evaluator(self.tui, self.where, plan_id, partial(self._judge_with, plan_id))

    @asks("dialog", exclusive=True)
    async def _judge_with(self, plan_id: str, section: dict[str, Any]) -> None:
        from tui_eval.tui.screens.agentloop_judging import update_platform_plan

        where = self.where
        options = where.options(plan_id).with_evaluators([section])
        if await update_platform_plan(self.tui, options) and where == self.where:
            self.details.pop(("plans", plan_id), None)
            self.action_details()

    @asks("dialog", exclusive=True)
    async def _launch(self) -> None:
        current = self._current()
        if current is not None:
            from tui_eval.tui.screens.agentloop_launch import launch_plan

            await launch_plan(self.tui, self.where, current[1])
