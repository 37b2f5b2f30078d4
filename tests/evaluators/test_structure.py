"""``json``: reading, schema, paths, whole value."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluators.asking import evaluator, judged, setup
from tests.evaluators.values import JSON_VALUES
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.base import Subject
from tui_eval.evaluators.paths import ABSENT, look_up
from tui_eval.evaluators.structure import NotJson, check_json_options, parse_json
from tui_eval.processes.workers import WorkerPool
from tui_eval.spec.evaluator_options import JsonOptions


def test_a_value_or_a_json_text_passes_and_other_texts_do_not() -> None:
    for output in ({"a": 1}, [], 0, False, None, '{"a": 1}', " [1]\n", '"text"', "null"):
        assert judged("json", output).passed is True
    for output in ("", "hello", "{'a': 1}", '{"a": 1,}', '{"a": 1} and more', "\ufeff{}", "{", "undefined"):
        score = judged("json", output)
        assert score.passed is False
        assert score.reason.startswith("the output is not JSON")


@pytest.mark.parametrize("text", ["NaN", '{"a": Infinity}', "[-Infinity]", "[1e999]", "9" * 5000])
def test_numbers_that_json_does_not_have_are_refused(text: str) -> None:
    assert judged("json", text).passed is False


def test_a_repeated_key_is_refused_by_name() -> None:
    assert (
        judged("json", '{"a": 1, "b": {"c": 1, "c": 1}}').reason == 'the output is not JSON: the key "c" is there twice'
    )


def test_json_in_one_code_fence_is_read_when_the_plan_says_so() -> None:
    fenced = 'Here:\n```json\n{"a": 1}\n```\nDone.'
    assert judged("json", fenced).passed is False
    assert judged("json", fenced, code_fence=True, equals={"a": 1}).passed is True
    assert judged("json", fenced.replace("\n", "\r\n"), code_fence=True).passed is True
    assert judged("json", '~~~~\n["```"]\n~~~~', code_fence=True).passed is True
    assert judged("json", '{"a": "```"}', code_fence=True).passed is True
    assert "2 code fences" in judged("json", fenced + "\n" + fenced, code_fence=True).reason
    assert "not closed" in judged("json", '```json\n{"a": 1}', code_fence=True).reason
    assert "no code fence" in judged("json", "hello", code_fence=True).reason


def test_a_schema_is_checked_and_the_first_misfit_named() -> None:
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "maximum": 5}}}
    assert judged("json", {"n": 3}, schema=schema).passed is True
    assert judged("json", {"n": True}, schema=schema).passed is False
    assert judged("json", {"n": 9}, schema=schema).reason == '$["n"]: 9 does not fit maximum: 5'
    assert judged("json", {}, schema=schema).reason == '$: {} does not fit required: ["n"]'
    assert judged("json", "x", schema=False).passed is False
    assert judged("json", 1, schema=False).reason == "$: 1 does not fit false"


def test_an_older_draft_named_by_the_schema_is_followed() -> None:
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 5, "exclusiveMinimum": True}
    assert judged("json", 5, schema=schema).passed is False
    with pytest.raises(EvaluatorError, match="not a known draft"):
        judged("json", 5, schema={"$schema": "https://example.test/none"})


def test_a_schema_is_never_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        reference = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        with pytest.raises(EvaluatorError, match="never fetched"):
            judged("json", {}, schema={"$ref": reference})
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_wrong_schema_or_path_is_told_before_the_run() -> None:
    faults = check_json_options(
        JsonOptions(schema={"properties": {"a": {"type": "numbr"}}}, equals={"order-id": 1, "a[": 2, "ok": 3})
    )
    assert len(faults) == 3
    assert any("order-id" in fault for fault in faults)
    assert any("numbr" in fault for fault in faults)
    assert check_json_options(JsonOptions(schema={"pattern": "("}))
    assert check_json_options(JsonOptions(schema={"type": "object"}, equals={'"order-id"': 1})) == []


async def test_a_pattern_that_never_ends_is_stopped() -> None:
    pool = WorkerPool(size=1, folder=Path.cwd(), environment=os.environ)
    try:
        check = evaluator("json", with_setup=setup(workers=pool, timeout=0.3), schema={"pattern": "^(a+)+$"})
        assert (await check.evaluate(Subject("1", {"output": '"aaa"'}))).passed is True
        began = time.monotonic()
        with pytest.raises(EvaluatorError, match="could not be checked"):
            await check.evaluate(Subject("2", {"output": json.dumps("a" * 40 + "!")}))
        assert time.monotonic() - began < 5
        assert (await check.evaluate(Subject("3", {"output": '"b"'}))).passed is False
    finally:
        await pool.aclose()


def test_what_is_nested_too_deeply_is_unscored_not_failed() -> None:
    for text in ("[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 200_000):
        with pytest.raises(EvaluatorError, match="too deeply"):
            judged("json", text)


@pytest.mark.parametrize(
    ("path", "expected", "passed"),
    [
        ("a.b", None, True),
        ("a.missing", None, False),
        ("missing", None, False),
        ("list[0]", 1, True),
        ("list[-1]", 3, True),
        ("list[9]", None, False),
        ("list[*]", [1, 2, 3], True),
        ("missing[*]", None, False),
        ("items[?id=='x'].v | [0]", 1, True),
        ("items[?id=='y'].v | [0]", None, False),
        ("length(list)", 3, True),
        ("length(missing)", 0, False),
        ("missing || list[0]", 1, True),
        ("a.b || missing", None, False),
        ("flag", True, True),
        ("flag", 1, False),
        ("list[0]", True, False),
        ("list[0]", "1", False),
        ("@", {}, False),
    ],
)
def test_paths_find_values_and_a_missing_key_is_not_null(path: str, expected: Any, passed: bool) -> None:
    output = {"a": {"b": None}, "list": [1, 2, 3], "items": [{"id": "x", "v": 1}], "flag": True}
    assert judged("json", output, equals={path: expected}).passed is passed


def test_an_unknown_function_in_a_path_is_no_verdict() -> None:
    with pytest.raises(EvaluatorError, match="nosuch"):
        judged("json", {"a": 1}, equals={"nosuch(a)": 1})
    assert look_up("a", {}) is ABSENT


def test_the_whole_value_can_be_expected() -> None:
    assert judged("json", '{"b": 2, "a": 1}', {"a": 1, "b": 2}).passed is True
    assert judged("json", "[1]", [True]).passed is False
    assert "json_columns" in judged("json", '{"a": 1}', '{"a": 1}').reason
    with pytest.raises(EvaluatorError, match="nothing to compare"):
        judged("json", "null", None)
    assert judged("json", "null", expected=None).passed is True


@given(JSON_VALUES)
def test_every_json_text_is_read_as_its_value(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value


@given(st.text(alphabet='{}[]":,0123456789eE+-. truefalsn\\/', max_size=60))
def test_any_text_is_json_or_plainly_not(text: str) -> None:
    try:
        value = parse_json(text)
    except NotJson:
        return
    assert parse_json(json.dumps(value)) == value
