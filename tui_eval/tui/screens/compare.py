"""Two runs side by side: what became worse, what became better, what is new, and each pair in full."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget

from tui_eval.analysis.changes import MEANINGS, Change, Group
from tui_eval.errors import TuiEvalError
from tui_eval.tui import keys
from tui_eval.tui.background import Stopped
from tui_eval.tui.projections import comparison as rows
from tui_eval.tui.projections.comparison import ChangeFilter, PairSide
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.cell_lines import CellLines
from tui_eval.tui.widgets.filter_bar import FilterBar
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.row_source import BuiltSource
from tui_eval.tui.widgets.styled_text import StyledText, StyledView

if TYPE_CHECKING:
    from tui_eval.reports.comparison import RunComparison
    from tui_eval.store.reader import History
    from tui_eval.store.records import TaskRecord

_SHOW_SECONDS = 0.4
_CYCLE = ("", *(f"is:{group.value}" for group in Group))


class Progress:
    """How far a comparison is, and whether it should go on. Written by its thread, read by the screen."""

    def __init__(self) -> None:
        self.share = 0  # percent
        self.stopped = False

    def __call__(self, done: int, total: int) -> None:
        if self.stopped:
            raise Stopped
        self.share = 100 * min(done, total) // total if total else 0


class Compared(Message):
    """The runs were compared."""

    def __init__(self, found: RunComparison) -> None:
        super().__init__()
        self.found = found


class CompareScreen(BaseScreen):
    """``left`` is the run before, ``right`` the one after; both are run ids."""

    DEFAULT_CSS = """
    CompareScreen #head { height: 3; padding: 0 1; }
    CompareScreen #changes { height: 1fr; }
    CompareScreen #pair { height: 1fr; border-top: solid $edge; }
    CompareScreen #pair:focus-within { border-top: solid $primary; }
    CompareScreen #pair StyledView { width: 1fr; padding: 0 1; }
    CompareScreen #right { border-left: solid $edge; }
    CompareScreen #diff { display: none; }
    CompareScreen.-diff #diff { display: block; }
    CompareScreen.-diff #left, CompareScreen.-diff #right { display: none; }
    CompareScreen.-one-panel #pair { display: none; }
    CompareScreen.-one-panel.-pair #pair { display: block; }
    CompareScreen.-one-panel.-pair #changes { display: none; }
    """
    BINDINGS: ClassVar = keys.bindings("compare")
    HELP = (
        "The differences between two runs, the worst first. enter goes to the pair below (esc comes back), d compares "
        "its outputs word by word, [ and ] open its tasks. Filter by words and is:worse, is:better, is:other, "
        "is:output, is:new, is:removed. Outputs count as different when their first 200 characters are."
    )

    def __init__(self, left: str, right: str) -> None:
        super().__init__()
        self.left = left
        self.right = right
        self.found: RunComparison | None = None
        self._filter = ChangeFilter()
        self._progress = Progress()
        self._changes: dict[object, Change] = {}
        self._pair_of: object = None

    def body(self) -> Iterable[Widget]:
        yield CellLines(id="head")
        yield FilterBar("words of case, message, output; is:worse is:better is:other is:output is:new is:removed")
        yield LineTable(rows.COLUMNS, id="changes", empty="Comparing…", marking=False)
        with Horizontal(id="pair"):
            yield StyledView(id="left")
            yield StyledView(id="right")
            yield StyledView(id="diff")

    @property
    def table(self) -> LineTable:
        return self.query_one("#changes", LineTable)

    def on_mount(self) -> None:
        self.set_class(self.app.size.width < 80, "-diff")
        self.table.focus()
        self.show_place("")
        self.set_interval(_SHOW_SECONDS, self._show_how_far)
        self.call_after_refresh(self.ask_again)

    # -- comparing --

    def ask_again(self) -> None:
        self._compare()

    @work(group="compare", exclusive=True)
    async def _compare(self) -> None:
        from tui_eval.reports.comparison import compare_stored

        progress = self._progress = Progress()
        self.show_place("comparing…")
        question = partial(compare_stored, left=self.left, right=self.right, told=progress)
        try:
            found = await self.tui.history.read(question)
        except Stopped:
            return
        except TuiEvalError as error:
            self.table.set_empty(f"These runs cannot be compared.\n{error}")
            self.notify(str(error), severity="error")
            self.show_place("")
            return
        finally:
            progress.stopped = True  # also when another comparison takes its place, or the screen goes away
        self.post_message(Compared(found))

    def on_unmount(self) -> None:
        self._progress.stopped = True

    def _show_how_far(self) -> None:
        if self._progress.share and not self._progress.stopped:
            self.show_place(f"comparing… {self._progress.share} %")

    @on(Compared)
    def _compared(self, event: Compared) -> None:
        self.found = event.found
        self._pair_of = None
        self._show_head()
        self._show_changes()

    def _show_head(self) -> None:
        found = self.found
        if found is None:
            return
        width = self.size.width - 2
        lines = [
            rows.side_cells("before", found.left),
            rows.side_cells("after", found.right, found.left),
            rows.count_cells(found, self._filter.group, short=width < 100),
        ]
        self.query_one("#head", CellLines).show(lines)

    def _show_changes(self) -> None:
        found = self.found
        if found is None:
            return
        shown = rows.filtered(found.changes, self._filter)
        self._changes = {change.key: change for change in shown}
        self.table.set_empty(self._empty(found))
        self.table.set_source(BuiltSource(shown, lambda each: each.key, rows.change_row))
        live = " (live: ctrl+r compares again)" if self._any_live(found) else ""
        self.show_place(f"{len(shown):,} of {len(found.changes):,} differences{live}")
        wrong = self._filter.wrong
        told = wrong or (MEANINGS[self._filter.group] if self._filter.group else f"{len(shown):,} differences")
        self.query_one(FilterBar).tell(told, wrong=bool(wrong))
        if not shown:
            self._pair_of = None
            for name in ("left", "right", "diff"):
                self.query_one(f"#{name}", StyledView).show(StyledText())
        elif self._pair_of != self.table.cursor_key:
            self._show_pair()

    def _empty(self, found: RunComparison) -> str:
        if found.changes:
            return "No difference matches.\nChange the filter with / or f, or clear it with esc."
        if not found.comparison.compared:
            return "Neither run has a task."
        return f"No difference.\nAll {found.unchanged:,} tasks have the same outcome and the same output."

    @staticmethod
    def _any_live(found: RunComparison) -> bool:
        from tui_eval.store.liveness import state_now

        return any(state_now(side.run).live for side in (found.left, found.right))

    # -- the pair under the cursor --

    @on(LineTable.Highlighted, "#changes")
    def _moved(self) -> None:
        self._show_pair()

    @work(group="pair", exclusive=True)
    async def _show_pair(self) -> None:
        key = self.table.cursor_key
        change = self._changes.get(key)
        if change is None:
            return
        await asyncio.sleep(0.05)  # who runs through the list does not read every pair
        try:
            texts = await self.tui.history.read(partial(_pair_texts, change=change))
        except TuiEvalError as error:
            self.notify(str(error), severity="error")
            return
        self._pair_of = key
        for name, text in zip(("left", "right", "diff"), texts, strict=True):
            self.query_one(f"#{name}", StyledView).show(text)

    @on(LineTable.Selected, "#changes")
    def _selected(self) -> None:
        self.focus_panel(2)

    @property
    def LABELS(self) -> Mapping[str, str]:  # noqa: N802 (what the line of keys asks a screen for)
        """What a key means now: the one that compares word by word goes back, too."""
        return {"compare.view": "side by side"} if self.has_class("-diff") else {}

    def action_view(self) -> None:
        focused = self.focused is not None and self.focused.id in ("left", "right", "diff")
        self.toggle_class("-diff")
        self.refresh_bindings()
        if focused:
            self.call_after_refresh(self.focus_panel, 2)

    def focus_panel(self, number: int) -> None:
        panels = ("changes", "diff") if self.has_class("-diff") else ("changes", "left", "right")
        if 1 <= number <= len(panels):
            self.set_class(number > 1, "-pair")
            self.focus_soon(self.query_one(f"#{panels[number - 1]}"))

    def next_panel(self, direction: int) -> None:
        panels = ["changes", "diff"] if self.has_class("-diff") else ["changes", "left", "right"]
        here = self.focused.id if self.focused is not None else None
        place = panels.index(here) if here in panels else 0
        self.focus_panel((place + direction) % len(panels) + 1)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height < 20, "-one-panel")
        self.call_after_refresh(self._show_head)

    # -- filter --

    def action_filter(self) -> None:
        self.focus_soon(None)
        self.query_one(FilterBar).open()

    def action_cycle(self) -> None:
        bar = self.query_one(FilterBar)
        place = _CYCLE.index(bar.text) if bar.text in _CYCLE else 0
        bar.set_text(_CYCLE[(place + 1) % len(_CYCLE)])

    @on(FilterBar.Changed)
    def _filter_changed(self, event: FilterBar.Changed) -> None:
        self._filter = rows.parse(event.text)
        self._show_head()
        self._show_changes()

    @on(FilterBar.Left)
    def _filter_left(self) -> None:
        self.focus_panel(1)

    def give_back(self) -> bool:
        focused = self.focused
        if isinstance(focused, StyledView):
            if not focused.end_search():
                self.focus_panel(1)
            return True
        return self.query_one(FilterBar).close()

    # -- elsewhere --

    def action_swap(self) -> None:
        self.left, self.right = self.right, self.left
        self.ask_again()

    def action_task(self, side: str) -> None:
        change = self._changes.get(self.table.cursor_key)
        if change is None:
            return
        shown = [_task(each, side) for each in self._changes.values()]
        task = _task(change, side)
        if task is None:
            self.notify(f"The {'earlier' if side == 'left' else 'later'} run does not have this task.")
            return
        run_id = self.left if side == "left" else self.right
        self.tui.open("task", run_id=run_id, task_id=task.id, task_ids=[each.id for each in shown if each])

    @asks("command")
    async def action_export(self) -> None:
        from tui_eval.tui.exporting import export
        from tui_eval.tui.screens.dialogs import Option

        if self.found is None:
            return
        options = [Option("md", "Markdown", "to read"), Option("csv", "CSV", "a row a difference")]
        left, right = self.found.left.run.run_id, self.found.right.run.run_id
        words = ["compare", self.left, self.right]
        await export(self.tui, "Write the comparison", options, f"{left}-to-{right}", words)


def _task(change: Change, side: str) -> TaskRecord | None:
    return change.before if side == "left" else change.after


def _pair_texts(history: History, change: Change) -> tuple[StyledText, StyledText, StyledText]:
    """Both sides of a difference, and their comparison; in a thread."""
    before, after = (_pair_side(history, task) for task in (change.before, change.after))
    return (
        StyledText(rows.side_parts("before", before)),
        StyledText(rows.side_parts("after", after)),
        StyledText(rows.diff_parts(before, after)),
    )


def _pair_side(history: History, task: TaskRecord | None) -> PairSide | None:
    if task is None:
        return None
    payload = history.answer_of(task.id)
    return PairSide(task, None if payload is None else payload.answer, tuple(history.scores(task.id)))
