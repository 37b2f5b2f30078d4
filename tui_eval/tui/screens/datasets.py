"""Datasets: the files of cases in the workspace, their rows at any size, their problems, and samples of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from tui_eval.errors import DatasetError, Fault
from tui_eval.tui import keys
from tui_eval.tui.background import Stopped, away
from tui_eval.tui.dataset_rows import Progress
from tui_eval.tui.plan_reading import find
from tui_eval.tui.projections import datasets as rows
from tui_eval.tui.projections.datasets import DatasetItem
from tui_eval.tui.projections.plans import fault_text, matches
from tui_eval.tui.screens.dataset_cases import CasesTable
from tui_eval.tui.screens.dataset_samples import DatasetSamples
from tui_eval.tui.text import content, plural
from tui_eval.tui.widgets.filter_bar import FilterBar
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.panels import Panel, PanelTabs
from tui_eval.tui.widgets.row_source import BuiltSource
from tui_eval.tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from tui_eval.spec.workspace import Found

CHECKED_AT_ONCE = 4_000_000
"""Bytes of a file that is looked through as soon as the cursor comes to it; larger ones wait for ``c``."""
_SHOW_SECONDS = 0.25
_REST_SECONDS = 0.25


class DatasetsScreen(DatasetSamples):
    """The datasets, and of the one under the cursor its rows, its problems and the sample that is chosen."""

    DEFAULT_CSS = """
    DatasetsScreen #problem { height: auto; max-height: 6; padding: 0 2; border-top: solid $edge; }
    DatasetsScreen #problem.-none { display: none; }
    """
    BINDINGS: ClassVar = keys.bindings("datasets")
    NAMES = ("datasets", "rows", "problems", "sample")
    STICKY = frozenset(("problems", "sample"))
    PLATFORM_LIST = "datasets"
    HINTS = ("table.select", "table.mark", "datasets.sample", "datasets.check", "datasets.filter", "datasets.copy")
    HELP = (
        "Every dataset of the workspace. 1 datasets, 2 rows, 3 problems, 4 the sample. Enter on a row shows all of the "
        "case; space marks rows, t makes a sample of them or by limit, seed and where. It is kept for Launch, and y "
        "copies it for a plan."
    )

    def __init__(self) -> None:
        super().__init__()
        self._found: list[Found] = []
        self._plan_settings: dict[str, tuple[dict[str, Any], str]] = {}
        self._busy = ""
        self._doing: dict[tuple[Path, str], Progress] = {}
        self._sample_text = ""
        self._told: Sequence[Fault] = ()
        self._drawn: tuple[object, ...] = ()

    def body(self) -> Iterable[Widget]:
        yield FilterBar("words of the path")
        yield PanelTabs()
        files = LineTable(rows.DATASETS, id="datasets", marking=False, empty="Looking through the workspace…")
        yield Vertical(Panel("Datasets", files, id="p-datasets"), id="above")
        problems = LineTable(rows.PROBLEMS, id="problems", marking=False)
        yield Vertical(
            Panel("Rows", CasesTable(), id="p-rows"),
            Panel("Problems", problems, Static("", id="problem", markup=False), id="p-problems"),
            Panel("Sample", TextView(id="sample", empty="No dataset is chosen."), id="p-sample"),
            id="below",
        )

    def on_mount(self) -> None:
        self.focus_panel(1)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._look_through()
        self.set_interval(_SHOW_SECONDS, self._show_progress)

    def on_unmount(self) -> None:
        for progress in self._doing.values():
            progress.stopped.set()

    # -- the workspace --

    @work(group="look", exclusive=True)
    async def _look_through(self, again: bool = False) -> None:
        """Find the files, learn from the plans how they are read, then describe and count one after the other."""
        from tui_eval.tui import dataset_reading as reading

        self._busy = "looking"
        self._tell()
        workspace = await away(partial(find, self.tui.workspace))
        self._found = workspace.of_kind("dataset")
        self.tell_bounds(workspace)
        self.show_files()
        plans = workspace.of_kind("plan")
        self._plan_settings = await away(partial(reading.settings_from_plans, plans, self.tui.plan_shelf))
        self._busy = ""
        for each in self._found:
            if again or await away(partial(self.shelf.forget_changed, each.path)):
                self.shelf.forget(each.path)
        while (path := self._next_uncounted()) is not None:
            await self._describe_and_count(path)
        self._tell()

    def _next_uncounted(self) -> Path | None:
        """The file under the cursor first, then the others in their order."""
        paths = [path for path in (self.path, *(each.path for each in self._found)) if path is not None]
        return next((path for path in paths if path not in self.shelf.counts), None)

    async def _describe_and_count(self, path: Path) -> None:
        from tui_eval.tui import dataset_reading as reading

        nothing: tuple[dict[str, Any], str] = ({}, "")
        settings, plan = self._plan_settings.get(str(await away(path.resolve)), nothing)
        progress = self._doing[path, "counting"] = Progress(self._bytes_of(path))
        try:
            facts = await away(partial(reading.describe, path, settings, plan, progress))
            self.shelf.facts[path] = facts
            self.show_files()
            progress.read = 0
            how = partial(reading.watched, path, facts.settings, progress)
            count: int | str = "" if facts.trouble else await away(lambda: how().count())
            self.shelf.counts[path] = count or (facts.trouble[0].message if facts.trouble else 0)
        except DatasetError as error:
            self.shelf.counts[path] = error.faults[0].message
        except Stopped:
            self.shelf.counts[path] = "counting was stopped; r reads it again"
        finally:
            progress.stopped.set()
            self._doing.pop((path, "counting"), None)
        self.show_files()

    def _bytes_of(self, path: Path) -> int:
        return next((each.size for each in self._found if each.path == path), 0)

    def ask_again(self) -> None:
        """ctrl+r: the folder and every file anew."""
        super().ask_again()
        self._look_through(again=True)

    # -- showing --

    def _item(self, found: Found) -> DatasetItem:
        path, shelf = found.path, self.shelf
        doing = [
            f"{what} {progress.percent}%" if progress.size > CHECKED_AT_ONCE else what
            for (of, what), progress in self._doing.items()
            if of == path
        ]
        sample = self.tui.chosen_samples.get(path, {})
        return DatasetItem(
            found, shelf.facts.get(path), shelf.counts.get(path), shelf.surveys.get(path), sample, ", ".join(doing)
        )

    def draw_files(self) -> None:
        table, folder = self.files, self.tui.workspace
        chosen = [each for each in self._found if matches(each, self.sought, folder)]
        items = rows.ordered(map(self._item, chosen), table.sort_column, table.descending)
        if self._busy:
            table.set_empty("Looking through the workspace…")
        elif self.sought:
            table.set_empty("No dataset matches.\nChange the filter with /, or clear it with esc.")
        else:
            kinds = "JSON lines, JSON, CSV, TSV, YAML, Parquet"
            table.set_empty(
                f"No datasets in {folder}.\nPut a file there, or press , to set another workspace.\n({kinds})"
            )
        table.set_source(BuiltSource(items, lambda item: item.found.path, lambda item: rows.dataset_row(item, folder)))
        self.query_one(FilterBar).tell(f"{len(chosen):,} of {len(self._found):,}")
        self._tell()
        self.show_detail()

    def _tell(self) -> None:
        doing = ", ".join(f"{what} {path.name}" for path, what in self._doing)
        walked = self.query_one(CasesTable).walked
        marks = len(self.table("rows").marks)
        parts = [
            self._busy,
            doing,
            f"passing row {walked:,}" if walked else "",
            f"{marks} marked" if marks else "",
            plural(len(self._found), "dataset"),
        ]
        self.show_place(", ".join(part for part in parts if part))

    def _show_progress(self) -> None:
        """While something is being read, its share moves on; otherwise nothing is drawn."""
        now = (self.query_one(CasesTable).walked, *((key, progress.percent) for key, progress in self._doing.items()))
        if now != self._drawn:
            self._drawn = now
            self.show_files()

    def show_detail(self) -> None:
        facts = self.facts
        found = next((each for each in self._found if each.path == self.path), None)
        counted = self.shelf.counts.get(self.path) if self.path is not None else None
        if self.query_one(CasesTable).show_cases_of(facts, counted if isinstance(counted, int) else None):
            self._look_closer(self.path)
        survey = self.shelf.surveys.get(self.path) if self.path is not None else None
        told = self._told = rows.problems(facts, survey)
        problems = self.table("problems")
        problems.show([rows.problem_row(place, each) for place, each in enumerate(told)])
        self._show_problem()
        if survey is not None:
            problems.set_empty("No problems.")
        else:
            problems.set_empty("Not looked through yet.\nPress c to look for problems.")
        text = "" if found is None else rows.sample_text(self._item(found), self.tui.workspace)
        if text != self._sample_text:
            self._sample_text = text
            self.query_one("#sample", TextView).set_text(text, keep_place=True)
        sample = bool(self.tui.chosen_samples.get(self.path)) if self.path is not None else False
        shown = f"Rows {counted:,}" if isinstance(counted, int) else "Rows"
        self.set_titles(
            (f"Datasets {len(self._found)}", shown, f"Problems {len(told)}", "Sample ●" if sample else "Sample")
        )
        self.show_panel()

    def best_detail(self) -> str:
        return "problems" if self.facts is not None and self.facts.trouble else "rows"

    # -- rows --

    @on(LineTable.MarksChanged, "#rows")
    def _marked(self) -> None:
        self._tell()

    @on(LineTable.Selected, "#rows")
    @work(group="open", exclusive=True)
    async def _open_case(self, event: LineTable.Selected) -> None:
        from tui_eval.tui.screens.full_text import FullTextScreen

        for case in await self.query_one(CasesTable).cases([int(str(event.key))]):
            text = await away(partial(rows.case_text, case))
            self.app.push_screen(FullTextScreen(f"case {case.id}", text))

    # -- looking through a file --

    @work(group="closer", exclusive=True)
    async def _look_closer(self, path: Path | None) -> None:
        """A small file is looked through by itself, once the cursor rests on it."""
        await asyncio.sleep(_REST_SECONDS)
        if (
            path is not None
            and path == self.path
            and path not in self.shelf.surveys
            and self._bytes_of(path) <= CHECKED_AT_ONCE
        ):
            self.survey(path)

    @work(group="survey", exclusive=True)
    async def survey(self, path: Path) -> None:
        from tui_eval.tui import dataset_reading as reading

        facts = self.shelf.facts.get(path)
        if facts is None or facts.trouble:
            return
        progress = self._doing[path, "checking"] = Progress(facts.size)
        sample = self.tui.chosen_samples.get(path, {})
        try:
            found = await away(partial(reading.survey, path, facts.settings, sample, progress))
            self.shelf.surveys[path] = found
        except DatasetError as error:
            self.notify(str(error), severity="error", timeout=8)
        except Stopped:
            self.notify(f"Stopped looking through {path.name}.")
        finally:  # also when the screen goes away: nothing of it may be touched here
            progress.stopped.set()
            self._doing.pop((path, "checking"), None)
        self.show_files()

    @on(LineTable.Highlighted, "#problems")
    def _problem_moved(self) -> None:
        self._show_problem()

    def _show_problem(self) -> None:
        """The problem under the cursor in full: the list cuts it."""
        key = self.table("problems").cursor_key
        place = -1 if key is None else int(str(key))
        below = self.query_one("#problem", Static)
        shown = 0 <= place < len(self._told)
        below.set_class(not shown, "-none")
        below.update(content(fault_text(self._told[place]) if shown else ""))

    @on(LineTable.Selected, "#problems")
    @work(group="open", exclusive=True)
    async def _open_problem(self, event: LineTable.Selected) -> None:
        from tui_eval.tui.dataset_reading import line_of
        from tui_eval.tui.screens.full_text import FullTextScreen

        path, place = self.path, int(str(event.key))
        if path is not None and place < len(self._told):
            fault = self._told[place]
            typed = await away(partial(line_of, path, fault.line)) if fault.line else ""
            self.app.push_screen(FullTextScreen(f"problem in {path.name}", rows.problem_text(fault, typed)))

    def action_check(self) -> None:
        if self.path is not None:
            self.survey(self.path)

    def action_stop(self) -> None:
        """Stop what is being read of the file under the cursor, else whatever is being read."""
        mine = [progress for (path, _), progress in self._doing.items() if path == self.path]
        for progress in mine or list(self._doing.values()):
            progress.stopped.set()
        if not self._doing:
            self.notify("Nothing is being counted or looked through.")

    def action_again(self) -> None:
        if self.path is not None:
            self.shelf.forget(self.path)
            self._look_through()

    @work(group="change", exclusive=True)
    async def action_edit(self) -> None:
        from tui_eval.tui.editing import edit

        if self.path is not None and await edit(self.tui, self.path):
            self.action_again()
