"""Fields to type text into, as all screens use them: one line, or several."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input, TextArea

from tui_eval.display import UNSAFE
from tui_eval.tui import keys


def visible(text: str) -> str:
    """A line with what a terminal would obey or hide replaced, one character for one: cursors stay in place."""
    return UNSAFE.sub(lambda found: chr(0x2400 + ord(found[0])) if ord(found[0]) < 0x20 else "\ufffd", text)


class TextInput(Input):
    """The toolkit's input, with a cursor that does not blink (an idle screen sends nothing) and pasted lines joined
    by blanks (the toolkit keeps the first line only). Any text may be in it."""

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

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """A key that types its sign here means nothing else; the toolkit does not know ``slash`` by name."""
        sign = keys.shown(key)
        return super().check_consume_key(
            key, sign if character is None and sign.isascii() and len(sign) == 1 else character
        )

    @property
    def _value(self) -> Text:
        text = super()._value
        return text if text.plain == visible(text.plain) else Text(visible(text.plain), no_wrap=True, end="")

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        text = " ".join(event.text.split("\n")).replace("\r", "") if event.text else ""
        if text:
            start, end = self.selection
            self.replace(text, min(start, end), max(start, end))


class FilterInput(TextInput):
    """What a filter is typed into."""

    HINTS: ClassVar = ("submit", "app.back")
    LABELS: ClassVar = {"submit": "keep it", "app.back": "clear it"}


class AreaInput(TextArea, inherit_bindings=False):
    """Several lines of text; grows with them up to ``most`` lines. Tab leaves it, enter is a new line, and so do the
    arrows at its ends leave it (:class:`Left`). Any text may be in it."""

    DEFAULT_CSS = """
    AreaInput, AreaInput:focus {
        border: none;
        height: 1;
        padding: 0;
        background: $surface;
        color: $foreground;
        scrollbar-gutter: auto;
    }
    AreaInput:focus { background: $panel; }
    AreaInput .text-area--cursor-line { background: transparent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "cursor_up", show=False),
        Binding("down", "cursor_down", show=False),
        Binding("left", "cursor_left", show=False),
        Binding("right", "cursor_right", show=False),
        Binding("ctrl+left", "cursor_word_left", show=False),
        Binding("ctrl+right", "cursor_word_right", show=False),
        Binding("home", "cursor_line_start", show=False),
        Binding("end,ctrl+e", "cursor_line_end", show=False),
        Binding("shift+left", "cursor_left(True)", show=False),
        Binding("shift+right", "cursor_right(True)", show=False),
        Binding("shift+up", "cursor_up(True)", show=False),
        Binding("shift+down", "cursor_down(True)", show=False),
        Binding("shift+home", "cursor_line_start(True)", show=False),
        Binding("shift+end", "cursor_line_end(True)", show=False),
        Binding("backspace", "delete_left", show=False),
        Binding("delete,ctrl+d", "delete_right", show=False),
        Binding("ctrl+w", "delete_word_left", show=False),
        Binding("ctrl+u", "delete_to_start_of_line", show=False),
        Binding("ctrl+k", "delete_to_end_of_line_or_delete_line", show=False),
        Binding("ctrl+x", "cut", show=False),
        Binding("ctrl+v", "paste", show=False),
        Binding("ctrl+y", "redo", show=False),
        Binding("ctrl+underscore,ctrl+z", "undo", show=False),
    ]

    class Left(Message):
        """The cursor went up from the first line (-1) or down from the last one (1)."""

        def __init__(self, area: AreaInput, direction: int) -> None:
            super().__init__()
            self.area = area
            self.direction = direction

        @property
        def control(self) -> AreaInput:
            return self.area

    def __init__(
        self, text: str = "", *, placeholder: str = "", least: int = 1, most: int = 8, id: str | None = None
    ) -> None:
        super().__init__(text, placeholder=placeholder, id=id, soft_wrap=True, tab_behavior="focus")
        self._least = least
        self._most = most

    def on_mount(self) -> None:
        self.cursor_blink = False
        self.grow()

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        return line if line.plain == visible(line.plain) else Text(visible(line.plain), end="", no_wrap=True)

    def grow(self) -> None:
        """Take as many lines as the text needs, within the bounds."""
        self.styles.height = max(self._least, min(self._most, self.wrapped_document.height))

    def on_text_area_changed(self) -> None:
        self.grow()

    def on_resize(self) -> None:
        self.grow()

    def action_cursor_up(self, select: bool = False) -> None:
        if not select and self.navigator.is_first_wrapped_line(self.cursor_location):
            self.post_message(self.Left(self, -1))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        if not select and self.navigator.is_last_wrapped_line(self.cursor_location):
            self.post_message(self.Left(self, 1))
        else:
            super().action_cursor_down(select)
