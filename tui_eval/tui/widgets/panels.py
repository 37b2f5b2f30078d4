"""Numbered panels of a screen: all of them where there is room, one at a time where there is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult, RenderResult
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_eval.tui.text import fit

_LEAST_GAP = 3


class PanelTabs(Widget):
    """``1 Requests  2 Tasks  3 Failures 12``: the panels and which of them is shown. Titles are our own words.

    ``aside`` stands at the right end, where there is room, without what follows its comma where there is less: what is
    not here, and the key that leads there.
    """

    DEFAULT_CSS = """
    PanelTabs { height: 1; padding: 0 1; background: $surface; }
    PanelTabs > .panel-tabs--here { color: $primary; text-style: bold underline; }
    PanelTabs > .panel-tabs--other { color: $muted; text-style: $muted-style; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"panel-tabs--here", "panel-tabs--other"}

    titles: reactive[tuple[str, ...]] = reactive(())
    current: reactive[int] = reactive(0)
    aside: reactive[str] = reactive("")

    def render(self) -> RenderResult:
        here, other = self.get_visual_style("panel-tabs--here"), self.get_visual_style("panel-tabs--other")
        titles, gap = fitting_titles(self.titles, self.current, self.size.width)
        parts = []
        for place, title in enumerate(titles):
            parts += [(gap if place else "", other), (f"{place + 1} {title}", here if place == self.current else other)]
        tabs = Content.assemble(*parts)
        for aside in dict.fromkeys((self.aside, self.aside.partition(",")[0])):
            room = self.size.width - tabs.cell_length - cell_len(aside)
            if aside and room >= _LEAST_GAP:
                return Content.assemble(tabs, (" " * room + aside, other))
        return tabs.truncate(self.size.width, ellipsis=True)


def fitting_titles(titles: Sequence[str], current: int, width: int) -> tuple[Sequence[str], str]:
    """The titles and what stands between them, for ``width`` cells: where they do not fit, closer together, then without
    what follows the first word (the counts) except in the one that is shown."""
    short = [title if place == current else title.partition(" ")[0] for place, title in enumerate(titles)]
    names = [title.partition(" ")[0] for title in titles]
    for shown, gap in ((titles, "  "), (titles, " "), (short, "  "), (short, " ")):
        if sum(cell_len(title) + 2 for title in shown) + len(gap) * (len(shown) - 1) <= width:
            return shown, gap
    return names, " "


class Panel(Vertical):
    """A panel with a heading; the heading goes where the tabs are shown instead."""

    DEFAULT_CSS = """
    Panel { height: 1fr; }
    Panel > PanelHeading { height: 1; padding: 0 1; color: $muted; text-style: $muted-style; }
    Panel:focus-within > PanelHeading { color: $primary; text-style: bold; }
    """

    def __init__(self, title: str, *children: Widget, id: str | None = None) -> None:
        super().__init__(id=id)
        self._heading = PanelHeading(title)
        self._inside: Sequence[Widget] = children

    def compose(self) -> ComposeResult:
        yield self._heading
        yield from self._inside

    def set_title(self, title: str) -> None:
        """Change the heading (our own words: a count may be in them)."""
        self._heading.title = title


class PanelHeading(Widget):
    """``── Tasks 1,234 ─────``."""

    title: reactive[str] = reactive("")

    def __init__(self, title: str) -> None:
        super().__init__()
        self.set_reactive(PanelHeading.title, title)

    def render(self) -> RenderResult:
        text = fit(f"── {self.title} ", self.size.width)
        return Content(text + "─" * max(0, self.size.width - len(text)))
