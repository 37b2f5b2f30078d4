"""The viewer of long texts: every character reachable, hostile ones visible, 5 MB at once."""

from __future__ import annotations

import re
import time

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text
from tui_eval.tui import theming
from tui_eval.tui.text import sanitize
from tui_eval.tui.widgets.text_lines import TextLines
from tui_eval.tui.widgets.text_view import TextView


class ViewApp(App[None]):
    def __init__(self, view: TextView) -> None:
        super().__init__()
        self.view = view

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theming.variable_defaults()

    def compose(self) -> ComposeResult:
        yield self.view


@given(st.text(alphabet=st.characters(), max_size=200), st.integers(2, 40))
def test_wrapped_rows_hold_the_whole_text_and_none_is_too_wide(text: str, width: int) -> None:
    lines = TextLines(text)
    lines.wrap_at(width)
    found: dict[int, str] = {}
    for row in range(lines.rows):
        line, start, part = lines.row(row)
        assert start == len(found.get(line, ""))
        assert lines.row_of(line, start) == row
        found[line] = found.get(line, "") + part
        assert cell_len(part.removesuffix(" ")) <= width  # the blank that ends a row is not seen
    expected = sanitize(text)
    assert "\n".join(found[line] for line in sorted(found)) in (expected, expected.removesuffix("\n"))


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["ab", "b", "xx", ""]), min_size=1, max_size=6), st.booleans())
def test_a_search_visits_every_place_and_comes_round(parts: list[str], forward: bool) -> None:
    lines = TextLines("\n".join(parts) + "\nend")
    pattern = re.compile("b")
    places = {(line, match.start()) for line, text in enumerate(lines.lines) for match in pattern.finditer(text)}
    seen = set()
    at = (0, -1)
    for _ in range(len(places)):
        found = lines.find(pattern, *at, forward)
        assert found is not None
        seen.add(found)
        at = found
    assert seen == places


async def test_hostile_texts_are_shown_as_they_are() -> None:
    text = "\n".join((*MARKUP, *(each.replace("\n", " ") for each in COMMANDS)))
    app = ViewApp(TextView(text))
    async with app.run_test(size=(100, 40)):
        shown = screen_text(app)
    for each in sanitize(text).split("\n"):
        assert each in shown
    assert "\x1b" not in shown


async def test_five_megabytes_open_at_once_as_many_lines_or_as_one() -> None:
    for text in ("a line of some output, number 12345\n" * 140_000, "x" * 5_000_000):
        view = TextView(text)
        async with ViewApp(view).run_test(size=(100, 30)) as pilot:
            started = time.process_time()
            view.set_text(text)
            await pilot.pause()
            opened = time.process_time() - started
            started = time.process_time()
            for key in ("pagedown", "G", "w", "G", "g"):
                await pilot.press(key)
            paged = (time.process_time() - started) / 5
        assert opened < 1.0
        assert paged < 0.3


async def test_search_goes_to_the_place_and_back() -> None:
    view = TextView("\n".join(f"line {place}" for place in range(300)))
    app = ViewApp(view)
    async with app.run_test(size=(60, 10)) as pilot:
        assert view.search("LINE 250")
        await pilot.pause()
        assert "line 250" in screen_text(app)
        assert not view.search("nowhere")


async def test_line_numbers_and_wrapping_keep_the_place() -> None:
    view = TextView("\n".join("wide " * 40 for _ in range(50)), numbers=True)
    app = ViewApp(view)
    async with app.run_test(size=(60, 10)) as pilot:
        await pilot.press("pagedown", "pagedown", "w")
        assert screen_text(app).startswith("  6 wide")
        await pilot.press("w")
        assert screen_text(app).startswith("  6 wide")
        await pilot.press("w", "l", "l", "h")


async def test_no_text_says_so() -> None:
    app = ViewApp(TextView("", empty="no output"))
    async with app.run_test(size=(40, 5)) as pilot:
        for key in ("j", "G", "g", "w", "n", "pagedown"):
            await pilot.press(key)
            if key == "n":
                await pilot.press("escape")
        assert "no output" in screen_text(app)


async def test_no_character_of_a_wrapped_text_is_hidden_behind_the_scrollbar() -> None:
    view = TextView()
    text = "".join(chr(ord("a") + place % 26) for place in range(100))
    async with ViewApp(view).run_test(size=(20, 4)) as pilot:
        view.set_text(text)
        await pilot.pause()
        assert view.show_vertical_scrollbar
        shown = "".join(sign for sign in screen_text(pilot.app) if sign.isalpha())
        assert text.startswith(shown)
        assert len(shown) == 4 * 19
        await pilot.press("w")
        await pilot.pause()
        assert f"{text[:18]}…" in screen_text(pilot.app)


async def test_what_an_empty_view_says_is_broken_between_words() -> None:
    view = TextView(empty="Nothing was judged yet.\nType an output (i) or choose one (c).")
    async with ViewApp(view).run_test(size=(24, 8)) as pilot:
        lines = [line.strip() for line in screen_text(pilot.app).splitlines()]
        assert lines[:4] == ["Nothing was judged yet.", "Type an output (i) or", "choose one (c).", ""]
