"""What the list of runs asks the history: the newest of a filter, live ones wherever they are, older pages, texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.tui.background import short_turns
from tui_eval.tui.child_command import program, run
from tui_eval.tui.projections.run_filter import RunFilter

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.records import RunState
    from tui_eval.store.run_queries import RunOverview
    from tui_eval.store.run_search import RunSearch

FIRST_PAGE = 200
"""Runs that are read when the screen opens and whenever something changes; older ones come as one goes there."""
NEXT_PAGE = 1000
_LIVE = 50
_SCANNED = 500  # runs read at once where most of them may not match


@dataclass(frozen=True, slots=True)
class Found:
    """What the history answered: the newest runs of the filter, the live ones wherever they are, and whether there
    is any run at all."""

    newest: list[RunOverview]
    live: list[RunOverview]
    any_run: bool


class RunsReading:
    """The questions about one filter, asked in threads. Another filter is another reading; the old one is given up."""

    def __init__(self, wanted: RunFilter) -> None:
        self.wanted = wanted
        self._given_up = False
        self._search: RunSearch | None = None

    @property
    def looked_at(self) -> int:
        """Runs that were looked through for a text, because the index did not know them."""
        return 0 if self._search is None else self._search.looked_at

    def give_up(self) -> None:
        """Nobody waits for an answer any more."""
        self._given_up = True

    def newest(self, history: History) -> Found:
        """The newest page of the filter, and every live run of it however old."""
        from tui_eval.store.records import RunState

        with short_turns:
            matches = self._matching(history)
            newest = self._some(history, self.wanted, FIRST_PAGE, None, matches)
            live = [each for each in newest if each.state.live]
            if len(newest) >= FIRST_PAGE:
                states = tuple(state for state in self.wanted.states or RunState if state.live)
                live = self._some(history, replace(self.wanted, states=states), _LIVE, None, matches) if states else []
            return Found(newest, live, bool(newest) or bool(history.runs(limit=1)))

    def older(self, history: History, before: tuple[float, int]) -> list[RunOverview]:
        """The page of ``NEXT_PAGE`` runs after a place."""
        with short_turns:
            return self._some(history, self.wanted, NEXT_PAGE, before, self._matching(history))

    def _matching(self, history: History) -> Callable[[RunOverview], bool] | None:
        """What of the filter the history does not know how to ask for; None when that is nothing."""
        wanted = self.wanted
        if wanted.texts and self._search is None:
            from tui_eval.store.run_search import RunSearch

            self._search = RunSearch(wanted.texts, lambda: self._given_up)
        search = self._search
        if search is None:
            return wanted.matches if wanted.by_row else None
        search.refresh(history)
        return lambda overview: wanted.matches(overview) and search.matches(history, overview.run)

    def _some(
        self,
        history: History,
        wanted: RunFilter,
        limit: int,
        before: tuple[float, int] | None,
        matches: Callable[[RunOverview], bool] | None,
    ) -> list[RunOverview]:
        """A page of runs in one of the wanted states, newest first."""
        found: list[RunOverview] = []
        for state in wanted.states or (None,):
            found += self._in_state(history, wanted, state, limit, before, matches)
        if len(wanted.states) > 1:
            found.sort(key=lambda each: (each.run.created_at, each.run.id), reverse=True)
        return found[:limit]

    def _in_state(
        self,
        history: History,
        wanted: RunFilter,
        state: RunState | None,
        limit: int,
        before: tuple[float, int] | None,
        matches: Callable[[RunOverview], bool] | None,
    ) -> list[RunOverview]:
        found: list[RunOverview] = []
        asked = limit if matches is None else _SCANNED
        while len(found) < limit and not self._given_up:
            page = history.runs(
                limit=asked, before=before, tag=wanted.tag, state=state, since=wanted.since, until=wanted.until
            )
            found += page if matches is None else filter(matches, page)
            if matches is None or len(page) < asked:
                break
            before = (page[-1].run.created_at, page[-1].run.id)
        return found[:limit]


async def update_index(history: Path) -> None:
    """Bring the index of texts up to date in a process of its own, behind everything else; ended when cancelled."""
    await run([*program("tui_eval.store.search_index"), str(history)])
