"""One task: what it was asked, what was expected, what came back, how it was judged, and every attempt of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.message import Message
from textual.widget import Widget

from tui_eval.display import safe
from tui_eval.tui import keys
from tui_eval.tui.polling import HistoryTrouble, Watch, in_front
from tui_eval.tui.projections import task_head, task_sections
from tui_eval.tui.screens.sections import SectionsScreen
from tui_eval.tui.task_reading import TaskReading, TaskView
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.cell_lines import CellLines
from tui_eval.tui.widgets.section_bar import SectionBar
from tui_eval.tui.widgets.styled_text import StyledText, StyledView

if TYPE_CHECKING:
    from tui_eval.tui.projections.task_copies import Copy


class TaskRead(Message):
    """The task was read."""

    def __init__(self, view: TaskView) -> None:
        super().__init__()
        self.view = view


class TaskScreen(SectionsScreen):
    """``task_ids`` are the keys of the tasks to page through, in their order; the task itself is one of them."""

    DEFAULT_CSS = """
    TaskScreen #head { height: 2; padding: 0 1; }
    TaskScreen.-short #head { height: 1; }
    TaskScreen StyledView { padding: 0 1; }
    """
    BINDINGS: ClassVar = keys.bindings("task")
    PANELS = ("#text",)
    SECTIONS = task_sections.NAMES
    HINTS = (
        "task.next",
        "task.previous",
        "task.rerun",
        "task.cancel",
        "task.copy",
        "task.next_section",
        "viewer.search",
        "task.attempt",
        "task.pager",
        "task.format",
        "viewer.wrap",
    )
    HELP = (
        "One task in sections (1 to 9, or tab): what was asked, expected and answered, the comparison, the scores with "
        "their reasons, every attempt with what was sent and received. n and p go through the tasks of the list."
    )

    def __init__(self, run_id: str, task_id: int, task_ids: Sequence[int] = ()) -> None:
        super().__init__()
        self.run_id = run_id
        self.task_ids = task_ids
        self.view: TaskView | None = None
        self._reading = TaskReading(run_id, task_id)
        self._place = next((place for place, key in enumerate(task_ids) if key == task_id), 0)
        self._watch: Watch[TaskView] | None = None
        self._shown: object = None

    def body(self) -> Iterable[Widget]:
        yield CellLines(id="head")
        yield SectionBar()
        yield StyledView(empty="Reading the task…", id="text")

    @property
    def crumb(self) -> str:
        return "Task" if self.view is None else self.view.task.case_id

    def on_mount(self) -> None:
        bar = self.query_one(SectionBar)
        bar.titles = self.SECTIONS
        self.text.focus()
        self.show_place("")
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._watch = self.watch_history(lambda history: self._reading(history), TaskRead)
        self.set_interval(1.0, self._clock)

    # -- what was read --

    @on(TaskRead)
    def _task_read(self, event: TaskRead) -> None:
        if event.view.task.id != self._reading.task_id or event.view == self.view:
            return
        self.view = event.view
        self.query_one(SectionBar).notes = task_sections.notes(event.view)
        self._show_head()
        self.show_section()
        self.refresh_bindings()

    @on(HistoryTrouble)
    def _not_read(self, event: HistoryTrouble) -> None:
        if self.view is None:
            gone = "This task is not in the history: its run was deleted.\nesc goes back."
            self.text.set_empty(gone if event.missing else "The task cannot be read now.")

    def _clock(self) -> None:
        if in_front(self) and self.view is not None and self.view.live:
            self._show_head()

    def _show_head(self) -> None:
        if self.view is None:
            return
        count = len(self.task_ids)
        place = f"{self._place + 1:,} of {count:,}" if count > 1 else ""
        lines = [task_head.title(self.view, ""), task_head.facts(self.view, time.time())]
        if self.has_class("-short") and not self.view.task.outcome.final:
            lines.reverse()  # there is one line: what it is doing comes first
        self.query_one("#head", CellLines).show(lines)
        self.show_place(place)

    @work(group="section", exclusive=True)
    async def show_section(self) -> None:
        """Lay the open section out in a thread, for a text may be large, and show it."""
        view, section, raw = self.view, self.section, self.raw
        if view is None:
            return
        text = await self.tui.history.call(lambda: StyledText(task_sections.section(view, section, raw)))
        what = (view.task.id, section, raw, view.attempt)
        self.text.show(text, keep_place=what == self._shown)
        self._shown = what

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._show_head)

    # -- sections --

    def next_panel(self, direction: int) -> None:
        self.action_section(direction)

    def give_back(self) -> bool:
        return self.text.end_search()

    # -- other tasks, other attempts --

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        view = self.view
        if action == "page":
            return len(self.task_ids) > 1
        if action == "attempt":
            return view is not None and len(view.attempts) > 1
        if action == "rerun":
            return view is not None and not view.state.live
        if action == "cancel":
            return view is not None and view.live
        return True

    def action_page(self, direction: int) -> None:
        place = self._place + direction
        if not 0 <= place < len(self.task_ids):
            self.notify("That was the last task." if direction > 0 else "That was the first task.", timeout=2)
            return
        self._place = place
        self._reading = TaskReading(self.run_id, self.task_ids[place])
        self.ask_again()

    def action_attempt(self, direction: int) -> None:
        if self.view is None or not self.view.attempts:
            return
        self._reading.attempt = (self.view.attempt + direction) % len(self.view.attempts)
        attempts = self.SECTIONS.index("Attempts")
        if self.section < attempts:
            self.query_one(SectionBar).current = attempts
        self.ask_again()

    # -- copying --

    @asks("command")
    async def action_copy(self) -> None:
        chosen = await self._choose_copy("Copy to the clipboard")
        if chosen is None:
            return
        from tui_eval.tui.clipboard import fits
        from tui_eval.tui.screens.copying import copy_text, write_text

        if not fits(chosen.text):
            await write_text(self.tui, self._file_name(chosen), chosen.text, too_large=True)
            return
        copy_text(self.tui, chosen.label, chosen.text)

    @asks("command")
    async def action_write(self) -> None:
        chosen = await self._choose_copy("Write to a file")
        if chosen is not None:
            from tui_eval.tui.screens.copying import write_text

            await write_text(self.tui, self._file_name(chosen), chosen.text)

    async def _choose_copy(self, title: str) -> Copy | None:
        from tui_eval.tui.projections.task_copies import copies
        from tui_eval.tui.screens.dialogs import Choose, Option

        view = self.view
        if view is None:
            return None
        found = {each.name: each for each in await self.tui.history.call(partial(copies, view, self.tui.history.path))}
        options = [Option(each.name, each.label, each.note) for each in found.values()]
        name = await self.app.push_screen_wait(Choose(title, options))
        return None if name is None else found[name]

    def _file_name(self, chosen: Copy) -> str:
        from tui_eval.tui.projections.task_copies import file_name

        assert self.view is not None
        return file_name(self.view, chosen)

    # -- other programs --

    @work(group="command")
    async def action_pager(self) -> None:
        from tui_eval.tui.paging import page, shown_file

        text = await self._section_text()
        if text:
            page(self.tui, shown_file("section.txt", safe(text)))

    @work(group="command")
    async def action_editor(self) -> None:
        from tui_eval.tui.editing import edit
        from tui_eval.tui.paging import shown_file

        text = await self._section_text()
        if text:
            await edit(self.tui, shown_file("section.txt", text))

    async def _section_text(self) -> str:
        view, section, raw = self.view, self.section, self.raw
        if view is None:
            return ""
        parts = await self.tui.history.call(lambda: task_sections.section(view, section, raw))
        return "".join(text for text, _ in parts)

    # -- the run --

    @asks("command")
    async def action_rerun(self) -> None:
        from tui_eval.tui.run_commands import rerun_tasks

        if self.view is None:
            return
        run_id = await rerun_tasks(self.tui, self.view.run, self.view.totals, [self.view.task.id])
        if run_id is not None:
            self.tui.open("run", run_id=run_id)

    @work(group="command")
    async def action_cancel(self) -> None:
        from tui_eval.tui.run_commands import command

        if self.view is not None:
            await command(self.tui, self.view.run, "cancel_task", {"task": self.view.task.id})
