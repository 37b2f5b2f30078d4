"""Smaller parts: file names of requests, the fingerprint of judging, references, addresses, the editors' schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.domain import Case
from tui_eval.errors import SpecError
from tui_eval.spec.expressions import address_fault, expression_fault, pattern_fault, schema_fault
from tui_eval.spec.fingerprints import evaluation_template, read_column
from tui_eval.spec.json_schema import plan_schema
from tui_eval.spec.loading import load_plan
from tui_eval.spec.names import safe_name
from tui_eval.spec.nearest import nearest, suggestion
from tui_eval.spec.references import find_references, malformed, resolve
from tui_eval.spec.source import read_document

SAMPLES = sorted((Path(__file__).parents[2] / "sample_specs").glob("*.yaml"))


@pytest.mark.parametrize("name", ["prod", "v1.2", "a_b-c", "GPT-4o", "A" * 80])
def test_a_safe_name_stays_as_it_is(name: str) -> None:
    assert safe_name(name) == name


@given(st.lists(st.text(min_size=1, max_size=30), unique=True, max_size=6))
def test_different_names_give_different_file_names(names: list[str]) -> None:
    safe = [safe_name(name) for name in names]
    assert len(set(safe)) == len(names)
    for name in safe:
        assert name.isascii()
        assert len(name) <= 91
        assert "/" not in name
        assert name not in (".", "..", "")


def test_names_that_look_as_if_they_had_been_changed_are_kept_apart() -> None:
    made = safe_name("评测一")
    assert made.startswith("request-")
    assert safe_name(made) != made
    assert len({safe_name("a b"), safe_name("a_b"), safe_name("a/b"), safe_name("评测二"), made}) == 5


def evaluation(evaluators: list[dict[str, Any]], case: Case, environment: dict[str, str] | None = None) -> str:
    plan = {
        "version": 1,
        "name": "x",
        "requests": [
            {
                "name": "a",
                "dataset": {"cases": [{}]},
                "solution": {"type": "http", "url": "http://h/"},
                "evaluators": evaluators,
            }
        ],
    }
    return evaluation_template(load_plan(plan, environment=environment or {}).requests[0])(case)


def test_the_fingerprint_of_judging_changes_with_what_decides() -> None:
    mapped = [{"id": "exact", "variable_mapping": {"expected_output": "dataset.answer"}}]
    case = Case("c", {"answer": "x", "other": 1})
    first = evaluation(mapped, case)
    assert len(first) == 32
    assert evaluation(mapped, Case("d", {"answer": "x", "other": 2})) == first
    different = [
        evaluation(mapped, Case("c", {"answer": "y"})),
        evaluation(mapped, Case("c", {"answer": None})),
        evaluation(mapped, Case("c", {})),
        evaluation([{**mapped[0], "strip": True}], case),
        evaluation([{"id": "exact", "expected": "x"}], case),
        evaluation([], case),
    ]
    assert len({first, *different}) == 7


def test_the_fingerprint_of_judging_does_not_depend_on_values_of_the_environment() -> None:
    judge = [{"id": "judge", "base_url": "http://h/", "model": "m", "rubric": "${R}", "api_key": "${K}"}]
    case = Case("c", {})
    one, other = ({"R": "rubric-1", "K": "key-00001"}, {"R": "rubric-2", "K": "key-00002"})
    assert evaluation(judge, case, one) == evaluation(judge, case, other)


def test_a_column_name_with_dots_is_a_path_unless_there_is_such_a_column() -> None:
    assert read_column({"a.b": 1, "a": {"b": 2}}, "a.b") == [1]
    assert read_column({"a": {"b": None}}, "a.b") == [None]
    assert read_column({"a": "text"}, "a.b") == []


@given(st.text(), st.text(min_size=1).filter(str.strip))
def test_text_without_references_and_values_with_some_are_left_alone(text: str, value: str) -> None:
    if "${" not in text:
        assert resolve(text, {}) == text
        assert resolve(f"{text}${{A}}{text}", {"A": value}) == text + value + text if not text.endswith("$") else True


def test_references_are_what_the_rule_says_and_nothing_else() -> None:
    assert find_references({"a": ["${A} ${B_1}", {"k": "$${C} $D ${} ${1} ${a-b}"}], "b": 5}) == {"A", "B_1"}
    assert find_references("{{ '${A}' }} ${B} {# ${C} #} {% if x == '${D}' %}${E}{% endif %}") == {"B", "E"}
    assert find_references("{{ '${A}' }}", template=False) == {"A"}
    assert resolve("$${A} ${A} $$${A}", {"A": "v"}) == "${A} v $${A}"
    assert malformed("${A:-b} x") == "${A:-b}"
    assert malformed("$${A:-b} ${A}") is None
    with pytest.raises(SpecError, match="`A` is set but empty"):
        resolve("${A}", {"A": ""})
    with pytest.raises(SpecError, match="`A` is set but holds only white space"):
        resolve("${A}", {"A": " \n"})


@pytest.mark.parametrize(
    ("text", "found"),
    [("a.b[0]", False), ("length(@)", False), ("`1`", False), ("'a'", False), ("a[?b=='c'].d | [0]", False), ("merge(a, b, c)", False),
     ("a.", True), ("", True), ("a[", True), ("len(@)", True), ("join(@)", True), ("(" * 3000, True), ("{{ x }}", True), ("a b", True)],
)  # fmt: skip
def test_jmespath_is_compiled_and_its_functions_are_known(text: str, found: bool) -> None:
    assert (expression_fault(text) is not None) == found


@given(st.text(max_size=20) | st.text("()[]{}.*+?|\\^$a1-,:=!<>'`\"@&", max_size=20))
def test_any_text_is_an_expression_a_pattern_or_a_fault(text: str) -> None:
    for check in (expression_fault, pattern_fault):
        fault = check(text)
        assert fault is None or fault.startswith(("not a", "JMESPath has", "`"))
    assert address_fault(text, ("http", "https")) is None or text.find("{{") != 0


def test_patterns_that_python_cannot_hold_are_faults() -> None:
    assert pattern_fault("a{99999999999}")
    assert pattern_fault("(" * 5000)
    assert pattern_fault("[[a]") is None


def test_schemas_are_checked_without_fetching_anything() -> None:
    assert (
        schema_fault({"type": "object", "properties": {"pattern": {"type": "string"}, "$ref": {"const": "x"}}}) is None
    )
    assert schema_fault({"$defs": {"a": {}}, "$ref": "#/$defs/a"}) is None
    assert schema_fault(True) is None
    assert schema_fault({"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"}) is None
    for wrong in (
        {"type": 5},
        {"$schema": "http://nowhere/"},
        {"allOf": [{"$ref": "file:///etc/passwd"}]},
        {"minLength": "x"},
    ):
        assert schema_fault(wrong)


def test_the_nearest_word() -> None:
    assert nearest("questoin", ["question", "answer"]) == "question"
    assert nearest("URL", ["url", "body"]) == "url"
    assert nearest("zzz", ["question"]) is None
    assert suggestion("zzz", ["b", "a"]) == "known here: a, b"
    assert suggestion("zzz", map(str, range(50))) == ""


SCHEMA = jsonschema.Draft202012Validator(plan_schema())


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(plan_schema())
    json.dumps(plan_schema())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_sample_plans_fit_the_schema_and_load(path: Path) -> None:
    assert list(SCHEMA.iter_errors(read_document(path).data)) == []
    assert load_plan(path, check_environment=False).requests


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"extra": 1},
        {"requests": []},
        {"requests": [{"name": "a", "solution": {"type": "htpp"}}]},
        {"requests": [{"name": "a", "solution": {"type": "http", "bogus": 1}}]},
        {"requests": [{"name": "a", "solution": {"bogus": 1}}]},
        {"requests": [{"name": "a", "evaluators": [{"id": "regex", "patern": "x"}]}]},
        {"requests": [{"name": "a", "execution": {"n_repeat": 0}}]},
        {"requests": [{"name": "a", "task_concurrency": 1}]},
        {"requests": [{}]},
        {"defaults": {"dataset": {"pth": "x"}}},
        {"runtime": {"qps": {"h": -1}}},
    ],
)
def test_an_editor_sees_the_same_faults(change: dict[str, Any]) -> None:
    plan = {"version": 1, "name": "x", "requests": [{"name": "a", "solution": {"type": "http", "url": "http://h/"}}]}
    assert list(SCHEMA.iter_errors(plan)) == []
    assert list(SCHEMA.iter_errors({**plan, **change})) != []
