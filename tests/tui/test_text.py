"""Text from outside: shown character for character, safe, in no more cells than there are."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.support.hostile import COMMANDS, MARKUP
from tui_eval.domain import Outcome
from tui_eval.tui.ascii_lines import ascii_text
from tui_eval.tui.text import content, fit, glyph, line, pad, sanitize


@pytest.mark.parametrize("text", MARKUP)
def test_brackets_are_shown_as_they_are(text: str) -> None:
    assert content(text).plain == text


@pytest.mark.parametrize("text", COMMANDS)
def test_nothing_that_a_terminal_obeys_or_hides_is_left(text: str) -> None:
    for character in sanitize(text):
        assert character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


@given(st.text(alphabet=st.characters(), max_size=60), st.integers(0, 30), st.booleans())
def test_a_cell_takes_exactly_its_width(text: str, width: int, right: bool) -> None:
    assert cell_len(fit(line(text), width)) <= width
    assert cell_len(pad(line(text), width, right)) == width
    assert "\n" not in line(text, width)


@given(st.text(alphabet=st.characters(), max_size=60))
def test_ascii_lines_keep_every_cell_where_it_was(text: str) -> None:
    shown = ascii_text(sanitize(text))
    assert shown.isascii()
    assert len(shown.replace("\n", "")) == cell_len(sanitize(text).replace("\n", ""))


def test_every_outcome_has_a_glyph_of_its_own_also_in_ascii() -> None:
    for unicode in (True, False):
        assert len({glyph(outcome, unicode) for outcome in Outcome}) == len(Outcome)
    assert all(glyph(outcome, unicode=False).isascii() for outcome in Outcome)
