"""The viewer of a file that has faults: numbered lines, a sign on each line with a fault, a line that is pointed at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.segment import Segment
from textual.strip import Strip

from tui_eval.tui.widgets.text_view import TextView

SIGNS = {"fault": "✗", "warning": "!"}


class SourceView(TextView):
    """A text with line numbers; ``marks`` maps a line (from 1) to ``fault`` or ``warning``."""

    DEFAULT_CSS = """
    SourceView > .source-view--fault { color: $error; text-style: bold; }
    SourceView > .source-view--warning { color: $warning; text-style: bold; }
    SourceView > .source-view--here { background: $row-cursor-background; text-style: $row-cursor-style; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"source-view--fault", "source-view--warning", "source-view--here"}

    def __init__(self, *, empty: str = "", id: str | None = None) -> None:
        super().__init__(wrap=False, numbers=True, empty=empty, id=id)
        self._signs: Mapping[int, str] = {}
        self._here = 0

    def set_source(self, text: str, marks: Mapping[int, str], *, keep_place: bool = False) -> None:
        """Show a file. With ``keep_place`` it is the same one, read again."""
        self._signs = marks
        if not keep_place:
            self._here = 0
        self.set_text(text, keep_place=keep_place)

    def point_at(self, line: int) -> None:
        """Bring a line (from 1) into view and underlay it; 0 takes the underlay away."""
        self._here = line
        if line > 0:
            index = min(line, len(self._lines.lines)) - 1
            self.scroll_to(0, max(0, self._lines.first_row(index) - self.size.height // 3), animate=False, force=True)
        self.refresh()

    @property
    def line_here(self) -> int:
        """The line that is pointed at, else the one on top (from 1)."""
        return self._here or self._lines.row(min(int(self.scroll_offset.y), self._lines.rows - 1))[0] + 1

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        row = self.scroll_offset.y + y
        if self._blank or row >= self._lines.rows:
            return strip
        line, start, _ = self._lines.row(row)
        mark = self._signs.get(line + 1, "")
        if mark and self._margin and not start:
            style = self.rich_style + self.get_component_rich_style(f"source-view--{mark}", partial=True)
            number = str(line + 1).rjust(self._margin - 2)
            strip = Strip([Segment(f"{SIGNS[mark]}{number} ", style), *strip.crop(self._margin)], strip.cell_length)
        if line + 1 == self._here:
            under = self.get_component_rich_style("source-view--here", partial=True)
            strip = Strip([Segment(part.text, (part.style or under) + under) for part in strip], strip.cell_length)
        return strip
