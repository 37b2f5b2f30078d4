"""Which runs may go when a history has grown too large: by age, number, size, tag, name. Decided, not done, here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tui_eval.errors import UsageError
from tui_eval.store.reader import History
from tui_eval.store.records import RunState
from tui_eval.store.run_queries import RunOverview
from tui_eval.store.upkeep import why_it_stays


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked. Runs that are in all of the given groups may go: not touched since ``older_than`` (seconds since
    the epoch), with the tag, with ``name`` in the plan's name, in the state.

    Of these the ``keep`` newest stay, and with ``max_bytes`` no more go, oldest first, than it takes to have the whole
    history not larger than that.
    """

    older_than: float | None = None
    keep: int | None = None
    max_bytes: int | None = None
    tag: str | None = None
    name: str | None = None
    state: RunState | None = None

    @property
    def empty(self) -> bool:
        return self == Rules()


@dataclass(frozen=True, slots=True)
class Sized:
    """A run and about how many bytes it takes (what it shares with others counts in full)."""

    overview: RunOverview
    size: int


@dataclass(slots=True)
class Pruning:
    """What the rules come to. ``going`` are the runs that may be deleted, oldest first; ``staying`` those that the
    rules name too, but must not be, each with why. ``missing`` bytes more would have to go for ``max_bytes``."""

    going: list[Sized] = field(default_factory=list)
    staying: list[tuple[RunOverview, str]] = field(default_factory=list)
    missing: int = 0


def choose(history: History, rules: Rules) -> Pruning:
    """Apply the rules to a history. Raises UsageError when they would name every run."""
    if rules.empty:
        raise UsageError("say which runs may go: --older-than, --keep, --max-size, --tag, --name or --state")
    runs = _all_runs(history)
    wanted = [overview for overview in runs if _matches(overview, rules)]
    # Those that cannot go count among the newest as well: `keep 20` leaves 20, not 20 and the pinned ones.
    found = _divided(history.path, wanted[rules.keep or 0 :])
    sizes = {overview.run.id: history.size_of(overview.run) for overview in found.may_go}
    going = [Sized(overview, sizes[overview.run.id]) for overview in reversed(found.may_go)]
    result = Pruning(going, found.staying)
    if rules.max_bytes is not None:
        others = sum(history.size_of(overview.run) for overview in runs if overview.run.id not in sizes)
        _fit(result, others + sum(sizes.values()) - rules.max_bytes)
    return result


@dataclass(slots=True)
class _Divided:
    may_go: list[RunOverview] = field(default_factory=list)
    staying: list[tuple[RunOverview, str]] = field(default_factory=list)


def _all_runs(history: History) -> list[RunOverview]:
    """Every run, newest first."""
    runs: list[RunOverview] = []
    before: tuple[float, int] | None = None
    while page := history.runs(limit=500, before=before):
        runs += page
        before = (page[-1].run.created_at, page[-1].run.id)
    return runs


def _matches(overview: RunOverview, rules: Rules) -> bool:
    run = overview.run
    touched = max(run.created_at, run.started_at or 0.0, run.finished_at or 0.0)
    return (
        (rules.older_than is None or touched < rules.older_than)
        and (rules.tag is None or rules.tag in run.tags)
        and (rules.name is None or rules.name.casefold() in run.name.casefold())
        and (rules.state is None or overview.state is rules.state)
    )


def _divided(path: Path, runs: Sequence[RunOverview]) -> _Divided:
    found = _Divided()
    for overview in runs:
        if why := why_it_stays(path, overview.run, overview.state):
            found.staying.append((overview, why))
        else:
            found.may_go.append(overview)
    return found


def _fit(pruning: Pruning, excess: int) -> None:
    """Leave only as many of the oldest runs as free ``excess`` bytes."""
    freed, needed = 0, 0
    for sized in pruning.going:
        if freed >= excess:
            break
        freed += sized.size
        needed += 1
    del pruning.going[needed:]
    pruning.missing = max(0, excess - freed)
