"""One text on a screen of its own: a case, a request with its defaults."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget

from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.widgets.text_view import TextView


class FullTextScreen(BaseScreen):
    """Shows ``text``, from anywhere, under ``title``; ``esc`` goes back."""

    PANELS = ("#text",)
    HELP = "The whole text. w wraps long lines, / searches, esc goes back."

    def __init__(self, title: str, text: str, *, wrap: bool = True) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._wrap_lines = wrap

    def body(self) -> Iterable[Widget]:
        yield TextView(self._text, wrap=self._wrap_lines, id="text")

    @property
    def crumb(self) -> str:
        return self._title

    def on_mount(self) -> None:
        self.show_place(f"{len(self._text):,} characters")
        self.query_one(TextView).focus()
