"""Plans: every plan, orchestration and evalset of the workspace, whether it can be run, and what it would do.

Opening this screen runs nothing: files are read, that is all.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tui_eval.errors import Fault, TuiEvalError
from tui_eval.tui import keys
from tui_eval.tui.background import away
from tui_eval.tui.last_runs import LastRuns
from tui_eval.tui.plan_reading import KINDS, CheckedPlan, PlanShelf, find, read_source, stamp_of
from tui_eval.tui.polling import in_front
from tui_eval.tui.projections import plans as rows
from tui_eval.tui.projections.plans import PlanItem
from tui_eval.tui.screens.browse import BrowseScreen
from tui_eval.tui.text import content, plural
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.filter_bar import FilterBar
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.panels import Panel, PanelTabs
from tui_eval.tui.widgets.row_source import BuiltSource
from tui_eval.tui.widgets.source_view import SourceView

if TYPE_CHECKING:
    from tui_eval.spec.workspace import Found
    from tui_eval.store.run_queries import RunOverview

_LOOK_SECONDS = 2.0
"""How often the plan under the cursor is looked at for changes made elsewhere (an editor in another window)."""


class RunsOfPlans(Message):
    """The last run of each plan was read from the history."""

    def __init__(self, found: dict[str, RunOverview]) -> None:
        super().__init__()
        self.found = found


class PlansScreen(BrowseScreen):
    """The plans, and of the one under the cursor its requests, its faults and its file."""

    DEFAULT_CSS = """
    PlansScreen #fault { height: auto; max-height: 6; padding: 0 2; border-top: solid $edge; }
    PlansScreen #fault.-none { display: none; }
    """
    BINDINGS: ClassVar = keys.bindings("plans")
    NAMES = ("plans", "requests", "faults", "file")
    STICKY = frozenset(("file",))
    PLATFORM_LIST = "plans"
    HINTS = ("table.select", "plans.launch", "plans.edit", "plans.check", "plans.new", "plans.filter", "plans.validate")
    HELP = (
        "Every plan, AgentCompass orchestration and evalset of the workspace. 1 plans, 2 requests, 3 faults, 4 the "
        "file. Enter on a plan goes to its requests or faults, on a request shows all of it, on a fault goes to its "
        "line. Nothing is run before you launch."
    )

    def __init__(self) -> None:
        super().__init__()
        self._found: list[Found] = []
        self._last: dict[str, RunOverview] = {}
        self._reals: dict[Path, str] = {}
        self._runs = LastRuns()
        self._shown: CheckedPlan | None = None
        self._in_view: tuple[Path, object, list[Fault]] | None = None
        self._other_file: Path | None = None
        self._wanted_line = 0
        self._wanted: Path | None = None
        self._looked = False
        self._busy = ""

    def body(self) -> Iterable[Widget]:
        yield FilterBar("words of the name, the path or the kind")
        yield PanelTabs()
        plans = LineTable(rows.PLANS, id="plans", marking=False, empty="Looking through the workspace…")
        yield Vertical(Panel("Plans", plans, id="p-plans"), id="above")
        requests = LineTable(rows.REQUESTS, id="requests", marking=False, empty="No request could be read.")
        faults = LineTable(rows.FAULTS, id="faults", marking=False, empty="No faults.")
        yield Vertical(
            Panel("Requests", requests, id="p-requests"),
            Panel("Faults", faults, Static("", id="fault", markup=False), id="p-faults"),
            Panel("File", SourceView(id="file", empty="No file."), id="p-file"),
            id="below",
        )

    def on_mount(self) -> None:
        self.focus_panel(1)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._look_through()
        self.watch_history(self._runs, RunsOfPlans)
        self.set_interval(_LOOK_SECONDS, self._look_at_current)

    @property
    def shelf(self) -> PlanShelf:
        return self.tui.plan_shelf

    # -- reading the workspace --

    @work(group="look", exclusive=True)
    async def _look_through(self, again: bool = False) -> None:
        """Find the files, then check one after the other; what is known and unchanged costs nothing."""
        self._busy = "looking"
        self._tell()
        workspace = await away(partial(find, self.tui.workspace))
        found = [each for each in workspace.found if each.kind in KINDS]
        self._reals = await away(lambda: {each.path: os.path.realpath(each.path) for each in found})
        self._found = found
        self.tell_bounds(workspace)
        self.show_files()
        for done, each in enumerate(sorted(self._found, key=lambda each: each.size)):  # no large one before the others
            self._busy = f"checking {done + 1} of {len(self._found)}"
            before = self.shelf.known(each.path)
            checked = await away(partial(self.shelf.check, each.path, again=again))
            if checked is not before:
                self.show_files()
        self._busy = ""
        self._looked = True
        self.show_files()

    @work(group="check", exclusive=True)
    async def _check(self, path: Path, *, tell: bool = True) -> None:
        """Validate one plan now."""
        checked = await away(partial(self.shelf.check, path, again=True))
        self.show_files()
        if tell:
            self.notify(f"{path.name}: {rows.validity(checked).text}")

    @work(group="stat", exclusive=True)
    async def _look_at_current(self) -> None:
        """Validate the plan under the cursor again when its file has changed."""
        path = self.path
        known = self.shelf.known(path) if path is not None and in_front(self) else None
        if path is not None and known is not None and await away(partial(stamp_of, path)) != known.stamp:
            self._check(path, tell=False)

    @on(RunsOfPlans)
    def _runs_read(self, event: RunsOfPlans) -> None:
        if event.found != self._last:
            self._last = event.found
            self.show_files()

    def ask_again(self) -> None:
        """ctrl+r: the folder, every plan and the history anew."""
        super().ask_again()
        self._runs.forget()
        self._look_through(again=True)

    # -- showing --

    def _item(self, found: Found) -> PlanItem:
        return PlanItem(found, self.shelf.known(found.path), self._last.get(self._reals[found.path]))

    def draw_files(self) -> None:
        table = self.table("plans")
        folder = self.tui.workspace
        chosen = [each for each in self._found if rows.matches(each, self.sought, folder)]
        items = rows.ordered(map(self._item, chosen), table.sort_column, table.descending, folder)
        if self._busy == "looking":
            table.set_empty("Looking through the workspace…")
        elif self.sought:
            table.set_empty("No plan matches.\nChange the filter with /, or clear it with esc.")
        else:
            table.set_empty(
                f"No plans in {folder}.\nPress n to make one from a sample,\nor , to set another workspace."
            )
        now = datetime.now().astimezone()
        table.set_source(
            BuiltSource(items, lambda item: item.found.path, lambda item: rows.plan_row(item, folder, now))
        )
        if self._wanted is not None and table.move_to(self._wanted):
            self._wanted = None
        self.query_one(FilterBar).tell(f"{len(chosen):,} of {len(self._found):,}")
        self._tell()
        self.show_detail()

    def _tell(self) -> None:
        known = (self.shelf.known(each.path) for each in self._found)
        wrong = sum(1 for each in known if each is not None and rows.faults_of(each))
        parts = [self._busy, plural(len(self._found), "plan"), f"{wrong} with faults" if wrong else ""]
        self.show_place(", ".join(part for part in parts if part))

    # -- the plan under the cursor --

    def show_detail(self) -> None:
        path = self.path
        checked = self.shelf.known(path) if path is not None else None
        if checked is not self._shown:
            other = self._shown is None or checked is None or self._shown.path != checked.path
            self._shown = checked
            self.table("requests").show([rows.request_row(each) for each in checked.requests] if checked else [])
            self.table("faults").show(
                [rows.fault_row(place, each, checked.path) for place, each in enumerate(self._all_faults)]
                if checked
                else []
            )
            if other:
                self._other_file = None
                self.table("requests").action_first()
                self.table("faults").action_first()
            self._say_why_empty(checked)
            self._show_fault()
        self._show_titles()
        self.show_panel()

    def _say_why_empty(self, checked: CheckedPlan | None) -> None:
        read = "No plan is chosen." if self.path is None else "Checking…"
        self.table("requests").set_empty("No request could be read: see 3, the faults." if checked else read)
        if checked is not None:
            where = "with its datasets" if checked.with_datasets else "; c looks at its datasets too"
            read = f"No faults {where}." if checked.with_datasets else f"No faults{where}."
        self.table("faults").set_empty(read)

    @property
    def _all_faults(self) -> list[Fault]:
        """What stops a launch, then what does not."""
        return [] if self._shown is None else [*self._shown.faults, *self._shown.warnings]

    def best_detail(self) -> str:
        return "faults" if self._shown is not None and rows.faults_of(self._shown) else "requests"

    def _show_titles(self) -> None:
        requests = f"Requests {self.table('requests').source.count()}"
        self.set_titles((f"Plans {len(self._found)}", requests, rows.faults_title(self._shown), "File"))

    def detail_shown(self, name: str) -> None:
        if name == "file":
            self._show_file()

    @work(group="file", exclusive=True)
    async def _show_file(self) -> None:
        """Read the file into the viewer, unless it is there already, and go to the line that is wanted."""
        path = self._other_file or self.path
        view = self.query_one(SourceView)
        if path is None:
            view.set_source("", {})
            return
        wanted = (path, await away(partial(stamp_of, path)), self._all_faults)
        if self._in_view != wanted:
            text = await away(partial(read_source, path))
            same = self._in_view is not None and self._in_view[0] == path
            self._in_view = wanted
            own = [each for each in self._all_faults if each.file == str(path)]
            marks = {each.line: "warning" for each in own if each.warning}
            view.set_source(text, marks | {each.line: "fault" for each in own if not each.warning}, keep_place=same)
        if self._wanted_line:
            view.point_at(self._wanted_line)
            self._wanted_line = 0

    @on(LineTable.Highlighted, "#faults")
    def _fault_moved(self) -> None:
        self._show_fault()

    def _show_fault(self) -> None:
        """The fault under the cursor in full: the list cuts it."""
        key = self.table("faults").cursor_key
        below = self.query_one("#fault", Static)
        below.set_class(key is None, "-none")
        below.update(content("" if key is None else rows.fault_text(self._all_faults[int(str(key))])))

    @on(LineTable.Selected, "#requests")
    def _open_request(self, event: LineTable.Selected) -> None:
        from tui_eval.tui.screens.full_text import FullTextScreen

        if self._shown is not None:
            request = self._shown.requests[int(str(event.key))]
            text = rows.request_text(request)
            self.app.push_screen(FullTextScreen(request.name, text))

    @on(LineTable.Selected, "#faults")
    def _go_to_fault(self, event: LineTable.Selected) -> None:
        fault = self._all_faults[int(str(event.key))]
        path = Path(fault.file) if fault.file else self.path
        self._other_file, self._wanted_line = path, fault.line
        self.focus_panel(self.NAMES.index("file") + 1)
        self._show_file()

    # -- what one does with a plan --

    @work(group="change", exclusive=True)
    async def action_edit(self) -> None:
        from tui_eval.tui.editing import edit

        path, at = self.path, 0
        view = self.query_one(SourceView)
        if self.focused is view and self._in_view is not None:
            path, at = self._in_view[0], view.line_here
        elif self.focused is self.table("faults") and self._all_faults:
            fault = self._all_faults[int(str(self.table("faults").cursor_key))]
            path, at = (Path(fault.file) if fault.file else path), fault.line
        if path is not None and await edit(self.tui, path, at) and self.path is not None:
            self._check(self.path)

    def action_validate(self) -> None:
        if self.path is not None:
            self._check(self.path)

    def _show_how_far(self, line: str) -> None:
        self._busy = line
        self._tell()

    @work(group="check", exclusive=True)
    async def action_check(self) -> None:
        """The whole check of ``tui-eval validate``, which reads the datasets too, in a process of its own."""
        from tui_eval.tui.plan_reading import checked_with_datasets

        path = self.path
        if path is None:
            return
        self._busy = f"checking {path.name} with its datasets"
        self._tell()
        try:
            checked = await checked_with_datasets(path, self.shelf.check, self._show_how_far)
        except TuiEvalError as error:
            self._busy = ""
            self._tell()
            self.notify(str(error), severity="error", timeout=8)
            return
        except asyncio.CancelledError:  # by another check, or because the screen goes away
            self._busy = ""
            raise
        self._busy = ""
        self.shelf.put(checked)
        self.show_files()
        self.notify(f"{path.name} with its datasets: {rows.validity(checked).text}")

    @asks("change", exclusive=True)
    async def action_new(self) -> None:
        from tui_eval.tui.plan_actions import new_plan

        made = await new_plan(self.tui)
        if made is not None:
            self._wanted = made
            self._look_through()

    @asks("launch", exclusive=True)
    async def action_launch(self) -> None:
        from tui_eval.tui.launch_opening import open_launch

        if self.path is None:
            self.tui.open("launch")
        else:
            await open_launch(self.tui, self.path)

    def action_open_run(self) -> None:
        last = self._last.get(self._reals.get(self.path, "")) if self.path is not None else None
        if last is None:
            self.notify("This plan has no run in the history yet. L launches it.")
        else:
            self.tui.open("run", run_id=last.run.run_id)
