"""Home: every run of the history, newest first, live ones on top and moving."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tui_eval.errors import TuiEvalError
from tui_eval.tui import keys
from tui_eval.tui.polling import HistoryTrouble, Watch, in_front
from tui_eval.tui.projections import run_filter, run_texts
from tui_eval.tui.projections.run_filter import RunFilter
from tui_eval.tui.projections.run_list import RunList
from tui_eval.tui.projections.runs import COLUMNS, columns, ordered, run_row
from tui_eval.tui.runs_reading import FIRST_PAGE, NEXT_PAGE, Found, RunsReading, update_index
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.text import content, plural
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.cells import Row
from tui_eval.tui.widgets.counts import widths_of
from tui_eval.tui.widgets.filter_bar import FilterBar
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.row_source import BuiltSource

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.run_queries import RunOverview

_CYCLE = ("", "state:live", "state:interrupted")


class RunsRead(Message):
    """The runs of the history were read."""

    def __init__(self, reading: RunsReading, found: Found) -> None:
        super().__init__()
        self.reading = reading
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
        "Every run of the history, live ones on top. Filter by words or patterns of the plan's name, run id, tags and "
        "note, and by tag:x, state:x (live, failed, …), since:2026-11-01, until:yesterday, text:word for what tasks "
        'gave (text:"two words"). ! before any of these turns it around.'
    )

    def __init__(self) -> None:
        super().__init__()
        self._runs = RunList(FIRST_PAGE)
        self._reading = RunsReading(RunFilter())
        self._widths = widths_of(())
        self._reading_more = False
        self._all_wanted = False
        self._last_wanted = False
        self._watch: Watch[tuple[RunsReading, Found]] | None = None
        self._busy = ""
        self._details = ""
        self._first = True
        self._now = datetime.now().astimezone()

    def body(self) -> Iterable[Widget]:
        yield FilterBar("words of name, id, note; !without, tag:x state:failed since:7d text:output")
        yield LineTable(COLUMNS, id="runs", empty="Reading the history…")
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

    def on_unmount(self) -> None:
        self._reading.give_up()

    # -- reading --

    def _question(self, history: History) -> tuple[RunsReading, Found]:
        reading = self._reading
        return reading, reading.newest(history)

    @on(RunsRead)
    def _runs_read(self, event: RunsRead) -> None:
        if event.reading is not self._reading:
            return
        live_before = self._runs.live_count()
        changed = self._runs.newest_read(event.found.newest, event.found.live)
        if self.has_class("-first-run") == event.found.any_run:
            self.set_class(not event.found.any_run, "-first-run")
            self.refresh_bindings()
            if event.found.any_run:
                self.query_one(LineTable).focus()  # it lost the focus while it was hidden
        if changed or self._first:
            self._first = False
            self._show()
        if self._runs.live_count() < live_before:
            self._update_index()  # a run has ended: it is found by its texts soon

    @on(HistoryTrouble)
    def _not_read(self, event: HistoryTrouble) -> None:
        """Said for as long as it is so: the toast of the application goes away."""
        self._first = True
        table = self.query_one(LineTable)
        table.set_empty(f"The history cannot be read.\n{event.text}")
        if not self._runs.known:
            table.show([])

    @work(group="index", exclusive=True, exit_on_error=False)
    async def _update_index(self) -> None:
        await update_index(self.tui.history.path)
        if self._reading.wanted.texts:
            self.ask_again()

    def _clock(self) -> None:
        """The durations of live runs move on; without any, nothing is drawn. A search of texts says how far it is."""
        if self._first and self._reading.looked_at and in_front(self):
            self.query_one(FilterBar).tell(f"looked through {plural(self._reading.looked_at, 'run')}…")
        source = self.query_one(LineTable).source
        if in_front(self) and isinstance(source, BuiltSource) and self._runs.any_live():
            self._now = datetime.now().astimezone()
            source.forget_rows()
            self.query_one(LineTable).rows_changed()

    def _show(self) -> None:
        table = self.query_one(LineTable)
        self._now = datetime.now().astimezone()
        overviews = ordered(self._runs.known.values(), table.sort_column, table.descending)
        if self._reading.wanted.everything:
            table.set_empty("No runs yet.\nPress L to compose one, F for the demo.")
        else:
            table.set_empty("No run matches.\nChange the filter with /, or clear it with esc.")
        widths = widths_of(each.counters for each in overviews)
        if widths != self._widths:
            self._widths = widths
            table.set_columns(columns(widths))
        table.set_source(BuiltSource(overviews, lambda each: each.run.run_id, self._row))
        self._tell(table)
        self._show_details(table)

    def _row(self, overview: RunOverview) -> Row:
        return run_row(overview, self._now, self._widths)

    def _tell(self, table: LineTable) -> None:
        more = "" if self._runs.complete else "+"
        count = f"{len(self._runs.known):,}{more} run{'' if len(self._runs.known) == 1 else 's'}"
        live = self._runs.live_count()
        marked = f"{len(table.marks)} marked" if table.marks else ""
        status = ", ".join(part for part in (self._busy, marked, f"{live} live" if live else "", count) if part)
        self.show_place(status)
        self.query_one(FilterBar).tell(self._reading.wanted.wrong or count, wrong=bool(self._reading.wanted.wrong))

    @work(group="more")
    async def _read_more(self, everything: bool = False) -> None:
        """Older runs, a page after the other while the user goes down (or all, for another order or the last one)."""
        self._all_wanted = self._all_wanted or everything
        if self._reading_more:
            return
        self._reading_more = True
        try:
            while not self._runs.complete and self._runs.last is not None:
                reading, before = self._reading, self._runs.last
                page = await self.tui.history.read(partial(reading.older, before=before))
                if reading is not self._reading:
                    return
                self._runs.older_read(page, NEXT_PAGE)
                if not self._all_wanted:
                    break
                self._busy = f"reading {len(self._runs.known):,}"
                self._tell(self.query_one(LineTable))
        except TuiEvalError as error:
            self.notify(str(error), severity="error")
        finally:
            self._reading_more = self._all_wanted = False
            self._busy = ""
        self._show()
        if self._last_wanted:
            self._last_wanted = False
            self.query_one(LineTable).action_last()

    @on(LineTable.LastWanted, "#runs")
    def _to_the_last(self) -> None:
        if not self._runs.complete:
            self._last_wanted = True
            self._read_more(everything=True)

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
        self._reading.give_up()
        self._reading = RunsReading(run_filter.parse(event.text, datetime.now().astimezone()))
        self._runs.clear()
        self._first = True
        self.query_one(LineTable).set_empty("Reading the history…")
        if self._reading.wanted.texts:
            self.query_one(LineTable).show([])
            self._update_index()
        self.ask_again()

    @on(FilterBar.Left)
    def _filter_left(self) -> None:
        self.query_one(LineTable).focus()

    def give_back(self) -> bool:
        return self.query_one(FilterBar).close()

    # -- what one does with runs --

    def chosen(self) -> list[RunOverview]:
        """The marked runs, else the one under the cursor. Nothing, and told, when a filter hides all that are marked."""
        table = self.query_one(LineTable)
        chosen = [self._runs.known[name] for name in map(str, table.chosen()) if name in self._runs.known]
        if table.marks and not chosen:
            self.notify("What is marked is not listed now: esc clears the filter, u the marks.", severity="warning")
        return chosen

    @on(LineTable.Selected, "#runs")
    def _open(self, event: LineTable.Selected) -> None:
        self.tui.open("run", run_id=str(event.key))

    def action_compare(self) -> None:
        chosen = self.chosen()
        if len(chosen) == 2:
            older, newer = sorted((each.run for each in chosen), key=lambda run: run.created_at)
            self.tui.open("compare", left=older.run_id, right=newer.run_id)
        elif chosen or not self.query_one(LineTable).marks:
            self.notify("Mark two runs with space, then press c.", severity="warning")

    @asks("change")
    async def action_tags(self) -> None:
        from tui_eval.tui.run_actions import change_tags

        if await change_tags(self.tui, [each.run for each in self.chosen()]):
            self.ask_again()

    @asks("change")
    async def action_note(self) -> None:
        from tui_eval.tui.run_actions import change_note

        overview = self._runs.known.get(str(self.query_one(LineTable).cursor_key))
        if overview is not None and await change_note(self.tui, overview.run):
            self.ask_again()

    @asks("change")
    async def action_delete(self) -> None:
        from tui_eval.tui.run_actions import delete_runs

        await delete_runs(self.tui, [each.run for each in self.chosen()], self._deleted)

    def _deleted(self, run_id: str) -> None:
        if not self.is_attached:
            return
        self._runs.forget(run_id)
        self.query_one(LineTable).drop_marks([run_id])
        if in_front(self):
            self._show()

    @work(group="demo", exclusive=True)
    async def action_demo(self) -> None:
        from tui_eval.tui.run_actions import start_demo

        await start_demo(self.tui)
        self.ask_again()
