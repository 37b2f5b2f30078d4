"""The passes over a dataset that make its survey."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_eval.datasets import sampling
from tui_eval.datasets.identity import CaseBlock, NoIdColumn, NoIdRow
from tui_eval.datasets.rows import Reading, excerpt, refusal
from tui_eval.datasets.survey import Columns, ContentHash, FaultList, Repeats, Skipped, Survey
from tui_eval.domain import Case
from tui_eval.errors import DatasetError
from tui_eval.spec.model import Sample
from tui_eval.spec.nearest import nearest

if TYPE_CHECKING:
    from tui_eval.datasets.source import DatasetSource

_COMPARED_IDS = 2_000
_SHOWN_IDS = 10


def scan(source: DatasetSource) -> Survey:
    """See :meth:`DatasetSource.scan`."""
    looking = _Scan(source)
    for step in (looking.read, looking.find_repeats, looking.draw, looking.find_missing):
        try:
            step()
        except DatasetError as error:
            for fault in error.faults:
                looking.faults.add(fault)
            if step == looking.read:
                break  # what lies behind was not seen: nothing more can be said
    return looking.survey()


class _Scan:
    """What is known so far. ``columns`` and ``content`` are about selected cases, ``all_columns`` about all."""

    def __init__(self, source: DatasetSource) -> None:
        self.source = source
        self.sample = source.spec.sample
        self.sampling = self.sample != Sample()
        self.reading = Reading()
        self.faults = FaultList()
        self.without_id = FaultList()
        self.skipped = Skipped()
        self.repeats = Repeats()
        self.columns = Columns()
        self.all_columns = Columns() if self.sampling else self.columns
        self.content = ContentHash()
        self.count = 0
        self.selected = 0
        self.generated = False
        self.missing = dict.fromkeys(self.sample.ids or ())
        self.some_ids: list[str] = []
        self.lottery = None
        if self.sample.seed is not None and self.sample.limit is not None:
            self.lottery = sampling.Lottery(self.sample.limit, self.sample.seed)

    def read(self) -> None:
        """The first pass: everything that one record alone can tell."""
        matches = self._matcher()
        skip = self.source.spec.skip_bad_lines
        try:
            for built in self.source.built_in_blocks(self.reading):
                if isinstance(built, CaseBlock):
                    self._block(built, matches)
                elif isinstance(built, Case):
                    self._case(built, matches)
                elif skip:
                    self.skipped.add(built.fault)
                else:
                    (self.without_id if isinstance(built, NoIdRow) else self.faults).add(built.fault)
        except NoIdColumn as error:
            # One fault about the column says it all; the same one for each record would bury the others.
            self.without_id = FaultList()
            self.faults.add(error.faults[0])
        finally:
            self.faults.extend(self.without_id)

    def find_repeats(self) -> None:
        """A second pass, only when two ids have the same hash."""
        if self.repeats:
            numbered = enumerate(self.source.built(Reading()), start=1)
            cases = ((number, built) for number, built in numbered if isinstance(built, Case))
            for fault in self.repeats.faults(cases, self.source.name):
                self.faults.add(fault)
            if self.repeats.unlisted:
                raise refusal(f"and {self.repeats.unlisted} more ids that occur twice", self.source.name)

    def draw(self) -> None:
        """A second pass for a random sample: only the end of the first one knows which cases are in it."""
        if self.lottery is not None:
            for case in sampling.take(self.source.cases(), self.lottery.winners()):
                self._select(case)

    def find_missing(self) -> None:
        """Ids that the sample names and no case has."""
        if not self.missing:
            return
        shown = []
        for wanted in list(self.missing)[:_SHOWN_IDS]:
            near = nearest(wanted, self.some_ids)
            shown.append(f"`{excerpt(wanted, 80)}`" + (f" (did you mean `{excerpt(near, 80)}`?)" if near else ""))
        if len(self.missing) > _SHOWN_IDS:
            shown.append(f"and {len(self.missing) - _SHOWN_IDS} more")
        message = f"no case has the id {', '.join(shown)}"
        raise refusal(message, self.source.name, path="dataset.sample.ids", hint="ids are compared as text, exactly")

    def survey(self) -> Survey:
        columns = self.columns if self.selected else self.all_columns
        names = columns.names() or self.reading.header
        return Survey(
            count=self.count,
            selected=self.selected,
            columns=names,
            partial_columns=columns.partial(),
            faults=self.faults.all(self.source.name),
            notes=tuple(self._notes(columns)),
            skipped_lines=tuple(self.skipped.lines),
            content_hash=self.content.hex(),
            generated_ids=self.generated,
        )

    def _matcher(self) -> Callable[[Case], bool]:
        try:
            return sampling.matcher(self.sample, self.source.name)
        except DatasetError as error:
            for fault in error.faults:
                self.faults.add(fault)
            return lambda case: False

    def _case(self, case: Case, matches: Callable[[Case], bool]) -> None:
        position = self.count
        self.count += 1
        if case.generated_id:
            self.generated = True
        else:
            self.repeats.add(case.id)
        if self.sampling:
            self.all_columns.add(case)
        if self.missing:
            self.missing.pop(case.id, None)
            if position < _COMPARED_IDS:
                self.some_ids.append(case.id)
        try:
            taken = matches(case)
        except DatasetError as error:
            self.faults.add(error.faults[0])
            return
        if taken and self.lottery is not None:
            self.lottery.enter(position, case.id)
        elif taken and (self.sample.limit is None or self.selected < self.sample.limit):
            self._select(case)

    def _block(self, block: CaseBlock, matches: Callable[[Case], bool]) -> None:
        """The same as :meth:`_case` for each case of a block."""
        if self.sample.where is not None or self.sample.ids is not None:
            for case in block.cases():
                self._case(case, matches)
            return
        size, position = len(block.ids), self.count
        self.count += size
        self.generated = self.generated or block.generated
        if not block.generated:
            self.repeats.add_all(block.ids)
        if self.sampling:
            self.all_columns.add_all(block.rows)
        if self.lottery is not None:
            for place, case_id in enumerate(block.ids, position):
                self.lottery.enter(place, case_id)
            return
        taken = size if self.sample.limit is None else min(size, self.sample.limit - self.selected)
        if taken > 0:
            self.selected += taken
            self.columns.add_all(block.rows[:taken])
            self.content.add_all(block, taken)

    def _select(self, case: Case) -> None:
        self.selected += 1
        self.columns.add(case)
        self.content.add(case)

    def _notes(self, columns: Columns) -> list[str]:
        notes = [*self.reading.notes, *self.skipped.notes()]
        if self.generated:
            why = "the first record has no `id`" if "id" in self.all_columns.names() else "there is no column `id`"
            notes.append(f"{why}, so ids are made from the content; name another column with `id`")
        if columns.overflow:
            notes.append(
                "there are too many different columns to list; records with such keys want a column of objects"
            )
        if not self.count and not self.faults.count:
            notes.append("no cases")
        elif not self.selected and not self.faults.count:
            notes.append(f"the sample selects none of the {self.count} cases")
        return notes
