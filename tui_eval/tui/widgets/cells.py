"""What a table shows: cells, rows, columns, and how wide each column is. Plain data and functions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tui_eval.display import cell_width, one_line


@dataclass(frozen=True, slots=True)
class Cell:
    """A text from anywhere and the name of its style: an outcome (``passed`` …), ``muted``, ``accent``, ``title``,
    ``warning``, or "" for the plain one. The table makes the text safe."""

    text: str
    style: str = ""


CellValue: TypeAlias = str | Cell | tuple[Cell, ...]
"""One cell: a plain text, a styled one, or several side by side."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the key that stays with it wherever it moves, and a cell a column."""

    key: Hashable
    cells: tuple[CellValue, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column. Widths are in cells.

    ``width`` is the least it needs; what is left of the screen is shared out by ``weight`` (0: stays at ``width``) up
    to ``most``. When the screen is narrow, columns with the lowest ``priority`` are left out first. ``sort`` is what
    the owner gets as the column to sort by, "" when it cannot be sorted. ``short`` is the title where the whole one
    does not fit.
    """

    name: str
    title: str
    width: int
    weight: int = 0
    most: int = 200
    priority: int = 5
    right: bool = False
    sort: str = ""
    short: str = ""

    def heading(self, width: int) -> str:
        """The title for ``width`` cells."""
        return self.short if self.short and cell_width(self.title) > width else self.title


_COMFORTABLE = 24
GAP = 2
"""Blank cells between two columns."""


def layout(columns: Sequence[Column], width: int) -> list[tuple[int, int]]:
    """Which columns fit into ``width`` cells, and how wide: ``(index, width)`` in order.

    The first column of the highest priority is always there, cut to the width.
    """
    kept = _fitting(columns, width)
    widths = {index: columns[index].width for index in kept}
    if len(kept) == 1:
        widths[kept[0]] = max(1, min(columns[kept[0]].width, width))
    spare = width - sum(widths.values()) - GAP * (len(kept) - 1)
    while spare > 0:
        growing = [i for i in kept if columns[i].weight and widths[i] < columns[i].most]
        if not growing:
            break
        shares = sum(columns[i].weight for i in growing)
        before = spare
        for index in growing:
            more = min(before * columns[index].weight // shares, columns[index].most - widths[index], spare)
            widths[index] += more
            spare -= more
        if spare == before:  # fewer cells than shares: the first ones get them
            for index in growing[:spare]:
                widths[index] += 1
            break
    return [(index, widths[index]) for index in kept]


LONGEST = 120
"""Cells of a text in a table that is scrolled sideways; all of a longer one is read where it is opened."""


def natural(columns: Sequence[Column], needed: Mapping[int, int]) -> list[tuple[int, int]]:
    """Every column as wide as its texts, for a table that is scrolled sideways. ``needed`` are the cells that they take,
    by the place of the column; a column of texts that is not in it (nothing was read yet) gets a comfortable width."""
    return [
        (index, max(column.width, min(needed.get(index, _COMFORTABLE if column.weight else 0), LONGEST)))
        for index, column in enumerate(columns)
    ]


def needed_cells(columns: Sequence[Column], rows: Iterable[Row]) -> dict[int, int]:
    """How wide each column must be for its title and these rows."""
    needed: dict[int, int] = {}
    for row in rows:
        for index, (column, value) in enumerate(zip(columns, row.cells, strict=False)):
            parts = value if isinstance(value, tuple) else (value,)
            texts = (part.text if isinstance(part, Cell) else part for part in parts)
            cells = sum(cell_width(one_line(text[: LONGEST + 1])) for text in texts)
            needed[index] = max(needed.get(index, cell_width(column.title)), cells)
    return needed


def _fitting(columns: Sequence[Column], width: int) -> list[int]:
    kept = list(range(len(columns)))
    while len(kept) > 1 and sum(columns[i].width for i in kept) + GAP * (len(kept) - 1) > width:
        kept.remove(min(reversed(kept), key=lambda index: columns[index].priority))
    return kept
