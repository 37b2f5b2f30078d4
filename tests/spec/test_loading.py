"""What a loaded plan is: defaults merged, texts as typed, what is stored; and that anything else is refused."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.spec.plans import ENVIRONMENT, PLAN, Write, data, faults_of
from tui_eval.domain import Case
from tui_eval.errors import SpecError
from tui_eval.spec.loading import load_plan
from tui_eval.spec.model import Plan


def test_defaults_are_merged_into_every_request(write: Write) -> None:
    plan = load_plan(write(PLAN), environment=ENVIRONMENT)
    assert [request.name for request in plan.requests] == ["prod", "candidate"]
    prod, candidate = plan.requests
    assert prod.execution.max_retries == 2
    assert candidate.execution.max_retries == 0
    assert candidate.execution.attempt_timeout_seconds == 60
    assert prod.dataset.path == "data/tickets.jsonl"
    assert prod.dataset.sample.limit == 200
    assert prod.evaluators[0].name == "contains"
    assert plan.plan.runtime.provider_limits == {"api.example.com": 8}
    assert plan.folder == write(PLAN).parent
    assert plan.warnings == ()


def test_maps_merge_deeply_and_lists_are_replaced() -> None:
    plan = data(solution={"headers": {"b": "2"}, "body": {"y": {"z": [3]}}}, tags=["own"])
    plan["defaults"] = {
        "solution": {"type": "http", "url": "http://h/", "headers": {"a": "1", "b": "1"}, "body": {"x": 1, "y": {"z": [1, 2], "k": 1}}},
        "tags": ["default"],
        "evaluators": [{"id": "regex", "pattern": "x"}],
    }  # fmt: skip
    (request,) = load_plan(plan, environment={}).requests
    assert request.solution.headers == {"a": "1", "b": "2"}
    assert request.solution.body == {"x": 1, "y": {"z": [3], "k": 1}}
    assert request.tags == ("own",)
    assert [evaluator.id for evaluator in request.evaluators] == ["exact"]


def test_a_solution_of_another_type_replaces_the_default_one() -> None:
    plan = data(solution={"type": "command", "argv": ["true"]})
    plan["defaults"] = {"solution": {"type": "http", "url": "http://h/", "headers": {"a": "1"}}}
    assert load_plan(plan, environment={}).requests[0].solution_type == "command"


def test_cases_replace_a_default_file_and_a_file_replaces_default_cases() -> None:
    plan = data()
    plan["defaults"] = {"dataset": {"path": "x.csv", "delimiter": ";", "sample": {"limit": 1}}}
    dataset = load_plan(plan, environment={}).requests[0].dataset
    assert (dataset.path, dataset.delimiter, dataset.sample.limit) == (None, None, 1)
    plan = data(dataset={"path": "x.csv"})
    plan["defaults"] = {"dataset": {"cases": [{"q": 1}]}}
    assert load_plan(plan, environment={}).requests[0].dataset.cases is None


def test_null_in_a_request_takes_a_default_away() -> None:
    plan = data(solution={"body": None, "text": "x"})
    plan["defaults"] = {"solution": {"type": "http", "url": "http://h/", "body": {"a": 1}}}
    assert load_plan(plan, environment={}).requests[0].solution.body is None


def test_declared_texts_are_taken_as_typed(write: Write) -> None:
    text = """\
version: 1
name: 2031
requests:
  - name: 1.10
    dataset: {cases: [{q: x}], id: 012}
    solution:
      type: http
      url: http://h/
      headers: {x: 1.0, y: true, z: NO, w: 0x1F, v: 10}
      method: PUT
    evaluators: [{id: regex, pattern: 12}]
    execution: {attempt_timeout_seconds: 1e3, retry_min_delay_seconds: 0.50, n_repeat: "3", retry_pattern_list: [503]}
    tags: [1, true, 1.50]
"""
    plan = load_plan(write(text), environment={})
    (request,) = plan.requests
    assert plan.plan.name == "2031"
    assert request.name == "1.10"
    assert request.dataset.id == "012"
    assert request.solution.headers == {"x": "1.0", "y": "true", "z": "NO", "w": "0x1F", "v": "10"}
    assert request.evaluators[0].options.pattern == "12"
    assert request.execution.attempt_timeout_seconds == 1000
    assert request.execution.retry_min_delay_seconds == 0.5
    assert request.execution.n_repeat == 3
    assert request.execution.retry_pattern_list == ["503"]
    assert request.tags == ("1", "true", "1.50")


def test_a_text_that_looks_like_a_number_is_pointed_out_where_a_number_could_be_meant(write: Write) -> None:
    text = PLAN.replace("stream: true", "stream: no, temperature: 0.70, n: 5, code: x1, quoted: '1.10'")
    warnings = load_plan(write(text), environment=ENVIRONMENT).warnings
    assert [(fault.message, fault.line) for fault in warnings] == [
        ("`no` is taken as a text", 16),
        ("`0.70` is taken as a text", 16),
    ]
    assert "write 0.7 for the number" in warnings[1].hint


def test_the_stored_plan_loads_again_as_the_same_plan(write: Write) -> None:
    plan = load_plan(write(PLAN), environment=ENVIRONMENT)
    text = json.dumps(plan.stored)
    assert "${SUPPORT_TOKEN}" in text
    assert "made_up" not in text
    again = load_plan(json.loads(text), environment=ENVIRONMENT, folder=plan.folder)
    assert again.stored == plan.stored
    case = Case("c1", {"question": "hi", "answer": "x"})
    for one, other in zip(plan.requests, again.requests, strict=True):
        assert one.template.fingerprint(case) == other.template.fingerprint(case)
    rotated = load_plan(json.loads(text), environment={"SUPPORT_TOKEN": "another-value"})
    assert rotated.requests[0].template.render(case).sent["headers"] == {"authorization": "Bearer another-value"}
    assert rotated.requests[0].template.fingerprint(case) == plan.requests[0].template.fingerprint(case)


def test_a_plan_may_come_as_json_as_data_and_as_a_model(write: Write) -> None:
    first = load_plan(data(), environment={})
    assert load_plan(write(json.dumps(data(), indent="\t"), "plan.json"), environment={}).stored == first.stored
    assert isinstance(first.plan, Plan)
    assert load_plan(first.plan, environment={}).stored == first.stored


def test_a_byte_order_mark_does_not_matter(write: Write) -> None:
    assert load_plan(write("\ufeff" + PLAN), environment=ENVIRONMENT).plan.name == "support-bot"


def test_loading_opens_no_dataset_starts_no_program_and_imports_no_user_code(write: Write, tmp_path: Path) -> None:
    write("raise SystemExit('imported')", "agent.py")
    plan = data(solution={"type": "python", "function": "agent:f"}, dataset={"path": "not-there.jsonl"})
    assert load_plan(plan, environment={}, folder=tmp_path).requests[0].solution.function == "agent:f"
    code = (
        "import sys, json; from tui_eval.spec.loading import load_plan;"
        "load_plan(json.loads(sys.argv[1]), environment={});"
        "print([m for m in ('httpx','textual','jsonschema','rapidfuzz','jmespath','pyarrow','agent') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, json.dumps(plan)], cwd=tmp_path, capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_nothing_that_is_printed_of_a_plan_shows_a_secret(write: Write) -> None:
    text = PLAN.replace("headers: {", 'params: {api_key: "lit-123456"}\n      headers: {')
    plan = load_plan(write(text), environment=ENVIRONMENT)
    printed = (
        repr(plan) + repr(plan.requests) + repr(plan.requests[0].template) + repr(plan.secrets) + repr(plan.warnings)
    )
    assert "made_up" not in printed
    assert "lit-123456" not in printed


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["{{ q }}", "{{", "${SUPPORT_TOKEN}", "${", "http", "exact", "http://h/", "../x", "********", "("]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.sampled_from(["use", "id", "type", "url"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in _places(item, (*path, key)))]


@given(st.data(), ANY)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_change_to_a_plan_is_loaded_or_refused(draw: st.DataObject, value: Any) -> None:
    from tui_eval.spec.yaml_source import compose

    root, _ = compose(PLAN, "plan.yaml")
    assert root is not None
    plan: Any = copy.deepcopy(root.data())
    place = draw.draw(st.sampled_from(_places(plan)[1:]))
    holder = plan
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = value
    try:
        result = load_plan(plan, environment=ENVIRONMENT)
    except SpecError as error:
        texts = [fault.message for fault in error.faults]
    else:
        json.dumps(result.stored, allow_nan=False)
        texts = ["loaded"]
    assert texts
    assert all(texts)


@given(st.binary(max_size=120))
def test_any_bytes_are_a_plan_or_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any-plan.yaml"
    path.write_bytes(raw)
    assert faults_of(path)
