"""The filter of the run list: ``support tag:nightly state:failed since:2026-11-01 until:today``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.store.records import RunState

FIELDS = ("plan", "tag", "state", "since", "until")


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs, as the history is asked. ``wrong`` says what of the text could not be used, "" when all could.

    ``states`` is empty for all; times are seconds since the epoch, ``until`` not included.
    """

    name: str | None = None
    tag: str | None = None
    states: tuple[RunState, ...] = ()
    since: float | None = None
    until: float | None = None
    wrong: str = ""

    @property
    def everything(self) -> bool:
        return (self.name, self.tag, self.states, self.since, self.until) == (None, None, (), None, None)


def parse(text: str, now: datetime) -> RunFilter:
    """Read a filter. Words without a field are looked for in the plan's name, together. ``now`` gives today."""
    words: list[str] = []
    found: dict[str, str] = {}
    wrong: list[str] = []
    for word in text.split():
        field, colon, value = word.partition(":")
        if not colon or field not in FIELDS:
            words.append(word)
        elif not value:
            wrong.append(f"{field}: needs a value")
        else:
            found[field] = value
    name = " ".join([*([found["plan"]] if "plan" in found else []), *words]) or None
    states = _states(found.get("state"), wrong)
    since = _moment("since", found.get("since"), now, wrong)
    until = _moment("until", found.get("until"), now, wrong, end_of_day=True)
    return RunFilter(name, found.get("tag"), states, since, until, "; ".join(wrong))


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
    """``today``, ``yesterday``, ``7d`` (so many days ago) or a date, as the first or the last moment of that day."""
    if text is None:
        return None
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    day: datetime | None = None
    if text in ("today", "yesterday"):
        day = midnight - timedelta(days=text == "yesterday")
    elif text[-1] == "d" and text[:-1].isascii() and text[:-1].isdigit() and len(text) < 7:
        day = midnight - timedelta(days=min(int(text[:-1]), 36500))
    else:
        try:
            day = datetime.fromisoformat(text).astimezone(now.tzinfo)
        except (ValueError, OverflowError, OSError):
            wrong.append(f"{field}: {text!r} is no day (write 2026-11-29, today, yesterday, 7d)")
            return None
        if len(text) > 10:  # with a time of day
            return day.timestamp()
    return (day + timedelta(days=end_of_day)).timestamp()
