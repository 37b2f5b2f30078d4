"""Offsets of a text -> line and column, as editors count them (a line ends at LF, CR LF or CR, nowhere else)."""

from __future__ import annotations

import re
from bisect import bisect_right

from tui_eval.spec.nodes import Path, Place

_LINE_END = re.compile(r"\r\n|\r|\n")


class Lines:
    """The lines of one text. Line and column count from 1, in characters."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def place(self, offset: int, path: Path = ()) -> Place:
        line = bisect_right(self._starts, offset)
        return Place(self.file, line, offset - self._starts[line - 1] + 1, path)

    def line(self, number: int) -> str:
        """The text of a line, without its end; empty when there is no such line."""
        if not 1 <= number <= len(self._starts):
            return ""
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[self._starts[number - 1] : end].rstrip("\r\n")
