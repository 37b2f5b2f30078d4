"""Questions that stand before a screen: confirm, choose, type. Texts from anywhere are shown as they are.

From an action that runs in a worker (``@work``)::

    if await self.app.push_screen_wait(Confirm("Delete this run?", ["20261129-…"], yes="Delete")):
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui_eval.tui import keys
from tui_eval.tui.text import content, line, plural
from tui_eval.tui.widgets.bars import KeyBar
from tui_eval.tui.widgets.cells import Cell, Column, Row
from tui_eval.tui.widgets.inputs import TextInput
from tui_eval.tui.widgets.line_table import LineTable

_MOST_ROWS = 16
_CUT_FROM = 30  # characters: a longer remark may be cut in the list, and is read below it
_CSS = """
{name} {{ align: center middle; }}
{name} > #box {{
    width: 72; max-width: 94%; height: auto; max-height: 90%;
    border: round $primary; background: $surface; padding: 0 1;
}}
{name} #title {{ text-style: bold; margin-bottom: 1; }}
{name} #text {{ margin-bottom: 1; }}
{name} #calls {{ color: $warning; text-style: bold; margin-bottom: 1; }}
{name} LineTable {{ height: auto; max-height: {rows}; background: $surface; }}
{name} #wrong {{ color: $error; height: auto; }}
{name} #note {{ height: 3; border-top: solid $edge; padding: 0 2; color: $muted; text-style: $muted-style; }}
"""


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to choose: the value that is given back, what it is called, and a remark."""

    value: str
    label: str
    note: str = ""


class Confirm(ModalScreen[bool]):
    """Yes or no, and no is where the cursor stands. ``calls`` is how many calls a yes will make (``at_most``: no more
    than that, with every retry): it is always said for what makes any."""

    DEFAULT_CSS = _CSS.format(name="Confirm", rows=_MOST_ROWS)
    BINDINGS: ClassVar = keys.bindings("dialog")
    LABELS: ClassVar = {"table.select": "choose"}

    def __init__(
        self,
        title: str,
        lines: Sequence[str] = (),
        *,
        yes: str = "Yes",
        no: str = "No",
        calls: int | None = None,
        at_most: bool = False,
    ) -> None:
        super().__init__()
        self._title = title
        self._lines = lines
        self._calls = calls
        self._most = "at most " if at_most else ""
        self._options = (Row(False, (no, Cell("n", "muted"))), Row(True, (yes, Cell("y", "muted"))))

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(content(self._title), id="title", markup=False)
            if self._lines:
                yield Static(content("\n".join(self._lines)), id="text", markup=False)
            if self._calls is not None:
                yield Static(Content(f"This makes {self._most}{plural(self._calls, 'call')}."), id="calls")
            table = LineTable([Column("answer", "", 20, weight=1), Column("key", "", 3)], marking=False, header=False)
            table.show(self._options)
            yield table
        yield KeyBar()

    @on(LineTable.Selected)
    def _selected(self, event: LineTable.Selected) -> None:
        self.dismiss(bool(event.key))

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)

    def action_cancel(self) -> None:
        self.dismiss(False)


class Choose(ModalScreen[str | None]):
    """One of several; None when it was closed. ``highlighted`` is called with the value under the cursor."""

    DEFAULT_CSS = _CSS.format(name="Choose", rows=_MOST_ROWS)
    BINDINGS: ClassVar = keys.bindings("dialog")[:1]
    LABELS: ClassVar = {"table.select": "choose"}

    def __init__(
        self,
        title: str,
        options: Iterable[Option],
        *,
        at: str | None = None,
        text: str = "",
        highlighted: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._options = tuple(options)
        self._at = at
        self._highlighted = highlighted

    def compose(self) -> ComposeResult:
        columns = [Column("label", "", 16, weight=1)]
        if any(option.note for option in self._options):
            columns.append(Column("note", "", 16, weight=2, priority=2))
        with Vertical(id="box"):
            yield Static(content(self._title), id="title", markup=False)
            if self._text:
                yield Static(content(self._text), id="text", markup=False)
            table = LineTable(columns, marking=False, header=False, empty="There is nothing to choose from.")
            table.show([Row(each.value, (each.label, Cell(each.note, "muted"))) for each in self._options])
            yield table
            if any(len(option.note) > _CUT_FROM for option in self._options):
                yield Static("", id="note", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        if self._at is not None:
            self.query_one(LineTable).move_to(self._at)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """The list takes what the box has left for it above the line of keys: it scrolls, the box does not."""
        table, box = self.query_one(LineTable), self.query_one("#box")
        others = [each for each in box.children if each is not table]
        used = sum(each.outer_size.height + each.styles.margin.height for each in others)
        table.styles.max_height = max(3, min(_MOST_ROWS, int(0.9 * (self.size.height - 1)) - box.gutter.height - used))

    @on(LineTable.Highlighted)
    def _moved(self, event: LineTable.Highlighted) -> None:
        """The note of the option under the cursor in full, where the list cuts it."""
        note = next((option.note for option in self._options if option.value == event.key), "")
        for below in self.query("#note").results(Static):
            below.update(content(note))
        if self._highlighted is not None:
            self._highlighted(str(event.key))

    @on(LineTable.Selected)
    def _selected(self, event: LineTable.Selected) -> None:
        self.dismiss(str(event.key))

    def action_cancel(self) -> None:
        self.dismiss(None)


class Prompt(ModalScreen[str | None]):
    """A text to type; None when it was closed. ``check`` says what is wrong with a text, "" when it may be taken.
    What is typed is not shown when it is ``secret``."""

    DEFAULT_CSS = _CSS.format(name="Prompt", rows=_MOST_ROWS)
    BINDINGS: ClassVar = keys.bindings("dialog")[:1]
    HINTS = ("submit", "dialog.cancel")
    LABELS: ClassVar = {"submit": "accept"}

    def __init__(
        self,
        title: str,
        text: str = "",
        *,
        hint: str = "",
        check: Callable[[str], str] = lambda text: "",
        secret: bool = False,
    ) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._hint = hint
        self._check = check
        self._secret = secret

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(content(self._title), id="title", markup=False)
            yield TextInput(value=line(self._text), placeholder=self._hint, password=self._secret)
            yield Static("", id="wrong", markup=False)
        yield KeyBar()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        wrong = self._check(event.value)
        if wrong:
            self.query_one("#wrong", Static).update(content(wrong))
        else:
            self.dismiss(event.value)

    def action_cancel(self) -> None:
        self.dismiss(None)
