"""The filter of a table: one line that appears with ``/``, filters while one types, and stays in force."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

from tui_eval.tui.text import line
from tui_eval.tui.widgets.inputs import TextInput

_PAUSE = 0.15  # seconds without a key before the filter is applied


class FilterBar(Horizontal):
    """``/ text                       12 of 300``. Enter goes to the table, esc clears and closes.

    ``hint`` is what an empty one says. The owner answers :class:`Changed` and calls :meth:`tell`.
    """

    DEFAULT_CSS = """
    FilterBar { height: 1; display: none; background: $surface; padding: 0 1; }
    FilterBar.-open { display: block; }
    FilterBar > .filter-bar--sign { width: 2; color: $primary; text-style: bold; }
    FilterBar > TextInput { width: 1fr; }
    FilterBar > #told { width: auto; max-width: 60%; padding-left: 2; color: $muted; text-style: $muted-style; }
    FilterBar.-wrong > #told { color: $warning; }
    """

    class Changed(Message):
        """The text of the filter has changed."""

        def __init__(self, bar: FilterBar, text: str) -> None:
            super().__init__()
            self.bar = bar
            self.text = text

        @property
        def control(self) -> FilterBar:
            return self.bar

    class Left(Message):
        """The user is done typing: the focus belongs to the table."""

        def __init__(self, bar: FilterBar) -> None:
            super().__init__()
            self.bar = bar

        @property
        def control(self) -> FilterBar:
            return self.bar

    def __init__(self, hint: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._hint = hint
        self._said = ""
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static("/", classes="filter-bar--sign", markup=False)
        yield TextInput(placeholder=self._hint)
        yield Static("", id="told", markup=False)

    @property
    def text(self) -> str:
        return self.query_one(TextInput).value.strip()

    def open(self) -> None:
        """Show the bar and type into it."""
        self.add_class("-open")
        self.query_one(TextInput).focus()

    def set_text(self, text: str) -> None:
        """Fill it in for the user; shows the bar when there is a text."""
        self.query_one(TextInput).value = text
        self.set_class(bool(text), "-open")
        self._apply()

    def tell(self, text: str, wrong: bool = False) -> None:
        """What became of the filter: how many there are, or what is wrong with it."""
        self.query_one("#told", Static).update(Content(line(text)))
        self.set_class(wrong, "-wrong")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PAUSE, self._apply)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._apply()
        if not self.text:
            self.remove_class("-open")
        self.post_message(self.Left(self))

    def close(self) -> bool:
        """Clear and hide the bar; False when it was closed already."""
        if not self.has_class("-open"):
            return False
        self.set_text("")
        self.post_message(self.Left(self))
        return True

    def _apply(self) -> None:
        if self.text != self._said:
            self._said = self.text
            self.post_message(self.Changed(self, self.text))
