"""The filter of a table: one line that appears with ``/``, filters while one types, and stays in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from tui_eval.tui.text import line

if TYPE_CHECKING:
    from tui_eval.tui.widgets.inputs import FilterInput

_PAUSE = 0.15  # seconds without a key before the filter is applied


class FilterBar(Horizontal):
    """``/ text                       12 of 300``. Enter goes to the table, esc clears and closes.

    ``hint`` is what an empty one says. The owner answers :class:`Changed` and calls :meth:`tell`.
    """

    DEFAULT_CSS = """
    FilterBar { height: 1; display: none; background: $surface; padding: 0 1; }
    FilterBar.-open { display: block; }
    FilterBar > .filter-bar--sign { width: 2; color: $primary; text-style: bold; }
    FilterBar > FilterInput { width: 1fr; }
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
        self._told = ("", False)
        self._timer: Timer | None = None
        self._input: FilterInput | None = None

    @property
    def text(self) -> str:
        return "" if self._input is None else self._input.value.strip()

    def open(self) -> None:
        """Show the bar and type into it."""
        self._show(True)
        if self._input is not None:
            self.screen.set_focus(self._input)  # at once: the next key belongs to it

    def set_text(self, text: str) -> None:
        """Fill it in for the user; shows the bar when there is a text."""
        self._show(bool(text))
        if self._input is not None:
            self._input.value = text
        self._apply()

    def tell(self, text: str, wrong: bool = False) -> None:
        """What became of the filter: how many there are, or what is wrong with it."""
        if (text, wrong) != self._told:
            self._told = (text, wrong)
            self.set_class(wrong, "-wrong")
            self._show_told()

    def _show_told(self) -> None:
        for told in self.query("#told").results(Static):
            told.update(Content(line(self._told[0])))

    def on_input_changed(self, event: Message) -> None:
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PAUSE, self._apply)

    def on_input_submitted(self, event: Message) -> None:
        event.stop()
        self._apply()
        if not self.text:
            self._show(False)
        self.post_message(self.Left(self))

    def close(self) -> bool:
        """Clear and hide the bar; False when it was closed already."""
        if not self.has_class("-open"):
            return False
        self.set_text("")
        self.post_message(self.Left(self))
        return True

    def _show(self, shown: bool) -> None:
        """Make the input when it is first wanted (it is dear to import), and show or hide the bar.

        Hidden, the input must not be found when the toolkit looks for something to give the focus to.
        """
        if shown and self._input is None:
            from tui_eval.tui.widgets.inputs import FilterInput

            self._input = FilterInput(placeholder=self._hint)
            sign = Static("/", classes="filter-bar--sign", markup=False)
            self.mount(sign, self._input, Static("", id="told", markup=False))
            self.call_after_refresh(self._show_told)
        self.set_class(shown, "-open")
        if self._input is not None:
            self._input.disabled = not shown

    def _apply(self) -> None:
        if self.text != self._said:
            self._said = self.text
            self.post_message(self.Changed(self, self.text))
