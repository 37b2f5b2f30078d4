"""Choosing one of many things: a table in front of the screen that is filtered while one types."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui_eval import text_query
from tui_eval.tui import keys
from tui_eval.tui.text import content
from tui_eval.tui.widgets.bars import KeyBar
from tui_eval.tui.widgets.cells import Column, Row
from tui_eval.tui.widgets.inputs import TextInput
from tui_eval.tui.widgets.line_table import LineTable


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing: its row, whose key is given back, and the text that the filter looks into."""

    row: Row
    words: str


class PickTable(LineTable, can_focus=False):
    """The table under the filter: the keys come from there, so it looks as if it had the focus."""

    @property
    def looks_focused(self) -> bool:
        return True


class Pick(ModalScreen[Hashable | None]):
    """The key of the row that was chosen, None when it was closed. Letters go to the filter, arrows to the table."""

    DEFAULT_CSS = """
    Pick { align: center middle; }
    Pick > #box {
        width: 100; max-width: 96%; height: 80%; border: round $primary; background: $surface; padding: 0 1;
    }
    Pick #title { text-style: bold; }
    Pick #note { color: $muted; text-style: $muted-style; height: auto; }
    Pick TextInput, Pick TextInput:focus { background: $panel; margin-bottom: 1; }
    Pick LineTable { background: $surface; }
    """
    BINDINGS: ClassVar = [*keys.bindings("dialog")[:1], *keys.bindings("picking")]
    HINTS = ("submit", "dialog.cancel")
    LABELS: ClassVar = {"submit": "choose"}

    def __init__(self, title: str, columns: Sequence[Column], offers: Sequence[Offer], *, note: str = "") -> None:
        super().__init__()
        self._title = title
        self._columns = columns
        self._offers = offers
        self._note = note

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(content(self._title), id="title", markup=False)
            if self._note:
                yield Static(content(self._note), id="note", markup=False)
            yield TextInput(placeholder="type to filter, arrows to move, enter to choose")
            yield PickTable(self._columns, marking=False, empty="Nothing matches.")
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(TextInput).focus()
        self._show("")

    def _show(self, text: str) -> None:
        wanted = text_query.parse(text)
        self.query_one(LineTable).show([each.row for each in self._offers if wanted.matches(each.words)])

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._show(event.value)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.query_one(LineTable).action_select()

    @on(LineTable.Selected)
    def _selected(self, event: LineTable.Selected) -> None:
        self.dismiss(event.key)

    def on_click(self, event: events.Click) -> None:
        self.query_one(TextInput).focus()

    def action_move(self, rows: int) -> None:
        self.query_one(LineTable).action_move(rows)

    def action_move_page(self, pages: float) -> None:
        self.query_one(LineTable).action_move_page(pages)

    def action_cancel(self) -> None:
        self.dismiss(None)
