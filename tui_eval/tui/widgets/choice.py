"""A field with a few values, one of them chosen: ``‹ POST ›``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import RenderResult
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from tui_eval.domain import JsonValue
from tui_eval.tui import keys
from tui_eval.tui.text import fit, line
from tui_eval.tui.type_ahead import asks


class ChoiceInput(Widget, can_focus=True):
    """One of ``choices`` (label, value), or nothing: then ``unset`` is shown, which is what stands in force."""

    DEFAULT_CSS = """
    ChoiceInput { height: 1; width: 1fr; background: $surface; color: $foreground; }
    ChoiceInput:focus { background: $panel; }
    ChoiceInput > .choice--unset { color: $muted; text-style: $muted-style; }
    ChoiceInput > .choice--arrow { color: $primary; text-style: bold; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"choice--unset", "choice--arrow"}
    BINDINGS: ClassVar = keys.bindings("choice")

    place: reactive[int | None] = reactive(None)

    class Changed(Message):
        """Another value was chosen."""

        def __init__(self, choice: ChoiceInput) -> None:
            super().__init__()
            self.choice = choice

        @property
        def control(self) -> ChoiceInput:
            return self.choice

    def __init__(
        self,
        choices: Sequence[tuple[str, JsonValue]],
        *,
        unset: str = "(not set)",
        title: str = "",
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._choices = tuple(choices)
        self._unset = unset
        self._title = title

    @property
    def value(self) -> tuple[JsonValue] | None:
        """The chosen value in a box, None when nothing is chosen."""
        return None if self.place is None else (self._choices[self.place][1],)

    def choose(self, value: JsonValue) -> bool:
        """Choose a value; False (and nothing is chosen) when it is not one of the choices."""
        same = (i for i, (_, each) in enumerate(self._choices) if each == value and type(each) is type(value))
        self.place = next(same, None)
        return self.place is not None

    def clear(self) -> None:
        self.place = None

    def render(self) -> RenderResult:
        text = self._unset if self.place is None else self._choices[self.place][0]
        shown = fit(line(text), max(1, self.size.width - 4))
        style = self.get_visual_style("choice--unset") if self.place is None else ""
        arrow = self.get_visual_style("choice--arrow")
        return (
            Content.assemble(("‹ ", arrow), (shown, style), (" ›", arrow))
            if self.has_focus
            else Content.assemble(("  ", arrow), (shown, style))
        )

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def watch_place(self, old: int | None, new: int | None) -> None:
        if old != new and self.is_mounted:
            self.post_message(self.Changed(self))

    def action_step(self, step: int) -> None:
        """The next value; after the last one nothing is chosen again."""
        count = len(self._choices) + 1
        place = (0 if self.place is None else self.place + 1) + step
        self.place = None if place % count == 0 else place % count - 1

    @asks(exclusive=True)
    async def action_choose(self) -> None:
        from tui_eval.tui.screens.dialogs import Choose, Option

        options = [Option("", line(self._unset))]
        options += [Option(str(place), line(label)) for place, (label, _) in enumerate(self._choices)]
        at = "" if self.place is None else str(self.place)
        chosen = await self.app.push_screen_wait(Choose(line(self._title) or "Choose", options, at=at))
        if chosen is not None:
            self.place = int(chosen) if chosen else None
