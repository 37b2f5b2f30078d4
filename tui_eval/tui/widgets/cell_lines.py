"""A few lines of cells, such as the head of a screen: drawn in the theme of now, and only when they have changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.app import RenderResult
from textual.content import Content
from textual.widget import Widget

from tui_eval.tui.styles import drawn
from tui_eval.tui.widgets.cells import Cell


class CellLines(Widget):
    """Each line is cut to the width. Any text may be in the cells."""

    DEFAULT_CSS = """
    CellLines { height: auto; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: tuple[tuple[Cell, ...], ...] = ()

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda theme: self.refresh())

    def show(self, lines: Iterable[Sequence[Cell]]) -> None:
        """Show other lines. The screen is laid out anew, which sends all of it, only when there are more or fewer."""
        new = tuple(tuple(line) for line in lines)
        if new != self._lines:
            same_height = len(new) == len(self._lines)
            self._lines = new
            self.refresh(layout=not same_height)

    def render(self) -> RenderResult:
        width = self.content_size.width
        return Content("\n").join(drawn(self.app, line, width) for line in self._lines)
