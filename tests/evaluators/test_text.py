"""``exact`` and ``contains``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluators.asking import evaluator, judged
from tests.evaluators.values import JSON_VALUES
from tui_eval.domain import as_text
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.differences import first_difference


@pytest.mark.parametrize(
    ("output", "expected", "same"),
    [
        (1, 1.0, True),
        (10**20, 1e20, True),
        (2**53 + 1, float(2**53), False),
        (1, True, False),
        (0, False, False),
        (False, False, True),
        (1, "1", False),
        ("", None, False),
        ("", [], False),
        ([], {}, False),
        ([], [], True),
        ({"a": 1, "b": [True, None]}, {"b": [True, None], "a": 1.0}, True),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": None}, {}, False),
        ({}, {"a": None}, False),
        ([1, 2], [2, 1], False),
        ([1, 2], [1, 2, 3], False),
        ("é", "e\u0301", False),
        ("a ", "a", False),
        ("A", "a", False),
    ],
)
def test_values_are_equal_by_type_and_value_only(output: Any, expected: Any, same: bool) -> None:
    score = judged("exact", output, expected=expected)
    assert score.passed is same
    assert score.value == float(same)


def test_recorded_falsy_outputs_equal_themselves_and_nothing_else(cases: Path) -> None:
    outputs = [False, 0, "", {"a": [1, 2]}, []]
    lines = (cases / "11-falsy-output" / "replies.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 7
    for output in outputs:
        for other in outputs:
            assert judged("exact", output, other).passed is (output is other)
    assert judged("contains", {"a": [1, 2]}, '{"a": [1, 2]}').passed is True


@given(JSON_VALUES)
def test_every_json_value_equals_its_own_copy(value: Any) -> None:
    assert first_difference(value, json.loads(json.dumps(value))) is None


@given(JSON_VALUES, JSON_VALUES)
def test_a_difference_is_one_short_line_and_the_same_both_ways(one: Any, other: Any) -> None:
    reason = first_difference(one, other)
    assert (reason is None) == (first_difference(other, one) is None)
    if reason is not None:
        assert reason
        assert reason.isprintable()


def test_an_expected_value_that_is_null_in_the_data_leaves_the_case_unscored() -> None:
    for kind in ("exact", "contains", "numeric", "similarity"):
        with pytest.raises(EvaluatorError, match="nothing to compare"):
            judged(kind, None, None)
    assert judged("exact", None, expected=None).passed is True


def test_the_reason_names_the_place_and_both_sides() -> None:
    score = judged("exact", {"a": {"b c": [1, "x"]}}, {"a": {"b c": [1, "y"]}})
    assert score.reason == '$.a["b c"][1]: "x", expected "y" (first difference at character 1)'
    assert judged("exact", {"a": 1}, {"a": 1, "b": 2}).reason == "$.b: missing, expected 2"
    assert judged("exact", [1, 2, 3], [1]).reason == "$[1]: not expected, is 2"
    assert judged("exact", "1", 1).reason == '"1", expected 1 (a text, not a number)'


def test_the_reason_says_when_only_white_space_case_or_normalisation_differs() -> None:
    assert "only in white space at the ends" in judged("exact", "Paris\n", "Paris").reason
    assert "only in white space" in judged("exact", "a  b", "a b").reason
    assert "only in upper and lower case" in judged("exact", "paris", "Paris").reason
    composed = judged("exact", "caf\u00e9", "cafe\u0301")
    assert "only in Unicode normalisation form" in composed.reason
    assert "\\u00e9" in composed.reason
    assert "\\u200b" in judged("exact", "a\u200b", "a").reason


def test_options_of_exact_widen_what_is_equal_and_nothing_more() -> None:
    assert judged("exact", " Paris\n", "Paris", strip=True).passed is True
    assert judged("exact", ["STRASSE "], ["straße"], strip=True, ignore_case=True).passed is True
    assert judged("exact", 42, "42", as_text=True).passed is True
    assert judged("exact", True, "true", as_text=True).passed is True
    assert judged("exact", " a", "a", ignore_case=True).passed is False


def test_huge_outputs_are_compared_quickly_and_explained_shortly() -> None:
    output = "x" * 5_000_000 + "y"
    began = time.process_time()
    score = judged("exact", output, "x" * 5_000_001)
    assert time.process_time() - began < 2
    assert "character 5000001" in score.reason
    assert len(score.reason) < 300
    assert len(judged("exact", list(range(100_000)), "x").reason) < 300


def test_nesting_of_any_depth_is_compared() -> None:
    deep: Any = "bottom"
    other: Any = "floor"
    for _ in range(30_000):
        deep, other = [deep], [other]
    assert judged("exact", deep, deep).passed is True
    score = judged("exact", deep, other)
    assert score.passed is False
    assert len(score.reason) < 300
    with pytest.raises(EvaluatorError, match="too deeply"):
        judged("exact", deep, "x", as_text=True)


def test_contains_looks_for_every_text_or_for_any() -> None:
    assert judged("contains", "Paris is in France", "Paris").passed is True
    assert judged("contains", "Paris is in France", ["Paris", "France"]).passed is True
    missing = judged("contains", "Paris is in France", ["Paris", "Rome", "Oslo"])
    assert missing.passed is False
    assert missing.reason == '"Rome" (and 1 more) is not in "Paris is in France"'
    assert judged("contains", "Paris", ["Rome", "Paris"], mode="any").passed is True
    assert judged("contains", "Paris", ["Rome", "Oslo"], mode="any").passed is False
    assert judged("contains", "PARIS", "paris", ignore_case=True).passed is True
    assert "in another case" in judged("contains", "PARIS", "paris").reason
    assert judged("contains", {"n": 42}, 42).passed is True


@pytest.mark.parametrize("expected", ["", [], [""], ["a", ""]])
def test_an_empty_expected_text_is_never_a_pass(expected: Any) -> None:
    for mode in ("all", "any"):
        with pytest.raises(EvaluatorError, match="nothing to compare"):
            judged("contains", "anything", expected, mode=mode)


@given(st.text(), st.text(min_size=1))
def test_contains_agrees_with_substrings(text: str, part: str) -> None:
    assert judged("contains", text, part).passed is (part in text)
    assert as_text(text) == text


def test_the_name_of_a_score_is_the_kind_unless_the_plan_gives_one() -> None:
    assert judged("exact", 1, 1).evaluator == "exact"
    assert judged("exact", 1, 1, name="answer").evaluator == "answer"
    assert evaluator("exact", expected=1)
