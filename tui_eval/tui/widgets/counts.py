"""Outcome counts: a glyph and the word for each, only the glyphs where it is narrow, and a bar of shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_eval.domain import Outcome
from tui_eval.tui.text import glyph
from tui_eval.tui.widgets.cells import Cell

if TYPE_CHECKING:
    from tui_eval.store.records import Counters

ORDER = (Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.UNSCORED, Outcome.CANCELLED)
ALWAYS = frozenset((Outcome.PASSED, Outcome.FAILED))


def counts(counters: Counters, *, words: bool = True, unfinished: bool = True) -> tuple[Cell, ...]:
    """``✓ 12 passed  ✗ 3 failed  ! 1 error``; without words ``✓12 ✗3 !1``. Zeros are left out but for the verdicts."""
    amounts = [(outcome, int(getattr(counters, outcome.value))) for outcome in ORDER]
    if unfinished:
        amounts += [(Outcome.RUNNING, counters.running), (Outcome.QUEUED, counters.queued)]
    parts: list[Cell] = []
    for outcome, amount in amounts:
        if amount or outcome in ALWAYS:
            if parts:
                parts.append(Cell("  " if words else " "))
            text = f"{glyph(outcome)} {amount:,} {outcome.value}" if words else f"{glyph(outcome)}{amount:,}"
            parts.append(Cell(text, outcome.value if amount else "muted"))
    return tuple(parts)


def share_bar(counters: Counters, width: int) -> tuple[Cell, ...]:
    """A bar of ``width`` cells: a stretch for each outcome, what is unfinished as a thin line."""
    if width <= 0 or not counters.total:
        return (Cell("─" * max(0, width), "muted"),)
    parts: list[Cell] = []
    shown = done = 0
    for outcome in ORDER:
        done += int(getattr(counters, outcome.value))
        end = max(shown, round(width * done / counters.total))
        if end > shown:
            parts.append(Cell("━" * (end - shown), outcome.value))
            shown = end
    if shown < width:
        parts.append(Cell("─" * (width - shown), "muted"))
    return tuple(parts)


def percent(rate: float | None) -> str:
    """``93.3 %``; never rounded up to 100 or down to 0 when it is not; ``-`` for None."""
    if rate is None:
        return "-"
    if rate in (0.0, 1.0):
        return f"{rate:.0%}"
    return f"{min(99.9, max(0.1, rate * 100)):.1f}%"
