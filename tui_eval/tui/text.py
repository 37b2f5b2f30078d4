"""The one way for text from outside onto a screen: made safe, never markup, cut by the cells it takes.

Everything that a widget draws is either our own words or went through :func:`content`, :func:`line` or the table,
which does it for every cell.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells
from textual.content import Content

from tui_eval.display import GLYPHS, duration, one_line, safe
from tui_eval.domain import Outcome

if TYPE_CHECKING:
    from textual.style import Style


def sanitize(text: str) -> str:
    """``text`` with control, bidirectional and invisible characters made visible; line feeds stay, tabs are spaces."""
    return safe(text).replace("\t", "    ")


def content(text: str, style: str | Style = "") -> Content:
    """Text from outside as content of a widget: shown character for character."""
    return Content.styled(sanitize(text), style) if style else Content(sanitize(text))


def line(text: str, width: int | None = None) -> str:
    """Text from outside on one line, in at most ``width`` cells as the toolkit counts them."""
    if width is None:
        return one_line(text)
    return fit(one_line(text[: 4 * width + 16]), width)


def fit(text: str, width: int) -> str:
    """A safe text in at most ``width`` cells; an ellipsis stands for what is cut off."""
    if text.isascii():
        return text if len(text) <= width else text[: max(0, width - 1)] + "…" * (width > 0)
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return "…" * width
    return chop_cells(text, width - 1)[0] + "…"


def pad(text: str, width: int, right: bool = False) -> str:
    """A safe text in exactly ``width`` cells, blanks added on the left when ``right``-aligned."""
    text = fit(text, width)
    blanks = " " * (width - (len(text) if text.isascii() else cell_len(text)))
    return blanks + text if right else text + blanks


@lru_cache(64)
def wrapped(text: str, width: int) -> tuple[str, ...]:
    """A safe text in lines of at most ``width`` cells, broken between words; one that is longer has a line of its own."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return tuple(lines)


def glyph(outcome: Outcome, unicode: bool = True) -> str:
    """The sign of an outcome; always shown beside its word or under a heading that says it."""
    return GLYPHS[outcome][0 if unicode else 1]


def outcome_text(outcome: Outcome) -> str:
    """``✓ passed``."""
    return f"{glyph(outcome)} {outcome.value}"


def whole_seconds(seconds: float) -> str:
    """A time that moves on while one looks: ``9 s``, ``4 min 05 s``; no fractions that would flicker."""
    whole = max(0, int(seconds))
    return f"{whole} s" if whole < 60 else duration(whole)


def plural(count: int, word: str, words: str | None = None) -> str:
    """``1 task``, ``2 tasks``, ``1,200 tasks``."""
    return f"{count:,} {word if count == 1 else words or word + 's'}"
