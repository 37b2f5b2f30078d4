"""The table: any number of rows, only the visible ones are built, only the changed ones are sent to the terminal.

Why not the toolkit's DataTable: it sends the whole visible table for one changed cell (15 KB at 120x40 where this
sends 0.5 KB) and takes 35 s of CPU for 100,000 rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_eval.tui import keys
from tui_eval.tui.styles import named
from tui_eval.tui.widgets import line_drawing as drawing
from tui_eval.tui.widgets.cells import Column, Row, layout, natural, needed_cells
from tui_eval.tui.widgets.row_source import ListSource, RowSource, known_rows


class TableMessage(Message):
    """What a table tells its owner."""

    def __init__(self, table: LineTable) -> None:
        super().__init__()
        self.table = table

    @property
    def control(self) -> LineTable:
        return self.table


class LineTable(ScrollView, can_focus=True):
    """A table of rows from a :class:`RowSource`. The cursor and the marks stay with the rows' keys, not their places.

    ``empty`` is what to say, and what to do, when there is no row. Sorting is the owner's: the table only says which
    column was chosen (:class:`Sorted`).
    """

    DEFAULT_CSS = """
    LineTable {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        background: $background;
        color: $foreground;
    }
    """
    BINDINGS: ClassVar = keys.bindings("table")

    cursor: reactive[int] = reactive(0, repaint=False)

    class RowMessage(TableMessage):
        """Something about one row."""

        def __init__(self, table: LineTable, key: Hashable) -> None:
            super().__init__(table)
            self.key = key

    class Selected(RowMessage):
        """Enter on a row, or a click on the row that has the cursor."""

    class Highlighted(RowMessage):
        """The cursor came to a row."""

    class Sorted(TableMessage):
        """The user wants the rows in the order of a column (its ``sort``), or in their own order ("")."""

        def __init__(self, table: LineTable, column: str, descending: bool) -> None:
            super().__init__(table)
            self.column = column
            self.descending = descending

    class LastWanted(TableMessage):
        """The user goes to the last row."""

    class MarksChanged(TableMessage):
        """Rows were marked or unmarked."""

    def __init__(
        self,
        columns: Sequence[Column],
        source: RowSource | None = None,
        *,
        empty: str = "Nothing here yet.",
        marking: bool = True,
        selecting: bool = True,
        header: bool = True,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.columns = tuple(columns)
        self.source: RowSource = source or ListSource()
        self.empty = empty
        self.marking = marking
        self.selecting = selecting
        self.top = 1 if header else 0
        """Lines above the first row."""
        self.marks: dict[Hashable, None] = {}
        self.sort_column = ""
        self.descending = False
        self._cursor_key: Hashable = None
        self._range_from: Hashable = None
        self._drawn: dict[int, drawing.RowLook | None] = {}
        self._wide = False
        self._layout: list[tuple[int, int]] = []
        self._laid_out_for = -1

    # -- what owners call --

    def show(self, rows: Sequence[Row]) -> None:
        """Show these rows, all in memory. Only lines that look different are drawn."""
        self.set_source(ListSource(rows))

    def set_source(self, source: RowSource) -> None:
        """Show the rows of another source (or the same one after a change of its rows or order)."""
        self.source = source
        self.rows_changed()

    def rows_changed(self) -> None:
        """Something about the rows has changed: follow the cursor's row to its place, draw the lines that differ."""
        count = self.source.count()
        self._resize_content()
        place = self.source.index(self._cursor_key) if self._cursor_key is not None else None
        if place is None:
            place = max(0, min(self.cursor, count - 1))
        if place != self.cursor:
            self.set_reactive(LineTable.cursor, place)
            self._scroll_to_cursor()
        key = self.source.key(place) if count else None
        if key != self._cursor_key:
            self._cursor_key = key
            if key is not None:
                self.post_message(self.Highlighted(self, key))
        self._draw_changed()

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Show other columns (of the same rows, which the owner gives anew when their cells differ)."""
        self.columns = tuple(columns)
        self._arrange()

    def set_empty(self, text: str) -> None:
        """Change what is said when there is no row."""
        if text != self.empty:
            self.empty = text
            if not self.source.count():
                self.refresh()

    @property
    def cursor_key(self) -> Hashable | None:
        """The key of the row with the cursor, None when there is no row."""
        return self._cursor_key if self.source.count() else None

    def move_to(self, key: Hashable) -> bool:
        """Put the cursor on a row; False when it is not there."""
        place = self.source.index(key)
        if place is not None:
            self.cursor = place
        return place is not None

    def chosen(self) -> list[Hashable]:
        """The marked keys in the order they were marked, else the key under the cursor, else nothing."""
        if self.marks:
            return list(self.marks)
        return [] if self.cursor_key is None else [self.cursor_key]

    def drop_marks(self, gone: Iterable[Hashable] | None = None) -> None:
        """Take marks away: all, or those of keys that are gone."""
        for key in list(self.marks) if gone is None else list(gone):
            self.marks.pop(key, None)
        self._range_from = None
        self._draw_changed()
        self.post_message(self.MarksChanged(self))

    @property
    def across(self) -> int:
        """Cells of a line: the scrollbar, while there is one, stands beside it."""
        return max(0, self.size.width - (self.scrollbar_size_vertical if self.show_vertical_scrollbar else 0))

    @property
    def _needed(self) -> dict[int, int]:
        """The cells that the columns need for the rows on the screen."""
        return needed_cells(self.columns, known_rows(self.source, *self.visible_rows))

    @property
    def visible_rows(self) -> tuple[int, int]:
        """The places of the first and the last row on the screen."""
        top = self.scroll_offset.y
        return top, max(top, min(self.source.count(), top + self._page()) - 1)

    # -- drawing --

    def render_line(self, y: int) -> Strip:
        width = self.across
        if self._laid_out_for != width:  # first, or a scrollbar has come or gone: that is no change of the size
            self._lay_out()
            self._drawn.clear()
        styles = drawing.LineStyles(self.rich_style, partial(named, self.app))
        if not self.source.count():
            return self._strip(drawing.empty_segments(self.empty, y - self.top, width, styles), styles.plain)
        if y < self.top:
            sort, descending = self.sort_column, self.descending
            titles = drawing.header_segments(self.columns, self._layout, styles, sort=sort, descending=descending)
            return self._strip(titles, styles.plain)
        look = self._drawn[y] = self._look(y)
        if look is None:
            return Strip.blank(width, styles.plain)
        return self._strip(drawing.row_segments(look, self.columns, self._layout, styles), styles.of_row(look))

    def notify_style_update(self) -> None:
        self._drawn.clear()
        super().notify_style_update()

    @property
    def looks_focused(self) -> bool:
        """Whether the line of the cursor is drawn as that of the table with the focus."""
        return self.has_focus

    def _look(self, y: int) -> drawing.RowLook | None:
        """How the line at ``y`` looks now, None below the last row."""
        index = self.scroll_offset.y + y - self.top
        if index >= self.source.count():
            return None
        row = self.source.row(index)
        return drawing.RowLook(
            cells=row.cells if row is not None else None,
            under_cursor=index == self.cursor,
            marked=self.source.key(index) in self.marks,
            focused=self.looks_focused,
            scrolled=self.scroll_offset.x,
        )

    def _strip(self, segments: list[Segment], style: Style) -> Strip:
        x = self.scroll_offset.x
        return Strip(segments).crop_extend(x, x + self.across, style)

    def _draw_changed(self) -> None:
        """Refresh the lines on the screen that would look different now; what is off the screen costs nothing."""
        if not self.is_mounted or not self.size.height:
            return
        if not self._drawn or not self.source.count():
            self.refresh()
            return
        for y in range(self.top, self.size.height):
            if self._look(y) != self._drawn.get(y):
                self.refresh(Region(0, y, self.size.width, 1))

    # -- size and scrolling --

    def on_resize(self, event: events.Resize) -> None:
        self._arrange()
        self._scroll_to_cursor()

    def on_focus(self) -> None:
        self._draw_changed()

    def on_blur(self) -> None:
        self._draw_changed()

    def _arrange(self) -> None:
        """Other columns, or another width: lay out and draw everything anew."""
        self._lay_out()
        self._resize_content()
        self._drawn.clear()
        self.refresh()

    def _lay_out(self) -> None:
        self._laid_out_for = self.across
        room = self.across - drawing.GUTTER
        self._layout = natural(self.columns, self._needed) if self._wide else layout(self.columns, room)

    def _resize_content(self) -> None:
        across = max(self.across, drawing.line_width(self._layout)) if self._wide else self.across
        size = Size(across, self.source.count() + self.top)
        if size != self.virtual_size:
            self.virtual_size = size

    def _page(self) -> int:
        return max(1, self.size.height - self.top)

    def _scroll_to_cursor(self) -> None:
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor > top + self._page() - 1:
            self.scroll_to(y=self.cursor - self._page() + 1, animate=False, force=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._drawn.clear()

    def watch_cursor(self, old: int, new: int) -> None:
        count = self.source.count()
        self._cursor_key = self.source.key(new) if new < count else None
        self._draw_changed()
        self._scroll_to_cursor()
        if self._cursor_key is not None:
            self.post_message(self.Highlighted(self, self._cursor_key))

    def validate_cursor(self, value: int) -> int:
        return max(0, min(value, self.source.count() - 1))

    # -- keys --

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("mark", "mark_range", "unmark"):
            return self.marking
        if action == "select":
            return self.selecting
        if action in ("sort", "reverse"):
            return any(column.sort for column in self.columns)
        return True

    def action_move(self, rows: int) -> None:
        self.cursor += rows

    def action_move_page(self, pages: float) -> None:
        rows = max(1, int(abs(pages) * self._page()))
        self.cursor += rows if pages > 0 else -rows

    def action_first(self) -> None:
        self.cursor = 0

    def action_last(self) -> None:
        self.cursor = self.source.count() - 1

    def action_bottom(self) -> None:
        """The last row; the owner is told, who may know of more rows than are here."""
        self.action_last()
        self.post_message(self.LastWanted(self))

    def action_select(self) -> None:
        if self.cursor_key is not None:
            self.post_message(self.Selected(self, self.cursor_key))

    def action_scroll_columns(self, direction: int) -> None:
        """Sideways: the first step to the right brings in the columns that were left out for want of room, and gives all
        of them the width of their texts."""
        if direction > 0 and not self._wide:
            self._set_wide(True)
            return
        x = self.scroll_offset.x + direction * max(8, self.across // 3)
        if direction < 0 and self._wide and self.scroll_offset.x == 0:
            self._set_wide(False)
            return
        self.scroll_to(x=max(0, min(x, self.virtual_size.width - self.across)), animate=False, force=True)
        self._drawn.clear()

    def _set_wide(self, wide: bool) -> None:
        if wide:
            shown, needed = dict(layout(self.columns, self.across - drawing.GUTTER)), self._needed
            if all(index in shown and needed.get(index, 0) <= shown[index] for index in range(len(self.columns))):
                return  # nothing was left out or cut
        self._wide = wide
        self._arrange()

    def action_mark(self) -> None:
        if self.cursor_key is None or not self.marking:
            return
        if self.marks.pop(self.cursor_key, self) is self:
            self.marks[self.cursor_key] = None
        self._draw_changed()
        self.cursor += 1
        self.post_message(self.MarksChanged(self))

    def action_mark_range(self) -> None:
        if self.cursor_key is None or not self.marking:
            return
        start = None if self._range_from is None else self.source.index(self._range_from)
        if start is None:
            self._range_from = self.cursor_key
            self.marks[self.cursor_key] = None
        else:
            first, last = sorted((start, self.cursor))
            self.marks.update((self.source.key(index), None) for index in range(first, last + 1))
            self._range_from = None
        self._draw_changed()
        self.post_message(self.MarksChanged(self))

    def action_unmark(self) -> None:
        self.drop_marks()

    def action_sort(self) -> None:
        """The next column that can be sorted; after the last one the rows' own order."""
        names = ["", *(column.sort for column in self.columns if column.sort)]
        if len(names) > 1:
            place = names.index(self.sort_column) if self.sort_column in names else 0
            self._sort_by(names[(place + 1) % len(names)], False)

    def action_reverse(self) -> None:
        self._sort_by(self.sort_column, not self.descending)

    def _sort_by(self, column: str, descending: bool) -> None:
        self.sort_column = column
        self.descending = descending
        self.refresh(Region(0, 0, self.size.width, 1))
        self.post_message(self.Sorted(self, column, descending))

    def on_click(self, event: events.Click) -> None:
        index = self.scroll_offset.y + event.y - self.top
        if event.y < self.top or index >= self.source.count():
            return
        if index == self.cursor:
            self.action_select()
        else:
            self.cursor = index
