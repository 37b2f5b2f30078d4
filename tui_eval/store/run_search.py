"""Which runs have a text in their outputs: named by the index where it knows a run, looked through otherwise."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence

from tui_eval.store.reader import History
from tui_eval.store.records import RunRecord
from tui_eval.store.search_index import SearchIndex, grams, stamp_of
from tui_eval.text_query import TextQuery, Word, query

_LIVE_SECONDS = 5.0
"""How old an answer about a live run may be: each one looks through all that it has."""


class RunSearch:
    """The runs where one task has all the words, and no task has an excluded one. Keeps what it found, by run.

    ``looked_at`` is how many runs were looked through so far; while ``given_up()`` is True, no run matches any more.
    """

    def __init__(self, wanted: Iterable[Word], given_up: Callable[[], bool] = lambda: False) -> None:
        words = list(wanted)
        self._all_of = query(word for word in words if not word.excluded)
        self._none_of = [query([Word(word.text, quoted=word.quoted)]) for word in words if word.excluded]
        self._given_up = given_up
        self._known: dict[tuple[str, str], bool] = {}
        self._live: dict[str, tuple[float, bool]] = {}
        self._named: dict[TextQuery, _Named] = {}
        self.looked_at = 0

    def refresh(self, history: History) -> None:
        """Ask the index: before a list of runs is gone through, and again when runs may have been added to it."""
        named: dict[TextQuery, _Named] = {}
        try:
            index = SearchIndex(history.path)
            try:
                stamps = index.runs()
                for each in (self._all_of, *self._none_of):
                    if terms := _terms(each):
                        named[each] = _Named(stamps, index.candidates(terms))
            finally:
                index.close()
        except sqlite3.Error:  # it is being made anew, or broken: it is made again by the next update
            named.clear()
        self._named = named

    def matches(self, history: History, run: RunRecord) -> bool:
        """Whether a run is one of those; what is said of a live one may be some seconds old. Raises HistoryError."""
        place = (run.run_id, stamp_of(run))
        known = self._known.get(place)
        if run.state.live:
            until, found = self._live.get(run.run_id, (0.0, False))
            known = found if time.monotonic() < until else None
        if known is not None:
            return known
        found = (not self._all_of or self._has(history, run, self._all_of)) and not any(
            self._has(history, run, each) for each in self._none_of
        )
        if self._given_up():
            return False
        if run.state.live:
            self._live[run.run_id] = (time.monotonic() + _LIVE_SECONDS, found)
        else:
            self._known[place] = found
        return found

    def _has(self, history: History, run: RunRecord, wanted: TextQuery) -> bool:
        named = self._named.get(wanted)
        keys: Sequence[int] | None = None
        if named is not None and not run.state.live and named.stamps.get(run.run_id) == stamp_of(run):
            keys = named.tasks.get(run.run_id)
            if keys is None:
                return False
        else:
            self.looked_at += 1
        for _, text in history.task_texts(run, keys):
            if wanted.matches(text):
                return True
            if self._given_up():
                return False
        return False


class _Named:
    """What the index says of one query: the stamps of the runs that it knows, and tasks to look through, by run id."""

    def __init__(self, stamps: dict[str, str], tasks: dict[str, list[int]]) -> None:
        self.stamps = stamps
        self.tasks = tasks


def _terms(wanted: TextQuery) -> list[str]:
    """The words that a task must have as they stand, as far as the index can tell."""
    return [term.folded for term in wanted.terms if term.pattern is None and grams(term.folded)]
