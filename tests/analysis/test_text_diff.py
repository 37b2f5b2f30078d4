"""The comparison of texts loses nothing, finds what a reader would, and ends in time whatever it is given."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.analysis.text_diff import Kind, TextDiff, word_diff

TEXTS = st.text(alphabet="ab \n,中文\t\u0301", max_size=40) | st.text(max_size=30)


def sides(diff: TextDiff) -> tuple[str, str]:
    before = "".join(piece.text for piece in diff.pieces if piece.kind is not Kind.ADDED)
    return before, "".join(piece.text for piece in diff.pieces if piece.kind is not Kind.REMOVED)


def signs(before: str, after: str) -> str:
    form = {Kind.SAME: "{}", Kind.REMOVED: "[-{}-]", Kind.ADDED: "{{+{}+}}"}
    return "".join(form[piece.kind].format(piece.text) for piece in word_diff(before, after).pieces)


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_off_the_comparison(before: str, after: str) -> None:
    diff = word_diff(before, after)
    assert sides(diff) == (before, after)
    assert diff.same == (before == after)
    assert all(piece.text for piece in diff.pieces)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("The capital is Sydney.", "The capital is Canberra.", "The capital is [-Sydney-]{+Canberra+}."),
        ("one two three", "one three", "one [-two -]three"),
        ("one three", "one two three", "one {+two +}three"),
        ("", "new", "{+new+}"),
        ("old", "", "[-old-]"),
        ("首都是悉尼", "首都是堪培拉", "首都是[-悉尼-]{+堪培拉+}"),
        ("catalogue", "catalog", "[-catalogue-]{+catalog+}"),
        ("a\nb\nc", "a\nB\nc", "a\n[-b\n-]{+B\n+}c"),
    ],
)
def test_a_comparison_shows_whole_words(before: str, after: str, shown: str) -> None:
    assert signs(before, after) == shown


def test_one_changed_line_in_a_long_text_is_found() -> None:
    lines = [f"line {number} of the log" for number in range(30_000)]
    changed = [*lines[:15_000], "something else", *lines[15_001:]]
    diff = word_diff("\n".join(lines), "\n".join(changed))
    assert not diff.coarse
    assert sum(len(piece.text) for piece in diff.pieces if piece.kind is not Kind.SAME) < 100


@pytest.mark.parametrize("form", ["words", "one word", "blanks", "alternating"])
def test_texts_that_differ_in_everything_take_bounded_time(form: str) -> None:
    draw = random.Random(1)
    words = ["alpha", "beta", "gamma", "delta"]
    before, after = {
        "words": (" ".join(draw.choices(words, k=300_000)), " ".join(draw.choices(words, k=300_000))),
        "one word": ("x" * 2_000_000, "y" * 2_000_000),
        "blanks": (" " * 2_000_000, " " * 1_999_999 + "x"),
        "alternating": ("a " * 60_000, "b " * 60_000),
    }[form]
    started = time.process_time()
    diff = word_diff(before, after)
    assert time.process_time() - started < 3
    assert sides(diff) == (before, after)
