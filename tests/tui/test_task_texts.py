"""What is shown and copied of a task, without a terminal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hostile import COMMANDS, MARKUP
from tui_eval.analysis.expected import column, expected_of
from tui_eval.tui.projections.diff_parts import compared, difference
from tui_eval.tui.projections.json_layout import laid_out, value_text
from tui_eval.tui.widgets.section_bar import labels
from tui_eval.tui.widgets.styled_text import StyledText

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_laid_out_json_is_the_same_json(value: Any) -> None:
    text = json.dumps(value)
    shown = laid_out(text)
    assert json.loads(shown) == value
    if isinstance(value, dict | list):
        assert shown == json.dumps(value, indent=2).replace("[]", "[]")


def test_laying_out_changes_nothing_but_white_space() -> None:
    text = '{"a":1.10,"a":1e400,"b":"\\u0041 {}[],:"}'
    shown = laid_out(text)
    assert shown.split("\n")[1:-1] == ['  "a": 1.10,', '  "a": 1e400,', '  "b": "\\u0041 {}[],:"']


@pytest.mark.parametrize("text", ["{broken", "[1, 2", "plain", "", "12", '"text"', "[" * 5000])
def test_what_is_no_json_stays_as_it_is(text: str) -> None:
    assert laid_out(text) == text
    assert value_text(text, raw=False) == text


def test_expected_values_are_those_that_the_evaluators_read() -> None:
    mapped = {"id": "exact", "variable_mapping": {"expected_output": "dataset.a.b"}}
    literal = {"id": "contains", "name": "greets", "expected": "Hello"}
    other = {"id": "similarity", "variable_mapping": {"expected_output": "dataset.a.b"}}
    missing = {"id": "exact", "name": "gone", "variable_mapping": {"expected_output": "dataset.nothing"}}
    plan = {"requests": [{"name": "prod", "evaluators": [mapped, literal, other, missing, {"id": "judge"}]}]}
    found = expected_of(plan, "prod", {"a": {"b": "inside"}})
    assert [(each.evaluators, each.value, each.found) for each in found] == [
        (("exact", "similarity"), "inside", True),
        (("greets",), "Hello", True),
        (("gone",), None, False),
    ]
    assert expected_of(plan, "unknown", {}) == ()
    assert expected_of({"requests": "broken"}, "prod", {}) == ()


def test_a_column_is_looked_up_by_its_whole_name_first() -> None:
    case = {"a.b": 1, "a": {"b": 2, "c": [3, 4]}}
    assert column("a.b", case) == (True, 1)
    assert column("a.c.1", case) == (True, 4)
    assert column("a.c.9", case) == (False, None)
    assert column("", case) == (False, None)


def joined(before: str, after: str) -> str:
    return "".join(text for text, _ in compared(before, after, ("only before", "only after")))


def test_a_comparison_says_what_cannot_be_seen() -> None:
    assert "white space only" in joined("a b", "a  b")
    assert "upper and lower case" in joined("Yes", "yes")
    assert "composed differently" in joined("e\u0301", "é")
    assert difference("Sydney", "Canberra") == ""
    assert "⏎" in joined("a\nb", "a b")
    assert "the same" in joined("x", "x")


@pytest.mark.parametrize("text", [*MARKUP, *COMMANDS])
def test_a_styled_text_is_safe_and_its_styles_stand_where_they_belong(text: str) -> None:
    styled = StyledText([("before\n", ""), (text, "muted"), ("!", ""), ("end", "heading")])
    assert not any("\x1b" in line or "\x9b" in line for line in styled.lines.lines)
    last = len(styled.lines.lines) - 1
    low, high, style = styled.spans(last)[-1]
    assert (styled.lines.lines[last][low:high], style) == ("end", "heading")


def test_the_bar_of_sections_keeps_the_open_one_at_any_width() -> None:
    titles, notes = ("Task", "Output", "Events"), ("", "", "(12)")
    assert labels(titles, notes, 0, 80) == (2, ["1 Task", "2 Output", "3 Events (12)"])
    assert labels(titles, notes, 0, 26) == (2, ["1 Task", "2 Output", "3 Events"])
    assert labels(titles, notes, 0, 24) == (1, ["1 Task", "2 Output", "3 Events"])
    assert labels(titles, notes, 1, 15) == (2, ["1", "2 Output", "3"])
