"""Rows of one dataset as a table asks for them: pages in any order, the wanted one before those nobody looks at."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from tui_eval.tui.background import Stopped, away
from tui_eval.tui.widgets.cells import Row

if TYPE_CHECKING:
    from tui_eval.datasets.watching import WatchedSource
    from tui_eval.domain import Case

T = TypeVar("T")

STEP = 4_000
"""Rows that are walked over at once on the way to a far page: another page may be wanted meanwhile."""
_MOST_AT_ONCE = 200


class Progress:
    """How far a pass over a file is, and whether it should go on. Written by its thread, read by the screen."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.read = 0
        self.stopped = threading.Event()

    def __call__(self, read: int) -> None:
        self.read += read
        if self.stopped.is_set():
            raise Stopped

    @property
    def percent(self) -> int:
        return min(99, 100 * self.read // self.size) if self.size else 0


class RowsReader:
    """Serves pages of one source, one question at a time (a source is not for several threads).

    ``build`` makes a case into a row (in the thread). ``arrived`` gets each page: its numbers and its rows, fewer where
    the file ends. ``walked`` is told how many rows were passed on the way to a far page, 0 when it was reached.
    ``at_once`` bounds how many cases are in memory together.
    """

    def __init__(
        self,
        source: WatchedSource,
        build: Callable[[int, Case], Row],
        arrived: Callable[[Sequence[int], dict[int, Row]], None],
        walked: Callable[[int], None],
        *,
        at_once: int = _MOST_AT_ONCE,
    ) -> None:
        self._source = source
        self._build = build
        self._arrived = arrived
        self._walked = walked
        self._at_once = at_once
        self._lock = asyncio.Lock()
        self._wanted: list[Sequence[int]] = []
        self._anything = asyncio.Event()
        self._known = 0

    def want(self, page: Sequence[int]) -> None:
        """Ask for a page; the last one asked for comes first."""
        self._wanted.append(page)
        self._anything.set()

    async def serve(self) -> None:
        """Answer until cancelled. Raises DatasetError when the file cannot be read."""
        while True:
            await self._anything.wait()
            page = self._wanted[-1]
            if page[0] > self._known + STEP:
                self._known += STEP
                await self._ask(partial(self._source.rows, self._known, 0))
                self._walked(self._known)
                continue
            found = await self._ask(partial(self._rows, page))
            self._known = max(self._known, page[0])
            self._wanted.remove(page)
            if not self._wanted:
                self._anything.clear()
            self._walked(0)
            self._arrived(page, found)

    def _rows(self, page: Sequence[int]) -> dict[int, Row]:
        found: dict[int, Row] = {}
        for start in range(page[0], page[0] + len(page), self._at_once):
            count = min(self._at_once, page[0] + len(page) - start)
            cases = self._source.rows(start, count)
            found.update((number, self._build(number, case)) for number, case in enumerate(cases, start))
            if len(cases) < count:
                break
        return found

    async def cases(self, numbers: Iterable[int]) -> list[Case]:
        """These cases, in the order of the file."""
        found: list[Case] = []
        for _, run in groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0]):
            together = [number for _, number in run]
            for start in range(0, len(together), _MOST_AT_ONCE):
                part = together[start : start + _MOST_AT_ONCE]
                found += await self._ask(partial(self._source.rows, part[0], len(part)))
        return found

    async def _ask(self, question: Callable[[], T]) -> T:
        async with self._lock:
            return await away(question)
