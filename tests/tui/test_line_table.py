"""The table: a cursor and marks that stay with their rows, columns that fit, work only for what is seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.widgets import Static

from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text
from tui_eval.display import one_line
from tui_eval.tui import theming
from tui_eval.tui.widgets.cells import GAP, Cell, Column, Row, layout
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.row_source import PAGE, PagedSource

COLUMNS = (
    Column("name", "name", 8, weight=1, most=200, priority=9, sort="name"),
    Column("state", "state", 9, priority=5),
    Column("text", "text", 10, weight=3, priority=2, sort="text"),
)


def rows(*names: str) -> list[Row]:
    return [
        Row(name, (name, Cell("passed", "passed"), (Cell("✓1", "passed"), Cell(" ✗2", "failed")))) for name in names
    ]


class TableApp(App[None]):
    def __init__(self, table: LineTable) -> None:
        super().__init__()
        self.table = table
        self.events: list[tuple[str, object]] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theming.variable_defaults()

    def compose(self) -> ComposeResult:
        yield self.table

    def on_line_table_selected(self, event: LineTable.Selected) -> None:
        self.events.append(("selected", event.key))

    def on_line_table_sorted(self, event: LineTable.Sorted) -> None:
        self.events.append(("sorted", (event.column, event.descending)))


async def test_the_cursor_and_the_marks_stay_with_their_rows_when_these_move() -> None:
    table = LineTable(COLUMNS)
    async with TableApp(table).run_test(size=(60, 12)) as pilot:
        table.show(rows("a", "b", "c", "d"))
        await pilot.press("j", "space", "j")
        assert (table.cursor_key, list(table.marks)) == ("d", ["b"])
        table.show(rows("new", "d", "c", "b", "a"))
        assert (table.cursor_key, table.cursor, list(table.marks)) == ("d", 1, ["b"])
        assert table.chosen() == ["b"]
        table.show(rows("a", "b"))
        assert table.cursor_key == "b"
        table.show([])
        assert (table.cursor_key, table.chosen()) == (None, ["b"])


async def test_every_movement_stops_at_the_ends() -> None:
    table = LineTable(COLUMNS)
    async with TableApp(table).run_test(size=(60, 11)) as pilot:
        table.show(rows(*(f"row{place:02d}" for place in range(50))))
        found = []
        for key in ("k", "G", "j", "g", "pagedown", "ctrl+d", "ctrl+u", "pageup", "end", "home", "down", "up"):
            await pilot.press(key)
            found.append(table.cursor)
        assert found == [0, 49, 49, 0, 10, 15, 10, 0, 49, 0, 1, 0]


async def test_a_range_is_marked_from_where_it_began_in_either_direction() -> None:
    table = LineTable(COLUMNS)
    async with TableApp(table).run_test(size=(60, 12)) as pilot:
        table.show(rows("a", "b", "c", "d", "e"))
        await pilot.press("G", "v", "k", "k", "v")
        assert set(table.marks) == {"c", "d", "e"}
        await pilot.press("u")
        assert table.chosen() == ["c"]


async def test_enter_selects_and_sorting_goes_round_the_columns_that_can_be_sorted() -> None:
    table = LineTable(COLUMNS)
    app = TableApp(table)
    async with app.run_test(size=(60, 12)) as pilot:
        table.show(rows("a", "b"))
        await pilot.press("j", "enter", "s", "S", "s", "s")
        assert app.events == [
            ("selected", "b"),
            ("sorted", ("name", False)),
            ("sorted", ("name", True)),
            ("sorted", ("text", False)),
            ("sorted", ("", False)),
        ]


async def test_an_empty_table_says_what_to_do_and_survives_every_key() -> None:
    table = LineTable(COLUMNS, empty="Nothing.\nPress L.")
    app = TableApp(table)
    async with app.run_test(size=(40, 8)) as pilot:
        assert "Press L." in screen_text(app)
        for key in ("j", "k", "G", "g", "space", "v", "v", "enter", "s", "S", "l", "h", "pagedown", "u"):
            await pilot.press(key)


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (10, 2), (300, 80)])
async def test_any_size_is_drawn(size: tuple[int, int]) -> None:
    table = LineTable(COLUMNS)
    async with TableApp(table).run_test(size=size) as pilot:
        table.show(rows("a", "b"))
        await pilot.press("j", "l", "h")


async def test_columns_that_do_not_fit_are_reached_sideways() -> None:
    table = LineTable(COLUMNS)
    app = TableApp(table)
    async with app.run_test(size=(24, 8)) as pilot:
        table.show([Row(1, ("name", "state", "far away"))])
        await pilot.pause()
        assert "far away" not in screen_text(app)
        await pilot.press(*"llllll")
        assert "far away" in screen_text(app)
        await pilot.press(*"hhhhhhhh")
        assert "name" in screen_text(app)
        assert "far away" not in screen_text(app)


async def test_sideways_a_column_is_as_wide_as_the_texts_in_sight() -> None:
    long = "https://agents.example.com/a/long/address/that/a/narrow/screen/cuts"
    table = LineTable((Column("name", "name", 8, weight=1, most=20), Column("text", "text", 10, weight=3)))
    async with TableApp(table).run_test(size=(40, 12)) as pilot:
        table.show([Row("a", ("a", "short")), Row("b", ("an answer of more than its most", long))])
        await pilot.press("l")
        shown = screen_text(pilot.app)
        assert "an answer of more than its most" in shown
        assert long not in shown
        await pilot.press(*"llllll")
        assert long[-30:] in screen_text(pilot.app)
        await pilot.press(*"hhhhhhhh")
        assert "an answer of more …" not in screen_text(pilot.app)
        assert "…" in screen_text(pilot.app)


async def test_where_all_is_seen_there_is_nothing_sideways() -> None:
    table = LineTable(COLUMNS)
    async with TableApp(table).run_test(size=(60, 12)) as pilot:
        table.show(rows("a", "b"))
        before = screen_text(pilot.app)
        await pilot.press("l")
        assert screen_text(pilot.app) == before


async def test_what_an_empty_table_says_is_broken_between_words() -> None:
    table = LineTable(COLUMNS, empty="No plans in /home/ada/evals.\nPress n to make one from a sample, or L.")
    async with TableApp(table).run_test(size=(24, 12)) as pilot:
        lines = [line.strip() for line in screen_text(pilot.app).splitlines()]
        assert lines[1:6] == ["No plans in", "/home/ada/evals.", "Press n to make one", "from a sample, or L.", ""]


async def test_hostile_texts_are_shown_as_they_are() -> None:
    table = LineTable((Column("text", "text", 20, weight=1), Column("more", "more", 10)))
    app = TableApp(table)
    async with app.run_test(size=(100, 40)) as pilot:
        table.show([Row(text, (text, Cell(text, "failed"))) for text in (*MARKUP, *COMMANDS)])
        await pilot.press("j", "space")
        shown = screen_text(app)
    for text in (*MARKUP, *COMMANDS):
        assert one_line(text).split("…")[0] in shown


async def test_only_lines_that_look_different_are_drawn_anew() -> None:
    table = LineTable(COLUMNS)
    async with TableApp(table).run_test(size=(60, 20)) as pilot:
        table.show(rows("a", "b", "c", "d"))
        await pilot.pause()
        drawn: list[int] = []
        render = table.render_line

        def spy(y: int):  # type: ignore[no-untyped-def]
            drawn.append(y)
            return render(y)

        table.render_line = spy  # type: ignore[method-assign]
        table.show(rows("a", "b", "c", "d"))
        await pilot.pause()
        assert drawn == []
        changed = rows("a", "b", "c", "d")
        changed[2] = Row("c", ("c", Cell("failed", "failed"), ""))
        table.show(changed)
        await pilot.pause()
        assert set(drawn) == {3}


class Pages:
    """A reader of pages that answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[Sequence[int]] = []

    def __call__(self, keys: Sequence[int]) -> None:
        self.asked.append(keys)


def test_pages_are_asked_for_once_when_they_are_looked_at() -> None:
    pages = Pages()
    source = PagedSource(range(1000, 2000), pages)
    assert source.row(5) is None
    assert source.row(7) is None
    assert source.row(950) is None
    assert [keys[0] for keys in pages.asked] == [1000, 1000 + 950 // PAGE * PAGE]
    source.arrived(pages.asked[0], {key: Row(key, (str(key),)) for key in pages.asked[0]})
    row = source.row(5)
    assert row is not None
    assert row.key == 1005
    assert source.index(1999) == 999
    assert source.index(5) is None


def test_rows_that_are_known_stay_when_the_order_changes() -> None:
    pages = Pages()
    source = PagedSource(range(PAGE), pages)
    source.arrived(range(PAGE), {key: Row(key, ("x",)) for key in range(PAGE)})
    source.replace_keys(range(PAGE - 1, -1, -1))
    assert source.row(0) == Row(PAGE - 1, ("x",))
    assert pages.asked == []


@given(
    st.lists(
        st.builds(
            Column,
            st.just("n"),
            st.just("t"),
            st.integers(1, 30),
            st.integers(0, 5),
            st.integers(30, 60),
            st.integers(0, 9),
        ),
        min_size=1,
        max_size=8,
    ),
    st.integers(1, 200),
)
def test_columns_never_take_more_than_there_is_and_the_most_important_stays(columns: list[Column], width: int) -> None:
    placed = layout(columns, width)
    assert placed
    assert sum(cells for _, cells in placed) + GAP * (len(placed) - 1) <= max(width, 1)
    best = max(column.priority for column in columns)
    assert any(columns[index].priority == best for index, _ in placed)
    assert [index for index, _ in placed] == sorted(index for index, _ in placed)


class MinimalApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("x")


async def cpu_of(app: App[None], then: Callable[[], None]) -> float:
    started = time.process_time()
    async with app.run_test(size=(120, 40)) as pilot:
        then()
        await pilot.pause()
        return time.process_time() - started


async def test_a_hundred_thousand_rows_cost_hardly_more_than_none() -> None:
    """The machine decides how fast that is, so it is a ratio to the smallest application in the same run."""
    smallest = min([await cpu_of(MinimalApp(), lambda: None) for _ in range(2)])
    table = LineTable(COLUMNS)
    pages = Pages()
    app = TableApp(table)
    spent = await cpu_of(app, lambda: table.set_source(PagedSource(range(100_000), pages)))
    assert spent < smallest * 3 + 0.1
    table = LineTable(COLUMNS)
    async with TableApp(table).run_test(size=(120, 40)) as pilot:
        source = PagedSource(range(100_000), pages)
        table.set_source(source)
        await pilot.press("G")
        pages_took = []
        for _ in range(10):
            started = time.process_time()
            await pilot.press("pageup")
            pages_took.append(time.process_time() - started)
        assert min(pages_took) < 0.05


async def test_a_scrollbar_that_comes_later_hides_no_end_of_a_text() -> None:
    table = LineTable((Column("name", "name", 8), Column("text", "text", 10, weight=1)))
    app = TableApp(table)
    async with app.run_test(size=(40, 8)) as pilot:
        await pilot.pause()
        room = 40 - 2 - 8 - GAP
        table.show([Row(place, ("n", "x" * room)) for place in range(3)])
        await pilot.pause()
        assert "x" * room in screen_text(app)
        table.show([Row(place, ("n", "x" * room)) for place in range(30)])
        await pilot.pause()
        assert f"{'x' * (room - 2)}… " in screen_text(app)
