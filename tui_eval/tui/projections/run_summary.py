"""The head of the screen of a run: two lines that say how it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui_eval.analysis.statistics import rate_of
from tui_eval.display import duration
from tui_eval.store.records import Counters, RequestRecord, RunRecord, RunState
from tui_eval.tui.projections.requests import Pace
from tui_eval.tui.projections.runs import money, seconds_taken, short_number, state_text
from tui_eval.tui.text import whole_seconds
from tui_eval.tui.widgets.cells import Cell
from tui_eval.tui.widgets.counts import counts, percent, share_bar


def first_line(run: RunRecord, state: RunState, total: Counters, width: int) -> list[Cell]:
    """State, progress and counts; words beside the glyphs where there is room."""
    bar = min(24, max(0, width - 60))
    words = width >= 100
    parts = [Cell(f"{state_text(state)}  ", "title")]
    if bar >= 8:
        parts += [*share_bar(total, bar), Cell("  ")]
    parts += [Cell(f"{total.finished:,} of {total.total:,}  "), *counts(total, words=words)]
    return parts


def second_line(run: RunRecord, state: RunState, total: Counters, now: float, left: str, width: int) -> list[Cell]:
    """Pass rate with its interval, time, tokens, cost; or why it ended as it did."""
    rate = rate_of(total.passed, total.decided)
    parts = [
        Cell(f"pass rate {percent(rate.rate)}", "title"),
        Cell(f" ({total.passed:,} of {total.decided:,}", "muted"),
    ]
    if width >= 70:
        parts.append(Cell(" decided", "muted"))
    if rate.low is not None and rate.high is not None and width >= 90:
        parts.append(Cell(f", 95% CI {100 * rate.low:.1f} to {100 * rate.high:.1f}", "muted"))
    parts.append(Cell(")", "muted"))
    taken = seconds_taken(run, state, now)
    if taken is not None:
        parts.append(Cell(f"   {whole_seconds(taken) if state.live else duration(taken)}"))
    if state.live and state is not RunState.PAUSED and left != "-":
        parts.append(Cell(f", about {left} left" if width >= 70 else f", {left} left"))
    if total.reused:
        parts.append(Cell(f"   {total.reused:,} reused", "muted"))
    tokens = total.input_tokens + total.output_tokens
    if tokens:
        parts.append(Cell(f"   {short_number(tokens)} tokens", "muted"))
    if total.cost:
        parts.append(Cell(f"   cost {money(total.cost)}", "muted"))
    return parts


def remark(run: RunRecord, state: RunState, total: Counters) -> Cell:
    """What a reader must know about the run: its error, how to finish it, why nothing is seen yet, a warning, its note."""
    if state is RunState.INTERRUPTED:
        return Cell("The runner is gone. Press C to finish the run; what was finished is kept.", "warning")
    if run.error:
        return Cell(run.error, "warning")
    if state.live and not total.total and run.origin_detail.get("platform") == "agentcompass":
        return Cell("AgentCompass is starting: it loads all of itself first, half a minute and more.", "muted")
    if run.warnings:
        more = f" (and {len(run.warnings) - 1} more)" if len(run.warnings) > 1 else ""
        return Cell(run.warnings[0] + more, "warning")
    return Cell(run.note, "muted")


def slowest_left(requests: Sequence[RequestRecord], paces: Mapping[int, Pace], concurrency: int) -> float | None:
    """Seconds until the run is done: all unfinished tasks at the medians of their requests, so many at once."""
    total = 0.0
    unfinished = 0
    for request in requests:
        median = paces[request.id].p50 if request.id in paces else None
        rest = request.counters.total - request.counters.finished
        if rest and median is None:
            return None
        total += rest * (median or 0.0)
        unfinished += rest
    return total / max(1, min(concurrency, unfinished)) if unfinished else None
