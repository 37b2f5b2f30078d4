"""A run, live or past: the same screen, because both are only rows of the history that change or do not."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from textual import events, on
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tui_eval.display import local_time
from tui_eval.store.records import RunState
from tui_eval.tui.polling import HistoryTrouble, Watch, in_front
from tui_eval.tui.projections import requests as request_rows
from tui_eval.tui.projections import run_summary, task_filter
from tui_eval.tui.projections import tasks as task_rows
from tui_eval.tui.projections.agentloop import record_lines
from tui_eval.tui.projections.datalayer import view_lines
from tui_eval.tui.run_reading import RunReading, RunView, TasksReading, TasksView, TasksWanted
from tui_eval.tui.screens.run_keys import RunKeys
from tui_eval.tui.text import fit, plural, whole_seconds
from tui_eval.tui.widgets.cell_lines import CellLines
from tui_eval.tui.widgets.counts import widths_of
from tui_eval.tui.widgets.filter_bar import FilterBar
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.panels import Panel, PanelTabs
from tui_eval.tui.widgets.row_source import PagedSource

_CYCLE = ("", "outcome:failed,error", "outcome:running")
_NO_PACE = request_rows.Pace()
_NAMES = ("requests", "tasks", "failures", "slots", "log")


class RunRead(Message):
    """The run was read."""

    def __init__(self, view: RunView) -> None:
        super().__init__()
        self.view = view


class TasksRead(Message):
    """The tasks that the table shows were read."""

    def __init__(self, view: TasksView) -> None:
        super().__init__()
        self.view = view


class RunScreen(RunKeys):
    """One run: requests, tasks, failures grouped, what each running task is doing, the log."""

    DEFAULT_CSS = (
        """
    RunScreen #head { height: auto; max-height: 6; padding: 0 1; }
    RunScreen #only { display: none; height: 1; padding: 0 1; color: $primary; }
    RunScreen.-chosen #only { display: block; }
    RunScreen #bottom { height: 1fr; }
    RunScreen #p-failures { width: 3fr; }
    RunScreen #p-slots { width: 2fr; }
    RunScreen #p-requests { height: auto; max-height: 7; }
    RunScreen #p-requests LineTable { height: auto; max-height: 6; }
    RunScreen #p-tasks { height: 2fr; }
    RunScreen.-high PanelTabs { display: none; }
    RunScreen.-high.-log #p-failures { display: none; }
    RunScreen.-high #p-log { display: none; }
    RunScreen.-high.-log #p-log { display: block; }
    RunScreen.-high.-past #p-slots { display: none; }
    RunScreen.-short PanelHeading, RunScreen.-tall PanelHeading { display: none; }
    RunScreen.-high PanelHeading { display: block; }
    RunScreen.-narrow.-high #bottom { layout: vertical; height: 2fr; }
    """
        + "\n".join(
            f"""
    RunScreen.-one-panel #p-{name} {{ display: none; }}
    RunScreen.-one-panel.-on-{name} #p-{name} {{ display: block; height: 1fr; max-height: 100%; }}
    """
            for name in _NAMES
        )
        + """
    RunScreen.-one-panel #bottom { display: none; height: 0; }
    RunScreen.-one-panel.-on-failures #bottom, RunScreen.-one-panel.-on-slots #bottom,
    RunScreen.-one-panel.-on-log #bottom { display: block; height: 1fr; }
    RunScreen.-one-panel.-on-requests #p-requests LineTable { height: 1fr; max-height: 100%; }
    RunScreen.-tall.-one-panel.-on-requests #p-requests { height: auto; max-height: 9; }
    RunScreen.-tall.-one-panel.-on-requests #p-requests LineTable { height: auto; max-height: 8; }
    RunScreen.-tall.-one-panel.-on-requests #bottom { display: block; height: 1fr; }
    RunScreen.-tall.-one-panel.-on-requests #p-failures { display: block; height: 1fr; }
    RunScreen.-tall.-one-panel.-on-requests #p-failures PanelHeading { display: block; }
    """
    )
    PANELS = tuple(f"#{name}" for name in _NAMES)
    HELP = (
        "One run. 1 requests, 2 tasks, 3 failures by message, 4 what runs now, 5 log. Enter on a request or a failure "
        "shows its tasks; on a task, all of it. The run goes on when you leave."
    )

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.add_class("-on-tasks")
        self._reading = RunReading(run_id)
        self._tasks = TasksReading(run_id)
        self._source = PagedSource((), self._want)
        self._early: TasksRead | None = None
        self._tasks_watch: Watch[TasksView] | None = None
        self._wanted_pages: list[Sequence[int]] = []

    def body(self) -> Iterable[Widget]:
        yield CellLines(id="head")
        yield FilterBar("words or patterns of case, message, output; !without, outcome:failed,error")
        yield PanelTabs()
        yield Panel("Requests", LineTable(request_rows.COLUMNS, id="requests", marking=False), id="p-requests")
        tasks = LineTable(task_rows.TASKS, self._source, id="tasks", empty="Reading…")
        yield Panel("Tasks", Static("", id="only", markup=False), tasks, id="p-tasks")
        failures = LineTable(task_rows.FAILURES, id="failures", marking=False, empty="Nothing has failed.")
        slots = LineTable(task_rows.SLOTS, id="slots", marking=False, empty="No task is running.")
        log = LineTable(task_rows.LOG, id="log", marking=False, empty="The log is empty.")
        yield Horizontal(
            Panel("Failures", failures, id="p-failures"),
            Panel("Running now", slots, id="p-slots"),
            Panel("Log", log, id="p-log"),
            id="bottom",
        )

    @property
    def crumb(self) -> str:
        return self.run_id if self.view is None else f"{self.view.run.name} {self.run_id}"

    def on_mount(self) -> None:
        self.focus_panel(2)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.watch_history(self._reading, RunRead, every=2.0)
        self._tasks_watch = self.watch_history(self._tasks, TasksRead)
        self.set_interval(1.0, self._clock)
        self.set_interval(0.5, self._tell_scan)

    # -- what was read --

    @on(RunRead)
    def _run_read(self, event: RunRead) -> None:
        first = self.view is None
        self.view = event.view
        self.run_id = event.view.run.run_id  # it may have been given as `last` or a beginning
        live = event.view.state.live
        self.set_class(not live, "-past")
        if first and live and not self.query_one(FilterBar).has_class("-open"):
            self.focus_panel(1)
        self._show()
        self.refresh_bindings()
        if self._early is not None:
            early, self._early = self._early, None
            self._tasks_read(early)

    @on(HistoryTrouble)
    def _not_read(self, event: HistoryTrouble) -> None:
        if self.view is None:
            gone = "This run is not in the history.\nesc goes back."
            self.table("tasks").set_empty(gone if event.missing else "The run cannot be read now.")

    def _clock(self) -> None:
        """Times of a live run move on; a past one draws nothing."""
        if in_front(self) and self.view is not None and self.view.state.live:
            self._show()

    def _show(self) -> None:
        view = self.view
        assert view is not None
        now = time.time()
        names = view.request_names
        concurrency = max(1, view.run.task_concurrency)
        paused = view.state is RunState.PAUSED
        widths = widths_of(each.counters for each in view.requests)
        rows = [
            request_rows.request_row(
                each, view.paces.get(each.id, _NO_PACE), now, concurrency, view.state.live, widths, paused=paused
            )
            for each in view.requests
        ]
        table = self.table("requests")
        if table.columns != (columns := request_rows.columns(widths, view.state.live)):
            table.set_columns(columns)
        table.show(rows)
        self.table("failures").show([task_rows.failure_row(group, names) for group in view.failures])
        self.table("slots").show(
            [task_rows.slot_row(slot, view.slot_tasks.get(slot.task), names, now) for slot in view.slots]
        )
        log = self.table("log")
        following = log.cursor >= log.source.count() - 1
        log.show([task_rows.log_row(entry) for entry in view.log])
        if following:
            log.action_last()
        self._show_titles(view)
        self._show_head(view, now)

    def _show_head(self, view: RunView, now: float) -> None:
        width = self.size.width - 2
        seconds = run_summary.slowest_left(view.requests, view.paces, view.run.task_concurrency)
        left = "-" if seconds is None else whole_seconds(max(1, round(seconds)))
        remark = run_summary.remark(view.run, view.state, view.total)
        lines = [
            run_summary.first_line(view.run, view.state, view.total, width),
            run_summary.second_line(view.run, view.state, view.total, now, left, width),
            *([[remark]] if remark.text else []),
            *record_lines(view.platforms, view.request_names, 3 if self.size.height >= 30 else 1),
            *view_lines(view.platforms),
        ]
        self.query_one("#head", CellLines).show(lines)
        self.show_place(f"started {local_time(view.run.created_at)[:16]}")

    def _show_titles(self, view: RunView) -> None:
        failed = sum(group.count for group in view.failures)
        tasks = f"Tasks {len(self._source.keys):,}" + (" filtered" if self._tasks.wanted.narrowed else "")
        marks = len(self.table("tasks").marks)
        titles = (
            f"Requests {len(view.requests)}",
            tasks + (f", {marks} marked" if marks else ""),
            f"Failures {failed:,}",
            f"Running {len(view.slots)}",
            "Log",
        )
        self.query_one(PanelTabs).titles = titles
        for name, title in zip(_NAMES, titles, strict=True):
            self.query_one(f"#p-{name}", Panel).set_title(title)

    # -- tasks --

    def _want(self, page: Sequence[int]) -> None:
        """The table came to a page that was not read: ask for it (called while drawing, so only noted here)."""
        self._wanted_pages.append(page)
        self.call_later(self._ask_for_pages)

    def _ask_for_pages(self) -> None:
        first, last = self.table("tasks").visible_rows
        self._tasks.pages = [*self._source.shown_pages(first, last), *self._wanted_pages]
        if self._tasks_watch is not None:
            self._tasks_watch.ask_again()

    @on(TasksRead)
    def _tasks_read(self, event: TasksRead) -> None:
        view, table = event.view, self.table("tasks")
        if self.view is None:
            self._early = event  # the names of the requests come with the run
            return
        if view.wanted != self._tasks.wanted:
            return
        if self._source.keys is not view.keys:
            self._source.replace_keys(view.keys)
        names, live = self.view.request_names, self.view.state.live
        repeats = task_rows.has_repeats(self.view.run.plan)
        if table.columns != (columns := task_rows.columns(repeats)):
            table.set_columns(columns)
        for page, tasks in view.pages:
            if page in self._wanted_pages:
                self._wanted_pages.remove(page)
            rows = {key: task_rows.task_row(task, names, live, repeats) for key, task in tasks.items()}
            self._source.arrived(page, rows)
        table.set_empty(
            "No task matches.\nChange the filter with /, or clear it with esc."
            if view.wanted.narrowed
            else "This run has no tasks yet."
        )
        table.rows_changed()
        self._tasks.pages = self._source.shown_pages(*table.visible_rows)
        bar = self.query_one(FilterBar)
        if not bar.has_class("-wrong"):
            bar.tell(plural(len(view.keys), "task"))
        self._show_titles(self.view)

    def _look_for(self, wanted: TasksWanted) -> None:
        if wanted != self._tasks.wanted:
            self._tasks.wanted = wanted
            self._tasks.pages = ()
            self._show_chosen(wanted)
            if self._tasks_watch is not None:
                self._tasks_watch.ask_again()

    def _show_chosen(self, wanted: TasksWanted) -> None:
        """Say which request or group of failures the table is narrowed to."""
        self.set_class(wanted.chosen, "-chosen")
        view = self.view
        if view is not None and wanted.chosen:
            only = task_rows.chosen_text(wanted.request, wanted.failure, view.failures, view.request_names)
            self.query_one("#only", Static).update(Content(fit(only, self.size.width - 2)))

    def _tell_scan(self) -> None:
        """A scan for a text takes seconds in a large run: say how far it is."""
        looked_at = self._tasks.looked_at
        if looked_at is not None and self.view is not None and in_front(self):
            self.query_one(FilterBar).tell(f"looked at {looked_at:,} of {self.view.total.total:,}…")

    def on_unmount(self) -> None:
        self._tasks.give_up()

    @on(LineTable.Sorted, "#tasks")
    def _sorted(self, event: LineTable.Sorted) -> None:
        self._look_for(replace(self._tasks.wanted, sort=event.column or "position", descending=event.descending))

    @on(LineTable.MarksChanged, "#tasks")
    def _marked(self) -> None:
        if self.view is not None:
            self._show_titles(self.view)

    @on(FilterBar.Changed)
    def _filter_changed(self, event: FilterBar.Changed) -> None:
        text, outcomes, wrong = task_filter.parse(event.text)
        event.bar.tell(wrong, wrong=bool(wrong))
        self._look_for(replace(self._tasks.wanted, text=text, outcomes=outcomes))

    @on(FilterBar.Left)
    def _filter_left(self) -> None:
        self.focus_panel(2)

    def action_filter(self) -> None:
        self._set_panel(1)
        self.focus_soon(None)
        self.query_one(FilterBar).open()

    def action_cycle(self) -> None:
        bar = self.query_one(FilterBar)
        place = _CYCLE.index(bar.text) if bar.text in _CYCLE else 0
        bar.set_text(_CYCLE[(place + 1) % len(_CYCLE)])
        self.focus_panel(2)

    def give_back(self) -> bool:
        if self.query_one(FilterBar).close():
            return True
        if self._tasks.wanted.chosen:
            self._look_for(self._tasks.wanted.of_every_panel())
            return True
        return False

    # -- going into things --

    @on(LineTable.Selected, "#requests")
    def _request_selected(self, event: LineTable.Selected) -> None:
        if isinstance(event.key, int):
            self._look_for(replace(self._tasks.wanted, request=event.key, failure=None))
            self.table("tasks").action_first()
            self.focus_panel(2)

    @on(LineTable.Selected, "#failures")
    def _failure_selected(self, event: LineTable.Selected) -> None:
        group = next((each for each in self.view.failures if each.key == event.key), None) if self.view else None
        if group is not None:
            self._look_for(replace(self._tasks.wanted, request=None, failure=group.key))
            self.table("tasks").action_first()
            self.focus_panel(2)

    @on(LineTable.Selected, "#log")
    def _line_selected(self, event: LineTable.Selected) -> None:
        entry = next((each for each in self.view.log if each.id == event.key), None) if self.view else None
        if entry is not None:
            from tui_eval.tui.screens.full_text import FullTextScreen

            title = f"{local_time(entry.at)} {entry.level}".strip()
            self.app.push_screen(FullTextScreen(title, entry.message))

    @on(LineTable.Selected, "#tasks")
    @on(LineTable.Selected, "#slots")
    def _task_selected(self, event: LineTable.Selected) -> None:
        self.tui.open("task", run_id=self.run_id, task_id=event.key, task_ids=self._source.keys)

    # -- panels --

    def focus_panel(self, number: int) -> None:
        if 1 <= number <= len(_NAMES):
            self._set_panel(number - 1)
            self.focus_soon(self.table(_NAMES[number - 1]))

    def _set_panel(self, panel: int) -> None:
        self.panel = panel
        classes = {f"-on-{name}": place == panel for place, name in enumerate(_NAMES)} | {"-log": panel == 4}
        if any(self.has_class(name) != wanted for name, wanted in classes.items()):
            self.update_classes(classes)
        self.query_one(PanelTabs).current = panel

    def next_panel(self, direction: int) -> None:
        self.focus_panel((self.panel + direction) % len(_NAMES) + 1)

    @on(events.DescendantFocus)
    def _focused(self, event: events.DescendantFocus) -> None:
        if event.widget.id in _NAMES:
            self._set_panel(_NAMES.index(event.widget.id))

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height < 34, "-one-panel")
        if self.view is not None:
            self.call_after_refresh(self._show)
