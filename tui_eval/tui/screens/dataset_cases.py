"""The preview of a dataset: its cases as rows of a table, read page by page as they are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import work

from tui_eval.errors import DatasetError
from tui_eval.tui.background import Stopped, away
from tui_eval.tui.dataset_rows import Progress, RowsReader
from tui_eval.tui.dataset_shelf import DatasetFacts
from tui_eval.tui.projections import datasets as rows
from tui_eval.tui.widgets.cells import Row
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.numbered_source import NumberedSource
from tui_eval.tui.widgets.row_source import PAGE

if TYPE_CHECKING:
    from tui_eval.domain import Case

LARGE_CASE = 64_000
"""Bytes of a case, on average, from which on only a few are in memory together."""


class CasesTable(LineTable):
    """The cases of one dataset; the keys of its rows are their numbers from 0.

    ``walked`` is the row that is being passed on the way to a far page, 0 when there is none.
    """

    def __init__(self) -> None:
        self.walked = 0
        self._facts: DatasetFacts | None = None
        self._counted: int | None = None
        self._end: int | None = None
        self._reader: RowsReader | None = None
        self._progress: Progress | None = None
        self._pages = NumberedSource(0, self._want)
        super().__init__((), self._pages, id="rows", empty="No rows.")

    def show_cases_of(self, facts: DatasetFacts | None, counted: int | None) -> bool:
        """Show this dataset, of which ``counted`` records are known (None: not yet); True when it is another one."""
        self._counted = counted
        if facts is self._facts:
            self._set_row_count()
            return False
        self._facts, self._end, self.walked = facts, None, 0
        self._stop()
        self.drop_marks()
        self._pages = NumberedSource(0, self._want)
        self.set_source(self._pages)
        self.action_first()
        if facts is None or facts.trouble:
            self.set_empty("Reading…" if facts is None else "This file cannot be read: see 3, the problems.")
        else:
            self.set_empty("No rows.")
            self.set_columns(rows.case_columns(facts))
            self._serve(facts)
        return True

    async def cases(self, numbers: Iterable[int]) -> list[Case]:
        """These cases in the order of the file; told and empty when they cannot be read."""
        if self._reader is None:
            return []
        try:
            return await self._reader.cases(numbers)
        except (DatasetError, Stopped) as error:
            self.notify(str(error) or "Reading was stopped.", severity="error", timeout=8)
            return []

    def on_unmount(self) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._progress is not None:
            self._progress.stopped.set()
        self._reader = self._progress = None

    @work(group="rows", exclusive=True)
    async def _serve(self, facts: DatasetFacts) -> None:
        from tui_eval.tui import dataset_reading as reading

        progress = self._progress = Progress(facts.size)
        try:
            source = await away(partial(reading.watched, facts.path, facts.settings, progress))
            large = bool(self._counted) and facts.size / (self._counted or 1) > LARGE_CASE
            build = partial(rows.case_row, facts=facts)
            self._reader = RowsReader(source, build, self._arrived, self._passed, at_once=10 if large else PAGE)
            self._set_row_count()
            await self._reader.serve()
        except DatasetError as error:
            self.notify(f"{error.faults[0]}. Press r to read it again.", severity="error", timeout=8)
        except Stopped:
            return
        finally:
            progress.stopped.set()

    def _want(self, page: Sequence[int]) -> None:
        if self._reader is not None:
            self._reader.want(page)

    def _passed(self, row: int) -> None:
        self.walked = row

    def _arrived(self, page: Sequence[int], found: dict[int, Row]) -> None:
        self._pages.arrived(page, found)
        if len(found) < len(page):
            self._end = page[0] + len(found)
        self._set_row_count(page[0] + len(page))
        self.rows_changed()

    def _set_row_count(self, seen: int = 0) -> None:
        """As many rows as were counted; until then a page more than was seen, and no more than there turned out."""
        if self._reader is None:
            return
        total = max(len(self._pages.keys), seen + PAGE) if self._counted is None else self._counted
        total = total if self._end is None else min(total, self._end)
        if total != len(self._pages.keys):
            self._pages.set_count(total)
            self.rows_changed()
