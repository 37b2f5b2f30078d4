"""Help: the keys of what has the focus first, then the screen's, then the application's."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from tui_eval.tui import keys
from tui_eval.tui.text import content
from tui_eval.tui.widgets.bars import KeyBar
from tui_eval.tui.widgets.cells import Cell, Column, Row
from tui_eval.tui.widgets.line_table import LineTable


class HelpScreen(ModalScreen[None]):
    """The active keys of another screen, in sections."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > #box { width: 90; max-width: 96%; height: 90%; border: round $primary; background: $surface; padding: 0 1; }
    HelpScreen #text { margin-bottom: 1; color: $muted; text-style: $muted-style; }
    HelpScreen LineTable { background: $surface; }
    """
    BINDINGS: ClassVar = [*keys.bindings("dialog")[:1], ("q", "cancel", "close"), ("question_mark", "cancel", "close")]

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self._text = str(getattr(about, "HELP", ""))
        self._rows = help_rows(about)

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            if self._text:
                yield Static(content(self._text), id="text", markup=False)
            table = LineTable([Column("key", "keys", 16), Column("help", "what they do", 30, weight=1)], marking=False)
            table.show(self._rows)
            yield table
        yield KeyBar()

    def action_cancel(self) -> None:
        self.dismiss(None)


def help_rows(screen: Screen[Any]) -> list[Row]:
    """The keys that work on ``screen`` now: a section for the focused widget, each of its containers, and the rest."""
    pressed: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for key, active in screen.active_bindings.items():
        if active.binding.id:
            pressed.setdefault(active.binding.id, []).append(key)
            texts[active.binding.id] = active.binding.tooltip or active.binding.description
    groups = {each.name: each for each in keys.groups()}
    order = list(dict.fromkeys(keys.group_of(name) for name in pressed))
    order.sort(key=lambda name: name == "everywhere")
    rows: list[Row] = []
    for group in order:
        own = [key for key in groups[group].keys if key.id in pressed]
        rows.append(Row(group, (Cell(groups[group].title, "accent"), "")))
        rows += [Row(key.id, (Cell(_shown(key.id, pressed), "title"), texts[key.id])) for key in own]
    return rows


def _shown(name: str, pressed: dict[str, list[str]]) -> str:
    return " ".join(keys.shown(key) for key in keys.in_order(name, pressed[name]))
