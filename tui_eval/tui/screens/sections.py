"""A page of several sections, one of which is shown: a bar of titles, keys that go through them, JSON raw or laid out."""

from __future__ import annotations

from typing import ClassVar

from textual import on

from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.widgets.section_bar import SectionBar
from tui_eval.tui.widgets.styled_text import StyledView


class SectionsScreen(BaseScreen):
    """Subclasses name their ``SECTIONS``, and compose a :class:`SectionBar` and a :class:`StyledView`."""

    SECTIONS: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__()
        self.raw = False
        """Whether JSON is shown exactly as it came."""

    @property
    def text(self) -> StyledView:
        return self.query_one(StyledView)

    @property
    def section(self) -> int:
        """The place of the section that is shown."""
        return self.query_one(SectionBar).current

    def show_section(self) -> object:
        """Show the section of the bar in the text."""
        raise NotImplementedError

    def focus_panel(self, number: int) -> None:
        if 1 <= number <= len(self.SECTIONS):
            self.query_one(SectionBar).current = number - 1
            self.text.focus()
            self.show_section()

    def action_section(self, direction: int) -> None:
        self.focus_panel((self.section + direction) % len(self.SECTIONS) + 1)

    @on(SectionBar.Chosen)
    def _section_chosen(self, event: SectionBar.Chosen) -> None:
        self.focus_panel(event.place + 1)

    def action_format(self) -> None:
        self.raw = not self.raw
        self.notify("As it came." if self.raw else "JSON is laid out.", timeout=2)
        self.show_section()
