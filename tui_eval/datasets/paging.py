"""Pages of a dataset for a table that scrolls: any part of a file without reading all that comes before it."""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from tui_eval.datasets.identity import build, build_generated, content_id
from tui_eval.datasets.rows import UNKNOWN, Item, Place, Reading, Row
from tui_eval.domain import Case

if TYPE_CHECKING:
    from tui_eval.datasets.source import DatasetSource

STEP = 256
"""Cases between two remembered places of the file."""


class Pages:
    """Remembers where every :data:`STEP`-th case begins, as far as a page was ever asked for."""

    def __init__(self, source: DatasetSource) -> None:
        self._source = source
        self._offsets = array("q")
        self._lines = array("Q")
        self._indexed = 0
        self._repeated: dict[int, str] = {}  # ids that were made from content and got a number, by position
        self._walk = self._index()

    def rows(self, start: int, count: int) -> list[Case]:
        """See :meth:`DatasetSource.rows`."""
        wanted = start + count
        while self._indexed < wanted and next(self._walk, False):
            pass
        count = min(count, self._indexed - start)
        if count <= 0:
            return []
        place = start // STEP
        if self._offsets[place] == UNKNOWN:
            return list(islice(self._source.cases(), start, start + count))
        return self._from(place, start, count)

    def close(self) -> None:
        self._walk.close()

    def _from(self, place: int, start: int, count: int) -> list[Case]:
        source = self._source
        items = source.items(Reading(), Place(self._offsets[place], self._lines[place]))
        first = place * STEP
        if source.id_column is not None:
            built = build(items, source.id_column, source.name, before=first)
        else:
            built = build_generated(items, content_id)
        cases = (item for item in built if isinstance(item, Case))
        # The numbers of repeated contents depend on all cases before, so they come from the index.
        return [
            replace(case, id=self._repeated.get(position, case.id))
            for position, case in enumerate(islice(cases, start - first, start - first + count), start=start)
        ]

    def _index(self) -> Generator[bool, None, None]:
        """Goes over the file once; each step is one case."""
        last: list[Item] = []

        def tapped() -> Iterator[Item]:
            for item in self._source.items(Reading()):
                last[:] = [item]
                yield item

        for built in self._source.identified(tapped()):
            if not isinstance(built, Case):
                continue
            if self._indexed % STEP == 0 and isinstance(last[0], Row):
                self._offsets.append(last[0].offset)
                self._lines.append(last[0].line)
            if built.generated_id and "-" in built.id:
                self._repeated[self._indexed] = built.id
            self._indexed += 1
            yield True
