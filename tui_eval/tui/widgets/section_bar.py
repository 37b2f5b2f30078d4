"""The sections of a screen by name and key; at any width one sees which is open and how many there are."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style

from tui_eval.tui.widgets.panels import PanelTabs


class SectionBar(PanelTabs):
    """``1 Task  2 Input  3 Output``, with notes (how many) where there is room. Names and notes are our own words."""

    notes: reactive[tuple[str, ...]] = reactive(())
    """What is told of each section, "" for nothing; as many as ``titles``."""

    class Chosen(Message):
        """A section was clicked; places count from 0."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def render(self) -> RenderResult:
        here, other, digit = (self.get_visual_style(f"panel-tabs--{name}") for name in ("here", "other", "key"))
        gap, shown = self._labels()
        parts: list[str | tuple[str, Style]] = []
        for place, label in enumerate(shown):
            key, _, name = label.partition(" ")
            parts.append(" " * gap if place else "")
            parts += [(label, here)] if place == self.current else [(key, digit), (f" {name}" if name else "", other)]
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        gap, shown = self._labels()
        x = event.x - 1
        for place, label in enumerate(shown):
            x -= cell_len(label) + gap
            if x < 0:
                self.post_message(self.Chosen(place))
                return

    def _labels(self) -> tuple[int, list[str]]:
        return labels(self.titles, self.notes or ("",) * len(self.titles), self.current, self.size.width)


def labels(titles: Sequence[str], notes: Sequence[str], at: int, width: int) -> tuple[int, list[str]]:
    """``(blanks between two, labels)``: with notes where they fit into ``width`` cells, else without, else closer
    together, else the name of the open one only."""
    plain = [f"{place} {title}" for place, title in enumerate(titles, 1)]
    full = [f"{label} {note}".rstrip() for label, note in zip(plain, notes, strict=True)]
    for gap, candidate in ((2, full), (2, plain), (1, plain)):
        if sum(cell_len(label) + gap for label in candidate) - gap <= width:
            return gap, candidate
    return 2, [label if place == at else str(place + 1) for place, label in enumerate(plain)]
