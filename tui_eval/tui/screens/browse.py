"""What the screens of files share: a table of files above, and of the one under the cursor a panel below."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work

from tui_eval import text_query
from tui_eval.text_query import TextQuery
from tui_eval.tui import platform_aside
from tui_eval.tui.background import away
from tui_eval.tui.polling import in_front
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.text import line, plural
from tui_eval.tui.widgets.filter_bar import FilterBar
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.panels import Panel, PanelTabs

if TYPE_CHECKING:
    from tui_eval.spec.workspace import Workspace


SHORT = 24
"""Lines of a screen below which only one panel is shown."""

LEAST_ABOVE = 6
"""Lines of the table of files on others; it takes as many as it has, up to two fifths of the screen."""


class BrowseScreen(BaseScreen):
    """Subclasses name their panels in ``NAMES``, the table of files first; each is ``#name`` inside ``Panel#p-name``,
    those below inside ``#below``.

    A short screen shows one panel, the focused one. The panel below is the one the user chose; until then, and after
    the cursor has moved, the one that :meth:`best_detail` names.
    """

    DEFAULT_CSS = """
    BrowseScreen #above, BrowseScreen #below { height: 1fr; }
    BrowseScreen #above PanelHeading { display: none; }
    """
    NAMES: ClassVar[tuple[str, ...]] = ()
    STICKY: ClassVar[frozenset[str]] = frozenset()
    """Panels that stay chosen when the cursor moves to another file."""
    PLATFORM_LIST: ClassVar[str] = ""
    """The list of AgentLoop that has things of the same kind, "" for none."""

    def __init__(self) -> None:
        super().__init__()
        self.chosen_detail = ""
        self.sought = TextQuery()
        self._stale = False

    def table(self, name: str) -> LineTable:
        return self.query_one(f"#{name}", LineTable)

    @property
    def files(self) -> LineTable:
        """The table of files; its keys are paths."""
        return self.table(self.NAMES[0])

    @property
    def path(self) -> Path | None:
        """The file under the cursor."""
        key = self.files.cursor_key
        return key if isinstance(key, Path) else None

    # -- what subclasses say --

    def best_detail(self) -> str:
        """The panel that says most about the file under the cursor."""
        return self.NAMES[1]

    def draw_files(self) -> None:
        """Show the table of files as things are now."""
        raise NotImplementedError

    def show_detail(self) -> None:
        """Bring the panels below up to date: another file is under the cursor."""
        raise NotImplementedError

    def detail_shown(self, name: str) -> None:
        """A panel below is shown now: what is dear to fill can wait for this."""

    # -- when it is drawn --

    def show_files(self) -> None:
        """Show the files anew; while another screen is in front, when this one comes back."""
        self._stale = not in_front(self)
        if not self._stale:
            self.draw_files()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        if self._stale:
            self.show_files()
        if self.PLATFORM_LIST:
            self.call_after_refresh(self._tell_of_platform)

    @work(group="platform", exclusive=True)
    async def _tell_of_platform(self) -> None:
        """How much the platform had last, beside the panels, for those who have been there."""
        aside = await away(partial(platform_aside.text, self.tui.history.path, self.PLATFORM_LIST))
        self.query_one(PanelTabs).aside = aside

    # -- panels --

    @property
    def detail(self) -> str:
        """The name of the panel below."""
        return self.chosen_detail or self.best_detail()

    @property
    def focused_place(self) -> int:
        """The place in ``NAMES`` of the panel with the focus."""
        return next((place for place, name in enumerate(self.NAMES) if self.focused is self.query_one(f"#{name}")), 0)

    def set_titles(self, titles: Sequence[str]) -> None:
        """Say how many there are: in the tabs, and in the headings below together with the file's name."""
        self.query_one(PanelTabs).titles = tuple(titles)
        for name, title in zip(self.NAMES[1:], titles[1:], strict=True):
            heading = f"{title} · {self.path.name}" if self.path is not None else title
            self.query_one(f"#p-{name}", Panel).set_title(line(heading, 100))

    def show_panel(self) -> None:
        """Show the right panel below, and on a short screen only the one with the focus."""
        self._arrange(self.focused_place)
        self.detail_shown(self.detail)

    def _arrange(self, place: int) -> None:
        # By the widgets' own switch, not by classes: it takes effect at once, and only what is displayed takes focus.
        self.query_one(PanelTabs).current = place
        short = self.size.height < SHORT
        above = self.query_one("#above")
        above.display = place == 0 or not short
        rows = self.files.source.count() + 2
        above.styles.height = "1fr" if short else max(LEAST_ABOVE, min(rows, self.size.height * 2 // 5))
        self.query_one("#below").display = place > 0 or not short
        for name in self.NAMES[1:]:
            self.query_one(f"#p-{name}").display = name == self.detail

    def on_resize(self) -> None:
        self._arrange(self.focused_place)

    def on_descendant_focus(self) -> None:
        self.call_later(self.show_panel)

    def focus_panel(self, number: int) -> None:
        if not 1 <= number <= len(self.NAMES):
            return
        if number > 1:
            self.chosen_detail = self.NAMES[number - 1]
        self._arrange(number - 1)
        # At once, not when the queue comes to it: what is queued asks where the focus is.
        self.set_focus(self.query_one(f"#{self.NAMES[number - 1]}"))

    def next_panel(self, direction: int) -> None:
        """tab: the next panel, hidden or not."""
        self.focus_panel((self.focused_place + direction) % len(self.NAMES) + 1)

    def give_back(self) -> bool:
        """esc: from a panel below to the files, then the filter, then away."""
        if self.focused_place > 0:
            self.focus_panel(1)
            return True
        return self.query_one(FilterBar).close()

    @on(LineTable.Highlighted)
    def _file_highlighted(self, event: LineTable.Highlighted) -> None:
        if event.table is self.files:
            if self.chosen_detail not in self.STICKY and self.focused_place == 0:
                self.chosen_detail = ""
            self.show_detail()

    @on(LineTable.Selected)
    def _file_selected(self, event: LineTable.Selected) -> None:
        if event.table is self.files:
            self.focus_panel(self.NAMES.index(self.detail) + 1)

    @on(LineTable.Sorted)
    def _files_sorted(self, event: LineTable.Sorted) -> None:
        if event.table is self.files:
            self.show_files()

    # -- filter --

    def action_filter(self) -> None:
        self.query_one(FilterBar).open()

    @on(FilterBar.Changed)
    def _filter_changed(self, event: FilterBar.Changed) -> None:
        self.sought = text_query.parse(event.text)
        self.show_files()

    @on(FilterBar.Left)
    def _filter_left(self) -> None:
        self.focus_panel(1)

    # -- the workspace --

    def tell_bounds(self, workspace: Workspace) -> None:
        """Say what of the workspace could not be seen."""
        notes = list(workspace.cut)
        if workspace.unreadable:
            notes.append(f"{plural(len(workspace.unreadable), 'place')} cannot be read: {workspace.unreadable[0]}")
        for note in notes:
            self.notify(note, title="The workspace was not seen in full", severity="warning", timeout=8)
