"""Outcome counts: a glyph and the word for each, only the glyphs where it is narrow, below each other in a table, and a
bar of shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

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


Widths: TypeAlias = Mapping[Outcome, int]
"""The digits of each outcome in a column; an outcome that no row has is not in it."""


def widths_of(rows: Iterable[Counters]) -> Widths:
    """What :func:`aligned` needs so that the counts of these rows stand below each other."""
    widths = dict.fromkeys(ALWAYS, 1)
    for counters in rows:
        for outcome in ORDER:
            if amount := int(getattr(counters, outcome.value)):
                widths[outcome] = max(widths.get(outcome, 0), len(brief(amount)))
    return {outcome: widths[outcome] for outcome in ORDER if outcome in widths}


def cells_of(widths: Widths) -> int:
    """How many cells :func:`aligned` takes."""
    return sum(digits + 1 for digits in widths.values()) + len(widths) - 1


def aligned(counters: Counters, widths: Widths) -> tuple[Cell, ...]:
    """``✓ 76 ✗ 70 ! 26      -24``: each outcome at its own place, nothing where there is none of it, so that a column is
    read from top to bottom."""
    parts: list[Cell] = []
    for outcome, digits in widths.items():
        if parts:
            parts.append(Cell(" "))
        amount = int(getattr(counters, outcome.value))
        shown = amount or outcome in ALWAYS
        text = f"{glyph(outcome)}{brief(amount):>{digits}}" if shown else " " * (digits + 1)
        parts.append(Cell(text, outcome.value if amount else "muted"))
    return tuple(parts)


def brief(amount: int) -> str:
    """A count in at most four cells: ``999``, ``1.8k``, ``18k``, ``2.4M``; the exact one stands elsewhere."""
    if amount < 1000:
        return str(amount)
    if amount < 9_950:
        return f"{amount / 1e3:.1f}k"
    if amount < 999_500:
        return f"{amount / 1e3:.0f}k"
    return f"{amount / 1e6:.1f}M" if amount < 9_950_000 else f"{amount / 1e6:.0f}M"


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
