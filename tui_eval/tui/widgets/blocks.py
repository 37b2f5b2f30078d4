"""Lines drawn with blocks: a sparkline of figures over time. ASCII terminals get the substitutes of ``ascii_lines``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

_LEVELS = " ▁▂▃▄▅▆▇█"
_ASCII_LEVELS = " .:-=+*#@"


def sparkline(values: Sequence[float], width: int, unicode: bool = True) -> str:
    """The last figures as one line of at most ``width`` cells; the largest is a full block, zero a blank.

    More figures than cells: each cell shows the mean of its share.
    """
    if width <= 0 or not values:
        return ""
    levels = _LEVELS if unicode else _ASCII_LEVELS
    shown = _squeezed(values, width)
    top = max(shown)
    if top <= 0:
        return levels[0] * len(shown)
    steps = len(levels) - 1
    return "".join(levels[max(1, round(value / top * steps)) if value > 0 else 0] for value in shown)


def _squeezed(values: Sequence[float], width: int) -> list[float]:
    if len(values) <= width:
        return list(values)
    edges = [round(place * len(values) / width) for place in range(width + 1)]
    return [sum(values[low:high]) / (high - low) for low, high in pairwise(edges)]


def progress(done: int, total: int, width: int) -> str:
    """``━━━━────``: how much of ``total`` is done, in ``width`` cells; full only when all is."""
    if total <= 0:
        return "─" * width
    cells = width if done >= total else min(width - 1, width * done // total)
    return "━" * cells + "─" * (width - cells)
