"""Many rows of a CSV file at once: the quick way as long as nothing is wrong.

The csv module reads whole pieces of the file; only what it cannot read, and pieces that are no text, go the careful way
of :mod:`csv_rows`, which says what is wrong and where. The quick way goes on some way behind.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING

from tui_eval.datasets.encoding import whole_lines
from tui_eval.datasets.files import CHUNK_BYTES
from tui_eval.datasets.rows import Block, Item, Place, Row

if TYPE_CHECKING:
    from tui_eval.datasets.csv_rows import Sheet

_CARRIED = 4 * CHUNK_BYTES
"""Bytes of a row that began in an earlier piece: a longer one (a quote that is never closed) goes the careful way."""

LEAST_LIMIT = 3 * _CARRIED
"""No row of the quick way is longer, in bytes: with a lower limit all rows go the careful way."""

_CAREFUL = CHUNK_BYTES // 4
"""Bytes behind a fault that are read the careful way, before the quick one goes on."""


def read(sheet: Sheet) -> Iterator[Block | Item]:
    """Every row behind the header."""
    items = sheet.rows(None)
    behind = 0
    while (place := (yield from _carefully(items, behind))) is not None:
        trouble = yield from _quickly(sheet, place)
        if trouble is None:
            return
        items = sheet.rows(trouble)
        behind = trouble.offset + _CAREFUL


def _carefully(items: Iterable[Item], behind: int) -> Generator[Item, None, Place | None]:
    """Rows one by one, up to a whole one that begins at or behind a byte; its place, or None after the last one."""
    for item in items:
        if isinstance(item, Row) and item.offset >= behind:
            return Place(item.offset, item.line)
        yield item
    return None


def _quickly(sheet: Sheet, place: Place) -> Generator[Block | Item, None, Place | None]:
    """Rows from a place on, many at a time; the place of the first one that wants a closer look, or None."""
    carried = b""
    for piece in whole_lines(sheet.file.chunks(place.offset), _CARRIED):
        data = carried + piece
        table = _table(data, sheet) if len(piece) <= _CARRIED else None
        if table is None:
            return place
        cells, ends, lines = table
        taken = ends[-1] if ends else 0
        yield from _sorted_out(sheet, cells, [place.line + begin for begin in (0, *ends[:-1])] if ends else [])
        carried = b"" if taken == lines else data.split(b"\n", taken)[taken]
        place = Place(place.offset + len(data) - len(carried), place.line + taken)
        if len(carried) > _CARRIED:
            return place
    return place if carried else None


def _table(data: bytes, sheet: Sheet) -> tuple[list[list[str]], list[int], int] | None:
    """The rows that are whole, the number of lines up to the end of each, and of all lines. None when something is wrong;
    a last row that is not whole may go on in the next piece."""
    try:
        text = data.decode(sheet.encoding.codec)
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=sheet.delimiter, strict=True)
    cells: list[list[str]] = []
    ends: list[int] = []
    try:
        for row in reader:
            cells.append(row)
            ends.append(reader.line_num)
    except csv.Error:
        if reader.line_num < lines:
            return None
    return cells, ends, lines


def _sorted_out(sheet: Sheet, cells: list[list[str]], lines: list[int]) -> Iterator[Block | Item]:
    """Rows as they are, or one by one around those that are blank or not as long as the header."""
    width = len(sheet.header)
    if set(map(len, cells)) == {width} and all(row[0].strip() for row in cells):
        yield from sheet.block(cells, lines)
        return
    begun = 0
    for place, (row, line) in enumerate(zip(cells, lines, strict=True)):
        if len(row) != width or not any(map(str.strip, row)):
            yield from sheet.block(cells[begun:place], lines[begun:place])
            yield from sheet.passed_over(row, line)
            begun = place + 1
    yield from sheet.block(cells[begun:], lines[begun:])
