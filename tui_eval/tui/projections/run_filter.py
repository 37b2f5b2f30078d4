"""The filter of the run list: ``support !smoke tag:nightly state:failed since:7d until:today text:"rate limit"``."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from tui_eval.moments import moment
from tui_eval.text_query import TextQuery, Word, query, words

if TYPE_CHECKING:
    from tui_eval.store.records import RunState
    from tui_eval.store.run_queries import RunOverview

FIELDS = ("plan", "tag", "state", "since", "until", "text")


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs. ``wrong`` says what of the text could not be used, "" when all could.

    ``states`` is empty for all; times are seconds since the epoch, ``until`` not included. ``texts`` are looked for in
    what the tasks gave (:class:`~tui_eval.store.run_search.RunSearch`); the rest is known of a run by itself.
    """

    words: TextQuery = field(default_factory=TextQuery)
    tag: str | None = None
    without_tags: frozenset[str] = frozenset()
    states: tuple[RunState, ...] = ()
    since: float | None = None
    until: float | None = None
    texts: tuple[Word, ...] = ()
    wrong: str = ""

    @property
    def everything(self) -> bool:
        return self == RunFilter(wrong=self.wrong)

    @property
    def by_row(self) -> bool:
        """Whether :meth:`matches` has anything to say."""
        return bool(self.words or self.without_tags)

    def matches(self, overview: RunOverview) -> bool:
        """Whether the words match the plan's name, the run's id, its tags or its note, and no unwanted tag is there."""
        run = overview.run
        if self.without_tags.intersection(run.tags):
            return False
        return self.words.matches("\n".join([run.name, run.run_id, run.note, *run.tags]))


def parse(text: str, now: datetime) -> RunFilter:
    """Read a filter. ``now`` gives today. Of a field that is given twice the last one counts (texts add up)."""
    plain: list[Word] = []
    texts: list[Word] = []
    found: dict[str, str] = {}
    without_tags: set[str] = set()
    excluded: tuple[RunState, ...] = ()
    wrong: list[str] = []
    for word in words(text, FIELDS):
        if not word.field or word.field == "plan":
            plain.append(word)
        elif not word.text:
            wrong.append(f"{word.field}: needs a value")
        elif word.field == "text":
            texts.append(word)
        elif not word.excluded:
            found[word.field] = word.text
        elif word.field == "tag":
            without_tags.add(word.text)
        elif word.field == "state":
            excluded += _states(word.text, wrong)
        else:
            wrong.append(f"!{word.field}: cannot be turned around")
    states = _states(found.get("state"), wrong)
    if excluded:
        states = tuple(state for state in states or tuple(type(excluded[0])) if state not in excluded)
    since = _moment("since", found.get("since"), now, wrong)
    until = _moment("until", found.get("until"), now, wrong, end_of_day=True)
    return RunFilter(
        query(plain),
        found.get("tag"),
        frozenset(without_tags),
        states,
        since,
        until,
        tuple(texts),
        "; ".join(wrong),
    )


def _states(text: str | None, wrong: list[str]) -> tuple[RunState, ...]:
    if text is None:
        return ()
    from tui_eval.store.records import RunState

    if text == "live":
        return tuple(state for state in RunState if state.live)
    states = tuple(state for state in RunState if state.value.startswith(text.lower()))
    if not states:
        wrong.append(f"no state begins with {text!r} (live, {', '.join(state.value for state in RunState)})")
    return states


def _moment(field: str, text: str | None, now: datetime, wrong: list[str], *, end_of_day: bool = False) -> float | None:
    """As :func:`tui_eval.moments.moment`; None where nothing is asked for, or what is typed is no time."""
    if text is None:
        return None
    try:
        return moment(text, now, end_of_day=end_of_day)
    except ValueError:
        wrong.append(f"{field}: {text!r} is no day (write 2026-11-29, today, yesterday, 7d)")
        return None
