"""What one types to look for text: words, exclusions, quotes, and patterns that never take long."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.text_query import Word, parse, repeats_of, words


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", []),
        ("  ", []),
        ("refund  late", [Word("refund"), Word("late")]),
        ('"not found" !spam', [Word("not found", quoted=True), Word("spam", excluded=True)]),
        ('!"not found"', [Word("not found", excluded=True, quoted=True)]),
        ('"being typ', [Word("being typ", quoted=True)]),
        ("!", []),
        ('""', []),
        ("!!twice", [Word("twice")]),
        ("wow!", [Word("wow!")]),
    ],
)
def test_words_are_read_as_typed(typed: str, expected: list[Word]) -> None:
    assert words(typed) == expected


@pytest.mark.parametrize(
    ("typed", "text", "found"),
    [
        ("", "anything", True),
        ("paris FRANCE", "France: Paris", True),
        ("paris rome", "Paris", False),
        ("!rome", "Paris", True),
        ("paris !rome", "Paris, Rome", False),
        (r"5\d\d", "HTTP 502", True),
        (r"!5\d\d", "HTTP 502", False),
        ("^contains", "contains: no\nother", True),
        ("data.json", "read data.json", True),
        ("2 + 2", "what is 2 + 2?", True),
        ("(a+)+$", "(a+)+$ as it stands", True),
        ("(a+)+$", "aaaa", False),
        ("[", "a [b", True),
        ("straße", "STRASSE", True),
        ("ÉCOLE", "école", True),
        ('"a.c"', "abc", False),
        ("北京", "中国的首都是北京", True),
    ],
)
def test_a_text_matches_or_does_not(typed: str, text: str, found: bool) -> None:
    assert parse(typed).matches(text) is found


@given(st.text(), st.text())
def test_no_text_breaks_it_and_words_are_found_as_they_stand(typed: str, before: str) -> None:
    query = parse(typed)
    text = " ".join([before, *(word.text for word in words(typed) if not word.excluded)])
    if not any(term.excluded for term in query.terms):
        assert query.matches(text)
    decided = query.decides(before)
    if decided is not None:
        assert query.matches(f"{before}\n{typed}") is decided


@given(st.from_regex(r"[ab(|)*+?{},0-9.\[\]\\]{1,12}", fullmatch=True))
def test_what_counts_as_quick_is_quick(pattern: str) -> None:
    if repeats_of(pattern) is None:
        return
    query = parse(pattern)
    started = time.process_time()
    query.matches("ab" * 300)
    query.matches("a" * 600)
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", "(a+){30}", "(?=a)", r"(a)\1", "a?" * 20 + "a" * 20, ".*.*.*x"]
)
def test_a_pattern_without_bounds_is_no_pattern(pattern: str) -> None:
    assert re.compile(pattern)
    assert repeats_of(pattern) is None


def test_a_pattern_finds_what_lies_deep_in_a_long_line() -> None:
    assert parse(r"needle-\d+").matches("x" * 100_000 + "needle-7" + "y" * 100_000)
