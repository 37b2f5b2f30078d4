"""A long text of which stretches have a style of their own: headings, labels, what a comparison found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style

from tui_eval.tui.styles import named
from tui_eval.tui.text import sanitize
from tui_eval.tui.widgets.text_lines import TextLines
from tui_eval.tui.widgets.text_view import TextView

Part: TypeAlias = tuple[str, str]
"""A text from anywhere and the name of its style: ``heading``, ``label``, ``muted``, ``warning``, ``added``,
``removed``, an outcome, or "" for the plain one."""

_NAMES = {"heading": "accent", "label": "muted", "added": "success", "removed": "wrong"}
_BOLD = frozenset(("heading", "added", "removed"))


class StyledText:
    """Parts joined and made safe, ready to be shown. Made in a thread where the text may be large (5 MB: 0.1 s)."""

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        texts: list[str] = []
        self._spans: dict[int, list[tuple[int, int, str]]] = {}
        line = column = 0
        for raw, style in parts:
            text = sanitize(raw)
            texts.append(text)
            if style:
                self._mark(text, style, line, column)
            breaks = text.count("\n")
            line += breaks
            column = len(text) - text.rfind("\n") - 1 if breaks else column + len(text)
        self.lines = TextLines("".join(texts))
        self.blank = not any(texts)

    def spans(self, line: int) -> list[tuple[int, int, str]]:
        """``(first character, end, style)`` of the styled stretches of a line, in order."""
        return self._spans.get(line, [])

    def _mark(self, text: str, style: str, line: int, column: int) -> None:
        for place, piece in enumerate(text.split("\n")):
            start = column if place == 0 else 0
            if piece:
                self._spans.setdefault(line + place, []).append((start, start + len(piece), style))


class StyledView(TextView):
    """The viewer of long texts, with styles. A colour never stands alone: the texts say the same in words or signs."""

    def __init__(self, *, empty: str = "", id: str | None = None) -> None:
        super().__init__(empty=empty, id=id)
        self._text = StyledText()

    def show(self, text: StyledText, *, keep_place: bool = False) -> None:
        """Show a text; from its beginning unless ``keep_place`` (it grew)."""
        self._text = text
        self._lines = text.lines
        self._blank = text.blank
        self._match = None
        self._lay_out()
        if not keep_place:
            self.scroll_to(0, 0, animate=False, force=True)
        self.refresh()

    def end_search(self) -> bool:
        """Take the marks of a search away; False when nothing was searched for."""
        if self._pattern is None:
            return False
        self._pattern = self._match = None
        self.refresh()
        self.refresh_bindings()
        return True

    def search(self, text: str) -> bool:
        found = super().search(text)
        self.refresh_bindings()
        return found

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "next_match":  # the screen may have a meaning of its own for the key
            return self._pattern is not None
        return super().check_action(action, parameters)

    def _marked(self, text: str, line: int, start: int, base: Style) -> list[Segment]:
        segments = super()._marked(text, line, start, base)
        spans = self._text.spans(line)
        if not spans:
            return segments
        styled: list[Segment] = []
        place = start
        for segment in segments:
            styled += self._divided(segment, place, spans, base)
            place += len(segment.text)
        return styled

    def _divided(self, segment: Segment, start: int, spans: list[tuple[int, int, str]], base: Style) -> list[Segment]:
        """A segment that begins at the character ``start`` of its line, cut where the style changes."""
        if segment.style != base:  # a place that matches the search
            return [segment]
        text, end, place = segment.text, start + len(segment.text), start
        parts: list[Segment] = []
        for low, high, name in spans:
            low, high = max(low, place), min(high, end)
            if low >= high:
                continue
            parts += [Segment(text[place - start : low - start], base)] if low > place else []
            style = named(self.app, _NAMES.get(name, name)) + Style(bold=True if name in _BOLD else None)
            parts.append(Segment(text[low - start : high - start], base + style))
            place = high
        return [*parts, Segment(text[place - start :], base)] if place < end else parts
