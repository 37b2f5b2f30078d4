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
    sections: dict[str, dict[str, list[str]]] = {}
    texts: dict[str, str] = {}
    titles = {each.name: each.title for each in keys.groups()}
    for key, active in screen.active_bindings.items():
        binding = active.binding
        if not binding.id:
            continue
        group, _, _ = binding.id.partition(".")
        if group == "app":
            group = "everywhere"
        sections.setdefault(titles.get(group, group), {}).setdefault(binding.id, []).append(keys.shown(key))
        texts[binding.id] = binding.tooltip or binding.description
    rows: list[Row] = []
    for title, bindings in sections.items():
        rows.append(Row(title, (Cell(title, "accent"), "")))
        rows += [Row(name, (Cell(" ".join(pressed), "title"), texts[name])) for name, pressed in bindings.items()]
    return rows
