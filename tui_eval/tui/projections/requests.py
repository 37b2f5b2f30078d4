"""The requests of a run as rows: how far, how it goes, how fast, how long still."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tui_eval.analysis.statistics import percentile
from tui_eval.display import duration
from tui_eval.store.records import Counters, RequestRecord, RequestState
from tui_eval.tui.text import whole_seconds
from tui_eval.tui.widgets.blocks import sparkline
from tui_eval.tui.widgets.cells import Cell, Column, Row
from tui_eval.tui.widgets.counts import Widths, aligned, cells_of, percent, share_bar

_LOOKS = {
    RequestState.PENDING: ("·", "queued"),
    RequestState.RUNNING: ("▸", "running"),
    RequestState.COMPLETED: ("✓", ""),
    RequestState.FAILED: ("!", "error"),
    RequestState.TIMED_OUT: ("!", "error"),
    RequestState.CANCELLED: ("-", "cancelled"),
}
BAR = 12

COLUMNS = (
    Column("name", "request", 12, weight=3, most=36, priority=10),
    Column("state", "state", 12, priority=4),
    Column("bar", "progress", BAR, priority=7),
    Column("done", "done", 11, priority=8, right=True),
    Column("rate", "pass", 6, priority=9, right=True),
    Column("counts", "✓pass ✗fail !err ?none", 14, priority=8, short="✓ ✗ ! ?"),
    Column("p50", "p50", 8, priority=3, right=True),
    Column("p95", "p95", 8, priority=3, right=True),
    Column("speed", "per min", 8, priority=2, right=True),
    Column("left", "left", 10, priority=6, right=True),
    Column("spark", "finished", 14, priority=1),
)

_OF_LIVE_RUNS = frozenset(("speed", "left", "spark"))


def columns(widths: Widths, live: bool = True) -> tuple[Column, ...]:
    """The columns for requests whose counts have these widths: none of the counts is cut. Of a run that is not ``live``,
    what only moves while it is gives way first."""
    found = []
    for each in COLUMNS:
        if each.name == "counts":
            each = replace(each, width=max(14, cells_of(widths)))
        elif each.name in _OF_LIVE_RUNS and not live:
            each = replace(each, priority=0)
        found.append(each)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a request goes, from its finished tasks. Seconds; None where nothing is known.

    ``finished_at`` are the ends of its newest tasks, sorted.
    """

    p50: float | None = None
    p95: float | None = None
    finished_at: tuple[float, ...] = ()


def pace(latencies: Sequence[float], finished_at: Sequence[float]) -> Pace:
    """The pace from the latencies and ends of finished tasks."""
    values = sorted(latencies)
    return Pace(percentile(values, 0.5), percentile(values, 0.95), tuple(sorted(finished_at)))


def request_row(
    request: RequestRecord,
    pace: Pace,
    now: float,
    concurrency: int,
    live: bool,
    widths: Widths,
    *,
    paused: bool = False,
) -> Row:
    """One request (its key is its key in the history). ``live`` is False when no runner executes the run; ``widths`` are
    those of the counts of all of them; nothing is said of how long a ``paused`` one takes."""
    counters = request.counters
    glyph, style = _LOOKS[request.state]
    state = request.state.value
    unfinished = request.state in (RequestState.PENDING, RequestState.RUNNING)
    if unfinished and not live:
        glyph, style, state = "?", "unscored", "unfinished"
    live = live and request.state is RequestState.RUNNING
    return Row(
        request.id,
        (
            Cell(request.name, "title"),
            Cell(f"{glyph} {state}", style),
            share_bar(counters, BAR),
            f"{counters.finished:,}/{counters.total:,}",
            percent(counters.pass_rate),
            aligned(counters, widths),
            duration(pace.p50),
            duration(pace.p95),
            per_minute(pace.finished_at, now) if live else "-",
            time_left(counters, pace.p50, concurrency) if live and not paused else "-",
            sparkline(throughput(pace.finished_at, now, 14), 14) if live else "",
        ),
    )


def time_left(counters: Counters, median: float | None, concurrency: int) -> str:
    """From the median of the finished tasks, so that a hung one does not spoil it; ``-`` while none is finished."""
    unfinished = counters.total - counters.finished
    if median is None or unfinished <= 0:
        return "-"
    at_once = max(1, min(concurrency, unfinished))
    return whole_seconds(max(1, round(median * unfinished / at_once)))


def per_minute(finished_at: Sequence[float], now: float, window: float = 60.0) -> str:
    """Tasks finished a minute, over the last ``window`` seconds; ``-`` when none was."""
    recent = [at for at in finished_at if now - window <= at <= now]
    if not recent:
        return "-"
    span = min(window, max(1.0, now - min(finished_at)))
    return f"{len(recent) * 60 / span:,.0f}"


def throughput(finished_at: Sequence[float], now: float, buckets: int, seconds: float = 2.0) -> list[float]:
    """Tasks finished in each of the last ``buckets`` stretches of ``seconds``, oldest first."""
    found = [0.0] * buckets
    for at in finished_at:
        place = buckets - 1 - int((now - at) // seconds)
        if 0 <= place < buckets and at <= now:
            found[place] += 1
    return found
