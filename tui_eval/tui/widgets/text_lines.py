"""A long text as lines of a screen: wrapped or not, searched, at any size, without touching what is not looked at."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from itertools import accumulate

from rich.cells import cell_len

from tui_eval.tui.text import sanitize

_EXACT = 200_000
"""Characters of a text up to which rows end at blanks, and up to which what is not ASCII is measured exactly; beyond,
lines are cut evenly, and each character that is not ASCII counts as two cells."""


class TextLines:
    """The lines of a text, safe to show. ``wrap_at`` lays it out for a width; 0 is one row a line.

    A *row* is a line of the screen, a *line* one of the text; both count from 0. Opening 5 MB takes some 50 ms.
    """

    def __init__(self, text: str) -> None:
        self.lines = sanitize(text).split("\n")
        if len(self.lines) > 1 and not self.lines[-1]:
            self.lines.pop()
        self.widest = max(map(len, self.lines), default=0)
        self._foreign = sum(len(line) for line in self.lines if not line.isascii())
        self._at_blanks = len(text) <= _EXACT
        self._width = 0
        self._first_rows = array("q", range(len(self.lines)))
        self._breaks: dict[int, list[int]] = {}

    def wrap_at(self, width: int) -> None:
        """Lay out for rows of ``width`` cells (0: no wrapping)."""
        self._width = width
        self._breaks.clear()
        if width <= 0:
            self._first_rows = array("q", range(len(self.lines)))
            return
        counts = (self._rows_of(index, line) for index, line in enumerate(self.lines[:-1]))
        self._first_rows = array("q", accumulate(counts, initial=0))

    @property
    def rows(self) -> int:
        """Rows of the whole text as laid out."""
        if not self._width:
            return len(self.lines)
        last = len(self.lines) - 1
        return self._first_rows[last] + self._rows_of(last, self.lines[last])

    def row(self, row: int) -> tuple[int, int, str]:
        """``(line, first character, text)`` of a row; the text is the rest of the line when nothing is wrapped."""
        line = bisect_right(self._first_rows, row) - 1
        text = self.lines[line]
        if not self._width:
            return line, 0, text
        part = row - self._first_rows[line]
        if line in self._breaks:
            breaks = self._breaks[line]
            end = breaks[part + 1] if part + 1 < len(breaks) else len(text)
            return line, breaks[part], text[breaks[part] : end]
        step = self._step(text)
        return line, part * step, text[part * step : (part + 1) * step]

    def first_row(self, line: int) -> int:
        """The row where a line begins."""
        return self._first_rows[line]

    def row_of(self, line: int, character: int) -> int:
        """The row that shows a character of a line."""
        first = self._first_rows[line]
        if not self._width:
            return first
        if line in self._breaks:
            return first + bisect_right(self._breaks[line], character) - 1
        return first + character // self._step(self.lines[line])

    def find(self, pattern: re.Pattern[str], line: int, character: int, forward: bool) -> tuple[int, int] | None:
        """The next place after (before) the given one where the pattern matches, going round once."""
        count = len(self.lines)
        for distance in range(count + 1):
            index = (line + distance if forward else line - distance) % count
            places = [match.start() for match in pattern.finditer(self.lines[index])]
            if distance == 0:
                places = [place for place in places if (place > character) == forward and place != character]
            elif distance == count:
                places = [place for place in places if (place <= character) == forward or place == character]
            if places:
                return index, places[0] if forward else places[-1]
        return None

    def _rows_of(self, index: int, line: str) -> int:
        ascii_only = line.isascii()
        if ascii_only and len(line) <= self._width:
            return 1
        if self._at_blanks:
            breaks = (_blank_breaks if ascii_only else _cell_breaks)(line, self._width)
        elif ascii_only or self._foreign > _EXACT:
            return max(1, -(-len(line) // self._step(line)))
        else:
            breaks = _cell_breaks(line, self._width)
        self._breaks[index] = breaks
        return len(breaks)

    def _step(self, line: str) -> int:
        """Characters a row for a line that is cut evenly."""
        return self._width if line.isascii() else max(1, self._width // 2)


def _blank_breaks(line: str, width: int) -> list[int]:
    """Where each row of an ASCII line begins: after a blank, or within a word that is longer than a row."""
    breaks = [0]
    start = 0
    while len(line) - start > width:
        # A blank that would be the first one beyond the row ends it: it is not seen.
        blank = line.rfind(" ", start, start + width + 1)
        start = blank + 1 if blank > start else start + width
        breaks.append(start)
    if breaks[-1] == len(line) and len(breaks) > 1:
        breaks.pop()
    return breaks


def _cell_breaks(line: str, width: int) -> list[int]:
    """Where each row of a line begins, so that none is wider than ``width`` cells: after a blank where there is one."""
    breaks = [0]
    used = since_blank = 0  # cells of the row so far, and of it those after its last blank
    blank = 0  # where the row could begin that follows its last blank; 0 when it has none
    for place, character in enumerate(line):
        cells = cell_len(character)
        if used + cells > width and used and (character != " " or used > width):
            breaks.append(blank or place)
            used = since_blank if blank else 0
            blank = since_blank = 0
        used += cells
        since_blank += cells
        if character == " ":
            blank, since_blank = place + 1, 0
    return breaks
