"""The runs that a screen knows of: the newest page read again and again, older pages read once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.store.run_queries import RunOverview


class RunList:
    """Merges pages of runs. ``known`` is by run id; ``complete`` when no older run is left to read; ``last`` is where
    the next page begins (``created_at`` and key of the oldest one read in order)."""

    def __init__(self, page: int) -> None:
        self.known: dict[str, RunOverview] = {}
        self.complete = False
        self.last: tuple[float, int] | None = None
        self._page = page

    def clear(self) -> None:
        """Forget everything (another filter)."""
        self.known.clear()
        self.complete = False
        self.last = None

    def newest_read(self, newest: Sequence[RunOverview], live: Iterable[RunOverview]) -> bool:
        """A fresh reading of the newest page, and of the live runs wherever they are; whether anything is different."""
        live = list(live)
        before = (len(self.known), self.complete)
        changed = any(self.known.get(each.run.run_id) != each for each in (*live, *newest))
        fresh = {each.run.run_id for each in newest} | {each.run.run_id for each in live}
        whole = len(newest) < self._page
        oldest = _place(newest[-1]) if newest else None
        for name, each in list(self.known.items()):
            # What should be in the page and is not, was deleted; what was live and is not, is read with its own page.
            inside = whole or (oldest is not None and _place(each) >= oldest)
            if name not in fresh and (inside or each.state.live):
                del self.known[name]
        self.known.update((each.run.run_id, each) for each in (*live, *newest))
        if whole:
            self.complete = True
        if self.last is None and oldest is not None:
            self.last = oldest
        return changed or before != (len(self.known), self.complete)

    def older_read(self, page: Sequence[RunOverview], asked: int) -> None:
        """The page after ``last``; ``asked`` is how many runs were asked for."""
        self.known.update((each.run.run_id, each) for each in page)
        if page:
            self.last = _place(page[-1])
        self.complete = len(page) < asked

    def forget(self, run_id: str) -> None:
        self.known.pop(run_id, None)

    def any_live(self) -> bool:
        return any(each.state.live for each in self.known.values())

    def live_count(self) -> int:
        return sum(each.state.live for each in self.known.values())


def _place(overview: RunOverview) -> tuple[float, int]:
    return overview.run.created_at, overview.run.id
