"""The viewer of long texts: an output, a raw body, a log. Opens 5 MB at once, draws only what is seen."""

from __future__ import annotations

import re
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_eval.tui import keys
from tui_eval.tui.text import fit, sanitize, wrapped
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.text_lines import TextLines


class TextView(ScrollView, can_focus=True):
    """Shows a text from anywhere, character for character; what a terminal would obey is made visible.

    ``w`` wraps, ``/`` searches (n, N go on), ``#`` numbers the lines. ``empty`` is said when there is no text.
    """

    DEFAULT_CSS = """
    TextView {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
    }
    TextView > .text-view--number { color: $muted; text-style: $muted-style; }
    TextView > .text-view--match { background: $accent 40%; text-style: bold reverse; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"text-view--number", "text-view--match"}
    BINDINGS: ClassVar = keys.bindings("viewer")

    def __init__(
        self,
        text: str = "",
        *,
        wrap: bool = True,
        numbers: bool = False,
        empty: str = "(empty)",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.empty = empty
        self._wrap = wrap
        self._numbers = numbers
        self._lines = TextLines(text)
        self._blank = not text
        self._pattern: re.Pattern[str] | None = None
        self._match: tuple[int, int] | None = None

    def set_text(self, text: str, *, keep_place: bool = False) -> None:
        """Show another text; from its beginning unless ``keep_place`` (a log that grows)."""
        self._lines = TextLines(text)
        self._blank = not text
        self._match = None
        self._lay_out()
        if not keep_place:
            self.scroll_to(0, 0, animate=False, force=True)
        self.refresh()

    def set_empty(self, text: str) -> None:
        """Change what is said while there is no text."""
        self.empty = text
        if self._blank:
            self.refresh()

    # -- drawing --

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        base = self.rich_style
        row = self.scroll_offset.y + y
        if self._blank:
            said = [part for each in sanitize(self.empty).split("\n") for part in wrapped(each, max(1, width))]
            text = said[y] if y < len(said) else ""
            return Strip([Segment(text, base + self._style("number"))]).crop_extend(0, width, base)
        if row >= self._lines.rows:
            return Strip.blank(width, base)
        line, start, text = self._lines.row(row)
        x = self.scroll_offset.x
        room = self._across - self._margin
        shown = fit(text[x : x + room + 1], room) if not self._wrap else text
        segments = self._marked(shown, line, start + x, base)
        if self._numbers:
            number = str(line + 1) if start == 0 else ""
            segments.insert(0, Segment(number.rjust(self._margin - 1) + " ", base + self._style("number")))
        return Strip(segments).crop_extend(0, width, base)

    def _marked(self, text: str, line: int, start: int, base: Style) -> list[Segment]:
        """The text with the places that match the search marked."""
        if self._pattern is None:
            return [Segment(text, base)]
        segments: list[Segment] = []
        place = 0
        for match in self._pattern.finditer(self._lines.lines[line], max(0, start - 200), start + len(text) + 200):
            low, high = max(0, match.start() - start), min(len(text), match.end() - start)
            if high > max(low, place):
                low = max(low, place)
                segments += [Segment(text[place:low], base), Segment(text[low:high], base + self._style("match"))]
                place = high
        return [*segments, Segment(text[place:], base)]

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"text-view--{name}", partial=True)

    @property
    def _across(self) -> int:
        """Cells of a line: those of the scrollbar, which comes when there are more lines, are left free."""
        return max(1, self.size.width - self.styles.scrollbar_size_vertical)

    @property
    def _margin(self) -> int:
        return len(str(len(self._lines.lines))) + 2 if self._numbers else 0

    def _lay_out(self) -> None:
        width = max(1, self._across - self._margin)
        self._lines.wrap_at(width if self._wrap else 0)
        across = self._across if self._wrap else max(self._across, self._lines.widest + self._margin)
        self.virtual_size = Size(across, self._lines.rows)

    def on_resize(self, event: events.Resize) -> None:
        top = self._lines.row(min(self.scroll_offset.y, self._lines.rows - 1))
        self._lay_out()
        self.scroll_to(y=self._lines.row_of(top[0], top[1]), animate=False, force=True)

    # -- keys --

    def action_move(self, rows: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + rows, animate=False, force=True)

    def action_move_page(self, pages: float) -> None:
        rows = max(1, int(abs(pages) * self.size.height))
        self.action_move(rows if pages > 0 else -rows)

    def action_top(self) -> None:
        self.scroll_to(y=0, animate=False, force=True)

    def action_bottom(self) -> None:
        self.scroll_to(y=self._lines.rows, animate=False, force=True)

    def action_move_columns(self, cells: int) -> None:
        if not self._wrap:
            self.scroll_to(x=max(0, self.scroll_offset.x + cells), animate=False, force=True)

    def action_wrap(self) -> None:
        line, start, _ = self._lines.row(min(self.scroll_offset.y, self._lines.rows - 1))
        self._wrap = not self._wrap
        self._lay_out()
        self.scroll_to(x=0, y=self._lines.row_of(line, start), animate=False, force=True)
        self.refresh()

    def action_numbers(self) -> None:
        self._numbers = not self._numbers
        self._lay_out()
        self.refresh()

    @asks(exclusive=True)
    async def action_search(self) -> None:
        from tui_eval.tui.screens.dialogs import Prompt

        text = await self.app.push_screen_wait(Prompt("Search", hint="text; upper and lower case are alike"))
        if text:
            self.search(text)
        elif text == "":
            self._pattern = self._match = None
            self.refresh()

    def search(self, text: str) -> bool:
        """Mark a text wherever it stands and go to the first place from here on; False when there is none."""
        self._pattern = re.compile(re.escape(sanitize(text)), re.IGNORECASE)
        line, start, _ = self._lines.row(min(self.scroll_offset.y, self._lines.rows - 1))
        self._match = (line, start - 1)
        self.refresh()
        return self._go_to_match(forward=True)

    def action_next_match(self, direction: int) -> None:
        if self._pattern is None:
            self.action_search()
        else:
            self._go_to_match(forward=direction > 0)

    def _go_to_match(self, forward: bool) -> bool:
        assert self._pattern is not None
        line, character = self._match or (0, -1)
        found = self._lines.find(self._pattern, line, character, forward)
        if found is None:
            self.notify("This text is nowhere in here.", severity="warning")
            return False
        self._match = found
        row = self._lines.row_of(*found)
        if not self.scroll_offset.y <= row < self.scroll_offset.y + self.size.height:
            self.scroll_to(y=max(0, row - self.size.height // 3), animate=False, force=True)
        if not self._wrap and not 0 <= found[1] - self.scroll_offset.x < self._across - self._margin:
            self.scroll_to(x=max(0, found[1] - 8), animate=False, force=True)
        return True
