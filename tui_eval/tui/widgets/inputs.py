"""One line of text to type into, as all screens use it."""

from __future__ import annotations

from textual import events
from textual.widgets import Input


class TextInput(Input):
    """The toolkit's input, with a cursor that does not blink (an idle screen sends nothing) and pasted lines joined
    by blanks (the toolkit keeps the first line only)."""

    DEFAULT_CSS = """
    TextInput, TextInput:focus {
        border: none;
        height: 1;
        padding: 0;
        background: $surface;
        color: $foreground;
    }
    TextInput:focus { background: $panel; }
    """

    def on_mount(self) -> None:
        self.cursor_blink = False

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        text = " ".join(event.text.split("\n")).replace("\r", "") if event.text else ""
        if text:
            start, end = self.selection
            self.replace(text, min(start, end), max(start, end))
