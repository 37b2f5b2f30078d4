"""Runs of the history as rows of the home screen, in the order a user chose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tui_eval.display import duration
from tui_eval.tui.text import whole_seconds
from tui_eval.tui.widgets.cells import Cell, Column, Row
from tui_eval.tui.widgets.counts import Widths, aligned, cells_of, percent

if TYPE_CHECKING:
    from tui_eval.store.records import RunRecord, RunState
    from tui_eval.store.run_queries import RunOverview

STATE_LOOKS = {
    "planning": ("▸", "running"),
    "running": ("▸", "running"),
    "paused": ("▸", "unscored"),
    "stopping": ("▸", "unscored"),
    "completed": ("✓", ""),
    "partial_failure": ("!", "error"),
    "failed": ("!", "error"),
    "timed_out": ("!", "error"),
    "cancelled": ("-", "cancelled"),
    "interrupted": ("?", "unscored"),
}
"""Glyph and style of each state of a run, by its value. Completed is plain: that says nothing about its outcomes."""

_WORDS = {"partial_failure": "partly failed", "timed_out": "timed out"}

COLUMNS = (
    Column("state", "state", 13, weight=2, most=15, priority=9, sort="state"),
    Column("plan", "plan", 14, weight=3, most=40, priority=10, sort="name"),
    Column("started", "started", 10, priority=6, sort="created_at"),
    Column("tasks", "tasks", 11, priority=5, right=True, sort="total"),
    Column("rate", "pass", 6, priority=7, right=True, sort="pass_rate"),
    Column("counts", "✓pass ✗fail !err ?none", 14, priority=8, short="✓ ✗ ! ?"),
    Column("took", "took", 11, priority=4, right=True, sort="took"),
    Column("tokens", "tokens", 7, priority=2, right=True, sort="tokens"),
    Column("cost", "cost", 8, priority=1, right=True, sort="cost"),
    Column("tags", "tags", 8, weight=1, most=24, priority=3),
    Column("parent", "re-run of", 20, priority=0),
)


def columns(widths: Widths) -> tuple[Column, ...]:
    """The columns of a list of runs whose counts have these widths: none of the counts is cut."""
    most = max(14, cells_of(widths))
    return tuple(replace(each, width=most) if each.name == "counts" else each for each in COLUMNS)


def state_text(state: RunState) -> str:
    """``▸ running``: the state of a run with its glyph."""
    return f"{STATE_LOOKS[state.value][0]} {_WORDS.get(state.value, state.value)}"


def state_cell(state: RunState) -> Cell:
    return Cell(state_text(state), STATE_LOOKS[state.value][1])


def run_row(overview: RunOverview, now: datetime, widths: Widths) -> Row:
    """A run as a row (its key is the run id). ``now`` decides how its time is written and how long a live one takes;
    ``widths`` are those of the counts of all rows."""
    run, counters = overview.run, overview.counters
    tokens = counters.input_tokens + counters.output_tokens
    tasks = f"{counters.finished:,}/{counters.total:,}" if overview.state.live else f"{counters.total:,}"
    return Row(
        run.run_id,
        (
            _progress_cell(overview),
            Cell(run.name, "title"),
            Cell(when(run.created_at, now), "muted"),
            tasks,
            percent(counters.pass_rate),
            aligned(counters, widths),
            _taken(run, overview.state, now.timestamp()),
            Cell(short_number(tokens) if tokens else "-", "" if tokens else "muted"),
            Cell(money(counters.cost) if counters.cost else "-", "" if counters.cost else "muted"),
            Cell(", ".join(run.tags), "accent"),
            Cell(run.parent_run_id or "", "muted"),
        ),
    )


def _progress_cell(overview: RunOverview) -> Cell:
    """``▸ running 12%``: the state, and of a live run how much of it is finished."""
    cell, counters = state_cell(overview.state), overview.counters
    if not overview.state.live or not counters.total:
        return cell
    return Cell(f"{cell.text} {100 * counters.finished // counters.total}%", cell.style)


def _taken(run: RunRecord, state: RunState, now: float) -> str:
    seconds = seconds_taken(run, state, now)
    return whole_seconds(seconds) if state.live and seconds is not None else duration(seconds)


def seconds_taken(run: RunRecord, state: RunState, now: float) -> float | None:
    """How long a run took, or takes already while it is live; None when it is not known."""
    if run.started_at is None:
        return None
    if run.finished_at is not None:
        return max(0.0, run.finished_at - run.started_at)
    if state.live:
        return float(max(0, int(now - run.started_at)))
    return None if run.heartbeat_at is None else max(0.0, run.heartbeat_at - run.started_at)


def when(seconds: float, now: datetime) -> str:
    """``14:35:10`` today, ``Mon 14:35`` this week, ``03 Nov`` this year, else ``2025-11-03``."""
    made = datetime.fromtimestamp(seconds, now.tzinfo)
    if made.date() == now.date():
        return f"{made:%H:%M:%S}"
    days = (now.date() - made.date()).days
    if 0 < days < 7:
        return f"{made:%a %H:%M}"
    return f"{made:%d %b}" if made.year == now.year else f"{made:%Y-%m-%d}"


def short_number(number: float) -> str:
    """``950``, ``12.3k``, ``4.1M``."""
    for limit, divisor, unit in ((1e4, 1, ""), (1e6, 1e3, "k"), (1e9, 1e6, "M")):
        if number < limit:
            return f"{number / divisor:,.0f}" if divisor == 1 else f"{number / divisor:.1f}{unit}"
    return f"{number / 1e9:.1f}G"


def money(amount: float) -> str:
    """A cost in whatever currency the agent reported."""
    return f"{amount:.2f}" if amount >= 1 else f"{amount:.4f}"


_SORTS: dict[str, Callable[[RunOverview], Any]] = {
    "state": lambda each: each.state.value,
    "name": lambda each: each.run.name.casefold(),
    "created_at": lambda each: -each.run.created_at,
    "total": lambda each: each.counters.total,
    "pass_rate": lambda each: each.counters.pass_rate,
    "took": lambda each: (
        None
        if each.run.started_at is None or each.run.finished_at is None
        else each.run.finished_at - each.run.started_at
    ),
    "tokens": lambda each: each.counters.input_tokens + each.counters.output_tokens,
    "cost": lambda each: each.counters.cost,
}


def ordered(overviews: Iterable[RunOverview], column: str = "", descending: bool = False) -> list[RunOverview]:
    """Newest first with the live ones on top, or by a column; what has no such value comes last either way."""
    newest = sorted(overviews, key=lambda each: (-each.run.created_at, -each.run.id))
    if not column:
        runs = sorted(newest, key=lambda each: not each.state.live)
        return runs[::-1] if descending else runs
    value = _SORTS[column]
    known = [each for each in newest if value(each) is not None]
    unknown = [each for each in newest if value(each) is None]
    return sorted(known, key=value, reverse=descending) + unknown
