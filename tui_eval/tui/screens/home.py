"""Home: every run of the history, newest first, live ones on top and moving."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tui_eval.errors import TuiEvalError
from tui_eval.tui import keys
from tui_eval.tui.polling import Watch, in_front
from tui_eval.tui.projections import run_filter, run_texts
from tui_eval.tui.projections.run_filter import RunFilter
from tui_eval.tui.projections.run_list import RunList
from tui_eval.tui.projections.runs import NARROW, WIDE, ordered, run_row
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.text import content
from tui_eval.tui.widgets.cells import Row
from tui_eval.tui.widgets.filter_bar import FilterBar
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.row_source import BuiltSource

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.run_queries import RunOverview

FIRST_PAGE = 200
"""Runs that are read when the screen opens and whenever something changes; older ones come as one goes there."""
NEXT_PAGE = 1000
_CYCLE = ("", "state:live", "state:interrupted")
_WIDE_FROM = 150  # cells: from here on the counts have words beside their glyphs


@dataclass(frozen=True, slots=True)
class Found:
    """What the history answered: the newest runs of the filter, the live ones wherever they are, and whether there
    is any run at all."""

    newest: list[RunOverview]
    live: list[RunOverview]
    any_run: bool


class RunsRead(Message):
    """The runs of the history were read."""

    def __init__(self, wanted: RunFilter, found: Found) -> None:
        super().__init__()
        self.wanted = wanted
        self.found = found


class HomeScreen(BaseScreen):
    """The list of runs; enter opens one."""

    DEFAULT_CSS = """
    HomeScreen #first { display: none; height: 1fr; padding: 1 3; }
    HomeScreen.-first-run #first { display: block; }
    HomeScreen.-first-run #runs, HomeScreen.-first-run #details { display: none; }
    HomeScreen #details { height: 5; border-top: solid $edge; padding: 0 1; color: $muted; }
    HomeScreen.-short #details { display: none; }
    """
    BINDINGS: ClassVar = keys.bindings("home")
    PANELS = ("#runs",)
    HINTS = (
        "table.select",
        "app.launch",
        "app.plans",
        "home.filter",
        "table.mark",
        "home.compare",
        "home.delete",
        "app.palette",
        "home.demo",
    )
    HELP = (
        "Every run of the history, live ones on top. Filter by words of the plan's name and by tag:x, "
        "state:x (live, failed, …), since:2026-11-01, until:yesterday."
    )

    def __init__(self) -> None:
        super().__init__()
        self._runs = RunList(FIRST_PAGE)
        self._filter = RunFilter()
        self._wide = False
        self._reading_more = False
        self._watch: Watch[tuple[RunFilter, Found]] | None = None
        self._busy = ""
        self._details = ""
        self._first = True
        self._now = datetime.now().astimezone()

    def body(self) -> Iterable[Widget]:
        yield FilterBar("words of the plan's name, tag:x state:failed since:7d until:yesterday")
        yield LineTable(NARROW, id="runs", empty="Reading the history…")
        yield Static(content(run_texts.first_steps(str(self.tui.workspace))), id="first", markup=False)
        yield Static("", id="details", markup=False)

    @property
    def crumb(self) -> str:
        return "Home"

    def on_mount(self) -> None:
        self.show_place("")
        self.query_one(LineTable).focus()
        # The first paint waits for nothing: the history is opened after it.
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._watch = self.watch_history(self._question, lambda answer: RunsRead(*answer), every=2.0)
        self.set_interval(1.0, self._clock)

    # -- reading --

    def _question(self, history: History) -> tuple[RunFilter, Found]:
        wanted = self._filter
        return wanted, read_runs(history, wanted)

    @on(RunsRead)
    def _runs_read(self, event: RunsRead) -> None:
        if event.wanted != self._filter:
            return
        changed = self._runs.newest_read(event.found.newest, event.found.live)
        if self.has_class("-first-run") == event.found.any_run:
            self.set_class(not event.found.any_run, "-first-run")
            self.refresh_bindings()
            if event.found.any_run:
                self.query_one(LineTable).focus()  # it lost the focus while it was hidden
        if changed or self._first:
            self._first = False
            self._show()

    def _clock(self) -> None:
        """The durations of live runs move on; without any, nothing is drawn."""
        source = self.query_one(LineTable).source
        if in_front(self) and isinstance(source, BuiltSource) and self._runs.any_live():
            self._now = datetime.now().astimezone()
            source.forget_rows()
            self.query_one(LineTable).rows_changed()

    def _show(self) -> None:
        table = self.query_one(LineTable)
        self._now = datetime.now().astimezone()
        overviews = ordered(self._runs.known.values(), table.sort_column, table.descending)
        if self._filter.everything:
            table.set_empty("No runs yet.\nPress L to compose one, F for the demo.")
        else:
            table.set_empty("No run matches.\nChange the filter with /, or clear it with esc.")
        table.set_source(BuiltSource(overviews, lambda each: each.run.run_id, self._row))
        self._tell(table)
        self._show_details(table)

    def _row(self, overview: RunOverview) -> Row:
        return run_row(overview, self._now, wide=self._wide)

    def _tell(self, table: LineTable) -> None:
        more = "" if self._runs.complete else "+"
        count = f"{len(self._runs.known):,}{more} run{'' if len(self._runs.known) == 1 else 's'}"
        live = self._runs.live_count()
        marked = f"{len(table.marks)} marked" if table.marks else ""
        status = ", ".join(part for part in (self._busy, marked, f"{live} live" if live else "", count) if part)
        self.show_place(status)
        self.query_one(FilterBar).tell(self._filter.wrong or count, wrong=bool(self._filter.wrong))

    @work(group="more", exclusive=True)
    async def _read_more(self, everything: bool = False) -> None:
        """Older runs, a page after the other while the user goes down (or all, for another order)."""
        if self._reading_more:
            return
        self._reading_more = True
        try:
            while not self._runs.complete and self._runs.last is not None:
                wanted, before = self._filter, self._runs.last
                page = await self.tui.history.read(partial(_older, wanted=wanted, before=before))
                if wanted != self._filter:
                    return
                self._runs.older_read(page, NEXT_PAGE)
                if not everything:
                    break
                self._busy = f"reading {len(self._runs.known):,}"
                self._tell(self.query_one(LineTable))
        except TuiEvalError as error:
            self.notify(str(error), severity="error")
        finally:
            self._reading_more = False
            self._busy = ""
        self._show()

    @on(LineTable.Highlighted, "#runs")
    def _moved(self, event: LineTable.Highlighted) -> None:
        table = event.table
        self._show_details(table)
        if not self._runs.complete and table.cursor >= table.source.count() - FIRST_PAGE // 4:
            self._read_more()

    @on(LineTable.Sorted, "#runs")
    def _sorted(self, event: LineTable.Sorted) -> None:
        self._show()
        if not self._runs.complete and event.column:
            self._read_more(everything=True)

    @on(LineTable.MarksChanged, "#runs")
    def _marked(self, event: LineTable.MarksChanged) -> None:
        self._tell(event.table)

    def _show_details(self, table: LineTable) -> None:
        overview = self._runs.known.get(str(table.cursor_key))
        text = "" if overview is None else run_texts.details(overview, self.size.width - 2)
        if text != self._details:
            self._details = text
            self.query_one("#details", Static).update(content(text), layout=False)

    def on_resize(self, event: events.Resize) -> None:
        wide = event.size.width >= _WIDE_FROM
        if wide != self._wide:
            self._wide = wide
            self.query_one(LineTable).set_columns(WIDE if wide else NARROW)
        if self._watch is not None:
            self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("filter", "cycle", "compare", "tags", "note", "delete"):
            return not self.has_class("-first-run")
        return True

    # -- filter --

    def action_filter(self) -> None:
        self.query_one(FilterBar).open()

    def action_cycle(self) -> None:
        bar = self.query_one(FilterBar)
        place = _CYCLE.index(bar.text) if bar.text in _CYCLE else 0
        bar.set_text(_CYCLE[(place + 1) % len(_CYCLE)])

    @on(FilterBar.Changed)
    def _filter_changed(self, event: FilterBar.Changed) -> None:
        self._filter = run_filter.parse(event.text, datetime.now().astimezone())
        self._runs.clear()
        self._first = True
        self.query_one(LineTable).set_empty("Reading the history…")
        self.ask_again()

    @on(FilterBar.Left)
    def _filter_left(self) -> None:
        self.query_one(LineTable).focus()

    def give_back(self) -> bool:
        return self.query_one(FilterBar).close()

    # -- what one does with runs --

    def chosen(self) -> list[RunOverview]:
        """The marked runs, else the one under the cursor."""
        names = (str(key) for key in self.query_one(LineTable).chosen())
        return [self._runs.known[name] for name in names if name in self._runs.known]

    @on(LineTable.Selected, "#runs")
    def _open(self, event: LineTable.Selected) -> None:
        self.tui.open("run", run_id=str(event.key))

    def action_compare(self) -> None:
        chosen = self.chosen()
        if len(chosen) != 2:
            self.notify("Mark two runs with space, then press c.", severity="warning")
            return
        older, newer = sorted((each.run for each in chosen), key=lambda run: run.created_at)
        self.tui.open("compare", left=older.run_id, right=newer.run_id)

    @work(group="change")
    async def action_tags(self) -> None:
        from tui_eval.tui.run_actions import change_tags

        if await change_tags(self.tui, [each.run for each in self.chosen()]):
            self.ask_again()

    @work(group="change")
    async def action_note(self) -> None:
        from tui_eval.tui.run_actions import change_note

        overview = self._runs.known.get(str(self.query_one(LineTable).cursor_key))
        if overview is not None and await change_note(self.tui, overview.run):
            self.ask_again()

    @work(group="change")
    async def action_delete(self) -> None:
        from tui_eval.tui.run_actions import delete_runs

        table = self.query_one(LineTable)
        async for run_id, done, total in delete_runs(self.tui, [each.run for each in self.chosen()]):
            self._runs.forget(run_id)
            table.drop_marks([run_id])
            self._busy = f"deleted {done} of {total}" if done < total else ""
            self._show()
        self.ask_again()

    @work(group="demo", exclusive=True)
    async def action_demo(self) -> None:
        from tui_eval.tui.run_actions import start_demo

        await start_demo(self.tui)
        self.ask_again()


def read_runs(history: History, wanted: RunFilter) -> Found:
    """The newest page of the filter, and every live run of it however old."""
    from tui_eval.store.records import RunState

    newest = _some(history, wanted, FIRST_PAGE, None)
    live = [each for each in newest if each.state.live]
    if len(newest) >= FIRST_PAGE:
        states = [state for state in wanted.states or RunState if state.live]
        live = _some(history, RunFilter(wanted.name, wanted.tag, tuple(states), wanted.since, wanted.until), 50, None)
    any_run = bool(newest) or bool(history.runs(limit=1))
    return Found(newest, live, any_run)


def _older(history: History, wanted: RunFilter, before: tuple[float, int]) -> list[RunOverview]:
    return _some(history, wanted, NEXT_PAGE, before)


def _some(history: History, wanted: RunFilter, limit: int, before: tuple[float, int] | None) -> list[RunOverview]:
    """A page of runs in one of the wanted states, newest first."""
    found: list[RunOverview] = []
    for state in wanted.states or (None,):
        found += history.runs(
            limit=limit,
            before=before,
            name=wanted.name,
            tag=wanted.tag,
            state=state,
            since=wanted.since,
            until=wanted.until,
        )
    if len(wanted.states) > 1:
        found.sort(key=lambda each: (each.run.created_at, each.run.id), reverse=True)
    return found[:limit]
