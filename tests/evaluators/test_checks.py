"""Options that can never work are told before a run."""

from __future__ import annotations

from typing import Any

import pytest

from tui_eval.evaluators.checks import check_options
from tui_eval.spec.evaluator_options import ContainsOptions, ExactOptions, JsonOptions, NumericOptions, RegexOptions

MAPPED = {"expected_output": "dataset.answer"}


@pytest.mark.parametrize("expected", ["", [], ["a", ""]])
def test_contains_with_nothing_to_look_for(expected: Any) -> None:
    assert "expected" in check_options(ContainsOptions(expected=expected))[0]


@pytest.mark.parametrize("expected", ["", "1,000", True, None, "abc"])
def test_numeric_with_an_expected_value_that_is_no_number(expected: Any) -> None:
    assert "expected" in check_options(NumericOptions(expected=expected))[0]


def test_a_search_for_nothing_would_always_pass() -> None:
    assert "pattern" in check_options(RegexOptions(pattern=""))[0]


def test_json_with_a_wrong_schema() -> None:
    assert "schema" in check_options(JsonOptions(schema={"type": "txt"}))[0]


def test_good_options_have_no_fault() -> None:
    good = (
        ContainsOptions(expected="a"),
        ContainsOptions(variable_mapping=MAPPED),
        NumericOptions(expected="1,000", thousands=","),
        NumericOptions(variable_mapping=MAPPED),
        ExactOptions(expected=""),
        RegexOptions(pattern="", match="full"),
        RegexOptions(pattern="^$"),
        JsonOptions(schema=True),
    )
    assert [check_options(options) for options in good] == [[]] * len(good)
