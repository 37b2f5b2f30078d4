"""Help: what one can do here first, then how to move, then the application's keys."""

from __future__ import annotations

from itertools import groupby
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
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
    HelpScreen #whole { height: 3; border-top: solid $edge; padding: 0 2; }
    HelpScreen.-short #text { display: none; }
    HelpScreen.-short #whole { height: 6; padding: 0 1; }
    """
    BINDINGS: ClassVar = [
        *keys.bindings("dialog")[:1],
        Binding("q,question_mark", "cancel", "close", show=False),
    ]
    LABELS: ClassVar = {"dialog.cancel": "close"}

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self._text = str(getattr(about, "HELP", ""))
        self._rows = help_rows(about)

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            if self._text:
                yield Static(content(self._text), id="text", markup=False)
            columns = [Column("key", "keys", 16), Column("help", "what they do", 30, weight=1)]
            table = LineTable(columns, marking=False, selecting=False)
            table.show(self._rows)
            yield table
            yield Static("", id="whole", markup=False)
        yield KeyBar()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_whole)

    @on(LineTable.Highlighted)
    def _show_whole(self) -> None:
        """A text that the table cuts is read below it; on a short screen what the screen is for, too, beside a title."""
        key = self.query_one(LineTable).cursor_key
        row = next((row for row in self._rows if row.key == key), None)
        text = "" if row is None else row.cells[1]
        about = self._text if self.has_class("-short") else ""
        self.query_one("#whole", Static).update(content(text if isinstance(text, str) else about))

    def action_cancel(self) -> None:
        self.dismiss(None)


def help_rows(screen: Screen[Any]) -> list[Row]:
    """The keys that work on ``screen`` now: a section for the focused widget, each of its containers, and the rest. How
    to move in a table or a text is known soon: it comes after what can be done here."""
    pressed: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for key, active in screen.active_bindings.items():
        if active.binding.id:
            pressed.setdefault(active.binding.id, []).append(key)
            texts[active.binding.id] = active.binding.tooltip or active.binding.description
    groups = {each.name: each for each in keys.groups()}
    order = list(dict.fromkeys(keys.group_of(name) for name in pressed))
    order.sort(key=keys.rank)
    rows: list[Row] = []
    for group in order:
        rows.append(Row(group, ("", Cell(groups[group].title, "accent"))))
        names = [key.id for key in groups[group].keys if key.id in pressed]
        for _, alike in groupby(names, key=_unnumbered):
            first, *others = alike
            shown, text = _shown(first, pressed), texts[first]
            if others:  # one line for the keys 1 to 5
                shown, text = f"{shown} … {_shown(others[-1], pressed)}", f"{text} to {others[-1][-1]}"
            rows.append(Row(first, (Cell(shown, "title"), text)))
    return rows


def _unnumbered(name: str) -> str:
    """What the ids of numbered keys have in common (``app.panel_1``, ``app.panel_2``); any other id itself."""
    return name.rstrip("0123456789") if name[-2:-1] == "_" else name


def _shown(name: str, pressed: dict[str, list[str]]) -> str:
    return " ".join(keys.shown(key) for key in keys.in_order(name, pressed[name]))
