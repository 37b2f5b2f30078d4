"""Numbered panels of a screen: all of them where there is room, one at a time where there is not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult, RenderResult
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_eval.tui.text import fit

_LEAST_GAP = 3
_GAPS = (" │ ", "  ", " ")
"""What stands between two titles: from where there is room to where there is little."""


class PanelTabs(Widget):
    """``1 Requests 2 │ 2 Tasks │ 3 Failures 12``: the panels, their keys, and which is shown. Titles are our own words.

    ``aside`` stands at the right end, where there is room, without what follows its comma where there is less: what is
    not here, and the key that leads there.
    """

    DEFAULT_CSS = """
    PanelTabs { height: 1; padding: 0 1; background: $surface; }
    PanelTabs > .panel-tabs--here { color: $primary; text-style: bold underline; }
    PanelTabs > .panel-tabs--other { color: $muted; text-style: $muted-style; }
    PanelTabs > .panel-tabs--key { color: $primary; text-style: bold; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"panel-tabs--here", "panel-tabs--other", "panel-tabs--key"}

    titles: reactive[tuple[str, ...]] = reactive(())
    current: reactive[int] = reactive(0)
    aside: reactive[str] = reactive("")

    def render(self) -> RenderResult:
        here, other, key = (self.get_visual_style(f"panel-tabs--{name}") for name in ("here", "other", "key"))
        width = self.size.width
        titles, gap, aside = with_aside(self.titles, self.current, self.aside, width)
        parts = []
        for place, title in enumerate(titles):
            parts.append((gap if place else "", other))
            if place == self.current:
                parts.append((f"{place + 1} {title}", here))
            else:
                parts += [(str(place + 1), key), (f" {title}", other)]
        tabs = Content.assemble(*parts)
        if aside:
            return Content.assemble(tabs, (" " * (width - tabs.cell_length - cell_len(aside)) + aside, other))
        return tabs.truncate(width, ellipsis=True)


def with_aside(titles: Sequence[str], current: int, aside: str, width: int) -> tuple[Sequence[str], str, str]:
    """The titles, what stands between them, and what stands aside, for ``width`` cells. Aside is cut before a title is:
    ``B AgentLoop 12, 3 h ago``, ``B AgentLoop 12``, ``B 12``, nothing."""
    short = aside.partition(",")[0]
    words = short.split()
    least = f"{words[0]} {words[-1]}" if len(words) > 2 else ""
    *apart, close = _GAPS
    for text, gap in (*product(filter(None, (aside, short, least)), apart), (least, close)):
        if text and tabs_width(titles, gap) <= width - _LEAST_GAP - cell_len(text):
            return titles, gap, text
    return *fitting_titles(titles, current, width), ""


def tabs_width(titles: Sequence[str], gap: str) -> int:
    """The cells of titles with their keys, and with ``gap`` between them."""
    return sum(cell_len(title) + 2 for title in titles) + cell_len(gap) * (len(titles) - 1)


def fitting_titles(titles: Sequence[str], current: int, width: int) -> tuple[Sequence[str], str]:
    """The titles and what stands between them, for ``width`` cells: where they do not fit, closer together, then without
    what follows the first word (the counts) except in the one that is shown."""
    short = [title if place == current else title.partition(" ")[0] for place, title in enumerate(titles)]
    for shown in (titles, short):
        for gap in _GAPS:
            if tabs_width(shown, gap) <= width:
                return shown, gap
    return [title.partition(" ")[0] for title in titles], " "


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
