"""How the lines of a table look: its rows, its header, what is said when it has none. Data in, segments out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style

from tui_eval.tui.text import fit, line, pad, wrapped
from tui_eval.tui.widgets.cells import GAP, Cell, CellValue, Column
from tui_eval.tui.widgets.segments import joined

GUTTER = 2
"""Cells before the first column: the bar of the cursor, and the mark."""

Layout: TypeAlias = Sequence[tuple[int, int]]
"""The columns that are shown, from left to right: ``(index, width)``, the width in cells."""


def line_width(layout: Layout) -> int:
    """Cells of a whole line."""
    return GUTTER + sum(width for _, width in layout) + GAP * max(0, len(layout) - 1)


@dataclass(frozen=True, slots=True)
class RowLook:
    """Everything that decides how the line of a row looks; two equal ones need not be drawn twice.

    ``cells`` is None while the row is still being read, ``scrolled`` how many cells the table is scrolled sideways.
    """

    cells: tuple[CellValue, ...] | None
    under_cursor: bool
    marked: bool
    focused: bool
    scrolled: int


@dataclass(frozen=True, slots=True)
class LineStyles:
    """The plain style of a line, and the styles that are laid over it, by name."""

    plain: Style
    named: Callable[[str], Style]

    def over(self, base: Style, name: str) -> Style:
        # A reversed cursor line (16 colours, no colour) would show text colours as backgrounds.
        return base if not name or base.reverse else base + self.named(name)

    def of_row(self, look: RowLook) -> Style:
        """What lies below all cells of a row."""
        if not look.under_cursor:
            return self.plain
        return self.plain + self.named("cursor" if look.focused else "cursor-blurred")


def row_segments(look: RowLook, columns: Sequence[Column], layout: Layout, styles: LineStyles) -> list[Segment]:
    """The line of a row: cursor, mark, cells."""
    base = styles.of_row(look)
    bar = "▌" if look.under_cursor and look.focused else " "
    segments = [
        Segment(bar, styles.over(base, "gutter")),
        Segment("●" if look.marked else " ", styles.over(base, "mark")),
    ]
    for place, (index, width) in enumerate(layout):
        if place:
            segments.append(Segment(" " * GAP, base))
        value = look.cells[index] if look.cells is not None else Cell("…", "muted")
        segments += _cell(value, width, columns[index].right, base, styles)
    return joined(segments)


def _cell(value: CellValue, width: int, right: bool, base: Style, styles: LineStyles) -> list[Segment]:
    if isinstance(value, str):
        return [Segment(pad(line(value, width), width, right), base)]
    if isinstance(value, Cell):
        return [Segment(pad(line(value.text, width), width, right), styles.over(base, value.style))]
    segments: list[Segment] = []
    left = width
    for part in value:
        text = fit(line(part.text, left), left)
        segments.append(Segment(text, styles.over(base, part.style)))
        left -= segments[-1].cell_length
        if left <= 0:
            break
    blank = Segment(" " * left, base)
    return [blank, *segments] if right else [*segments, blank]


def header_segments(
    columns: Sequence[Column], layout: Layout, styles: LineStyles, *, sort: str, descending: bool
) -> list[Segment]:
    """The titles of the columns; the one sorted by (its ``sort``, "" for none) has an arrow."""
    style = styles.plain + styles.named("header")
    segments = [Segment(" " * GUTTER, style)]
    for place, (index, width) in enumerate(layout):
        column = columns[index]
        title = column.heading(width)
        if sort and column.sort == sort:
            title += "▼" if descending else "▲"
        segments.append(Segment(" " * (GAP if place else 0) + pad(title, width, column.right), style))
    return joined(segments)


def empty_segments(text: str, place: int, width: int, styles: LineStyles) -> list[Segment]:
    """Line ``place`` of what is said when there is no row. Where it has several lines, the first one is its title."""
    title, *rest = text.split("\n")
    room = max(1, width - GUTTER)
    above = wrapped(title, room)
    lines = [*above, *(part for each in rest for part in wrapped(each, room))]
    shown = lines[place] if 0 <= place < len(lines) else ""
    style = styles.plain + styles.named("title" if place < len(above) and rest else "muted")
    return [Segment(" " * GUTTER + fit(shown, room), style)]
