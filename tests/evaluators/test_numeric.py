"""``numeric``."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluators.asking import judged
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.numeric import number_in


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (42, 42),
        ("42", 42),
        (" 42.0\n", "42"),
        ("-0", 0),
        ("+1e3", 1000),
        (".5", 0.5),
        ("5.", 5),
        ("\u22125", -5),
        (10**40 + 1, str(10**40 + 1)),
        (0.1, "0.1"),
    ],
)
def test_equal_numbers_pass_however_they_are_written(output: Any, expected: Any) -> None:
    assert judged("numeric", output, expected).passed is True


@pytest.mark.parametrize(
    "output",
    ["", "five", "1,234.5", "12 %", "1/2", "NaN", "inf", "Infinity", "1e", "0x10", "1_000", "٣", "--5", "1 2", "1.2.3"],
)
def test_a_text_that_is_no_plain_number_does_not_pass(output: str) -> None:
    score = judged("numeric", output, 5, absolute=1e300)
    assert score.passed is False
    assert "no usable number" in score.reason


@pytest.mark.parametrize("output", [True, False, None, [], [5], {"a": 5}, float("nan"), float("inf"), "9" * 20_000])
def test_what_is_no_finite_number_never_passes(output: Any) -> None:
    assert judged("numeric", output, 1, absolute=1e308).passed is False


def test_integers_of_any_size_are_exact() -> None:
    assert judged("numeric", 2**53 + 1, 2**53).passed is False
    assert judged("numeric", str(10**50), 10**50 + 1).passed is False
    assert judged("numeric", str(10**50), 10**50 + 1, absolute=1).passed is True


def test_tolerances_are_read_as_the_decimals_that_were_written() -> None:
    assert judged("numeric", "0.3", 0.2, absolute=0.1).passed is True
    assert judged("numeric", "0.30000001", 0.2, absolute=0.1).passed is False
    assert judged("numeric", 103, 100, relative=0.03).passed is True
    assert judged("numeric", 97, -100, relative=0.03).passed is False
    assert judged("numeric", 105, 100, absolute=5, relative=0.001).passed is True
    assert judged("numeric", 1, 0, relative=0.5).passed is False


@pytest.mark.parametrize("expected", ["", "abc", True, [1], "1,000", "nan"])
def test_an_expected_value_that_is_no_number_leaves_the_case_unscored(expected: Any) -> None:
    with pytest.raises(EvaluatorError, match="nothing to compare"):
        judged("numeric", 1, expected)


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("The answer is 42.", "42"),
        ("I add 2 and 3 and get **5**", "5"),
        ("x = -7", "-7"),
        ("it is \u22127 degrees", "-7"),
        ("costs $5.50!", "5.50"),
        ("about 5 %", "5"),
        ("weighs 5kg", "5"),
        ("#### 72", "72"),
        ("\\boxed{12}", "12"),
        ("first 1, then 2 (GPT-4 agrees, v1.2 too)", "2"),
        ("__5__ x_3", "5"),
        ("from 1 to 1.5e3", "1.5e3"),
        ("7=7", "7"),
    ],
)
def test_the_last_number_of_a_text(text: str, last: str) -> None:
    assert judged("numeric", text, last, find="last").passed is True


@pytest.mark.parametrize(
    "text",
    [
        *("it is 1,234", "it is 1.234,5", "half: 1/2", "at 12:30", "2026-01-02", "3-4", "3–4", "–5", "version 1.2.3"),
        *("10k users", "2M", "0x1F", "1 234\u00a0567", "2^10", "no number here", "only GPT-4", "(3)-4"),
    ],
)
def test_a_number_that_can_be_read_in_two_ways_is_not_guessed(text: str) -> None:
    for expected in (1, 2, 3, 4, 5, 10, 30, 234, 0, 1234, 567, -4):
        assert judged("numeric", text, expected, find="last").passed is False


def test_the_first_number_and_digit_groups_when_the_plan_allows_them() -> None:
    assert judged("numeric", "5 of 10", 5, find="first").passed is True
    assert judged("numeric", "it is 1,234.5", 1234.5, find="last", thousands=",").passed is True
    assert judged("numeric", "1,234", "1,234", thousands=",").passed is True
    assert judged("numeric", "12,34", 1234, thousands=",").passed is False
    assert "need `thousands`" in judged("numeric", "1,234", 1234).reason


@given(st.text(alphabet="0123456789.,-+eE −–/:%kx_ '\n", max_size=40), st.sampled_from(["whole", "first", "last"]))
def test_any_text_is_a_number_or_a_plain_refusal(text: str, find: str) -> None:
    try:
        number = number_in(text, find)
    except ValueError:
        return
    assert number.is_finite()


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_every_number_is_found_as_itself(number: float) -> None:
    assert judged("numeric", f"The result is {number!r} now", number, find="last").passed is True
    assert judged("numeric", number, number).passed is True
