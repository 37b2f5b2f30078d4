"""Loading plans: every fault at once, each with its place; defaults, saved files and what is kept of a plan."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tui_eval.domain import Case
from tui_eval.errors import Fault, SpecError
from tui_eval.spec import kinds
from tui_eval.spec.loading import LoadedPlan, load_plan
from tui_eval.spec.model import Plan

PLAN = """\
version: 1
name: support-bot
task_concurrency: 16
runtime: {timeout_seconds: 3600, provider_limits: {api.example.com: 8}, qps: {api.example.com: 20}}
defaults:
  dataset: {path: data/tickets.jsonl, id: ticket_id, sample: {limit: 200, seed: 7}}
  evaluators:
    - {id: contains, variable_mapping: {output: experiment_output, expected_output: dataset.answer}}
  execution: {max_retries: 2, attempt_timeout_seconds: 60}
requests:
  - name: prod
    solution:
      type: http
      url: https://agents.example.com/invoke
      headers: {authorization: "Bearer ${SUPPORT_TOKEN}"}
      body: {input: "{{ input.question }}", stream: true}
  - name: candidate
    solution: {type: command, argv: [python, agent.py, --input, "{{ input.question }}"]}
    execution: {max_retries: 0}
"""
ENVIRONMENT = {"SUPPORT_TOKEN": "tok-7Qz+/=made_up"}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "plan.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    return write


def faults_of(source: Any, **options: Any) -> list[Fault]:
    with pytest.raises(SpecError) as caught:
        load_plan(source, environment=options.pop("environment", ENVIRONMENT), **options)
    return list(caught.value.faults)


def data(**changes: Any) -> dict[str, Any]:
    """The smallest plan there is, with changes to its one request."""
    request = {
        "name": "a",
        "dataset": {"cases": [{"q": "x"}]},
        "solution": {"type": "http", "url": "http://127.0.0.1:9/", "body": "{{ q }}"},
        "evaluators": [{"id": "exact", "expected": "y"}],
    }
    return {"version": 1, "name": "small", "requests": [{**request, **changes}]}


def loaded(**changes: Any) -> LoadedPlan:
    return load_plan(data(**changes), environment=ENVIRONMENT)


def messages(source: Any, **options: Any) -> str:
    return "\n".join(str(fault) for fault in faults_of(source, **options))


# What a plan becomes.


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


# Faults.


def test_every_fault_is_found_at_once_with_its_place(write: Write) -> None:
    text = """\
version: 2
name: x
task_concurency: 3
other_platform: {plan: 1}
defaults:
  execution: {max_retrys: 1}
requests:
  - name: prod
    task_concurrency: 4
    dataset: {path: x.jsonl, smaple: {}}
    solution:
      type: http
      url: ftp://h/
      heders: {a: b}
      body: '{{ question'
      output_extractor: 'a['
      headers: {authorization: 'Bearer ${UNSET}', x: [1]}
    evaluators:
      - {id: regex, pattern: '(unclosed'}
      - {id: contans}
  - name: other
    solution: {url: http://h/}
    n_repeat: 3
"""
    found = faults_of(write(text))
    assert [(fault.line, fault.column, fault.path) for fault in found] == [
        (1, 1, "version"),
        (3, 1, "task_concurency"),
        (4, 1, "other_platform"),
        (6, 15, "defaults.execution.max_retrys"),
        (9, 5, "requests.prod.task_concurrency"),
        (10, 30, "requests.prod.dataset.smaple"),
        (13, 7, "requests.prod.solution.url"),
        (14, 7, "requests.prod.solution.heders"),
        (15, 7, "requests.prod.solution.body"),
        (16, 7, "requests.prod.solution.output_extractor"),
        (17, 17, "requests.prod.solution.headers.authorization"),
        (17, 51, "requests.prod.solution.headers.x"),
        (19, 21, "requests.prod.evaluators.0.pattern"),
        (20, 10, "requests.prod.evaluators.1.id"),
        (21, 5, "requests.other.dataset"),
        (22, 15, "requests.other.solution.type"),
        (23, 5, "requests.other.n_repeat"),
    ]
    hints = {fault.path.rpartition(".")[2]: fault.hint for fault in found}
    assert hints["task_concurency"] == "did you mean `task_concurrency`?"
    assert hints["heders"] == "did you mean `headers`?"
    assert hints["smaple"] == "did you mean `sample`?"
    assert hints["id"] == "did you mean `contains`?"
    assert hints["type"] == "write `type: http`?"
    assert hints["n_repeat"] == "`n_repeat` belongs in `execution`"
    assert hints["task_concurrency"].startswith("only the plan has task_concurrency")
    assert all(fault.file.endswith("plan.yaml") for fault in found)


def test_a_fault_in_the_defaults_is_told_once_and_at_the_defaults(write: Write) -> None:
    text = PLAN.replace("max_retries: 2", "max_retries: -2").replace("ticket_id,", "ticket_id, foo: 1,")
    assert [(fault.line, fault.path) for fault in faults_of(write(text))] == [
        (6, "defaults.dataset.foo"),
        (9, "defaults.execution.max_retries"),
    ]


def test_a_misspelt_key_in_defaults_that_no_request_uses_is_found() -> None:
    plan = data()
    plan["defaults"] = {
        "solution": {"type": "command", "argv": ["x"], "envv": {}},
        "evaluators": [{"id": "regex", "pattern": "("}],
        "sollution": {},
    }
    assert {fault.path for fault in faults_of(plan)} == {
        "defaults.solution.envv",
        "defaults.evaluators.0.pattern",
        "defaults.sollution",
    }


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (2, "version 2 is not known"),
        (0, "version 0 is not known"),
        ("1", 'not the text "1"'),
        (1.0, "must be the number 1"),
        (True, "must be the number 1"),
        (None, "must be the number 1"),
        ([1], "must be the number 1"),
    ],
)
def test_the_version_is_the_number_one(version: Any, message: str) -> None:
    assert message in messages({**data(), "version": version})


def test_a_missing_version_is_asked_for() -> None:
    plan = data()
    del plan["version"]
    assert "`version` is missing (write `version: 1`)" in messages(plan)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "x", None, [], 5000])
def test_a_task_concurrency_that_is_no_positive_whole_number_is_refused(value: Any) -> None:
    assert "task_concurrency: must be" in messages({**data(), "task_concurrency": value})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset": None}, "neither the request nor defaults has a dataset"),
        ({"solution": None}, "neither the request nor defaults has a solution"),
        ({"dataset": {}}, "give either path (a file) or cases"),
        ({"dataset": {"path": "x", "cases": []}}, "give either path (a file) or cases"),
        ({"dataset": "x.jsonl"}, "dataset must be a map of keys, not `x.jsonl`"),
        ({"solution": ["http"]}, "solution must be a map of keys, not a list"),
        ({"solution": {"type": "htpp", "url": "x"}}, "did you mean `http`?"),
        ({"solution": {"type": "http"}}, "`url` is missing in a solution of type http"),
        ({"solution": {"type": "http", "url": "h/path"}}, "starts with http:// or https://"),
        ({"solution": {"type": "http", "url": "http:///x"}}, "no host"),
        ({"solution": {"type": "http", "url": "http://h:99999/"}}, "not an address"),
        ({"solution": {"type": "http", "url": ""}}, "an address is needed"),
        ({"solution": {"type": "http", "url": "file:///etc/passwd"}}, "file://"),
        ({"solution": {"type": "http", "url": "javascript:alert(1)"}}, "starts with http"),
        ({"solution": {"type": "http", "url": "http://h/", "proxy": "ftp://h"}}, "ftp://"),
        ({"solution": {"type": "http", "url": "http://h/", "proxy": "http://{{ q }}"}}, "`proxy` is not a template"),
        ({"solution": {"type": "http", "url": "http://h/", "body": 1, "text": "x"}}, "give only one of body, form, text"),
        ({"solution": {"type": "http", "url": "http://h/", "error_when": "nope(@)"}}, "no function `nope`"),
        ({"solution": {"type": "http", "url": "http://h/", "error_when": "length(a, b)"}}, "takes 1 arguments, not 2"),
        ({"solution": {"type": "http", "url": "http://h/", "end_marker": {"field": "a.["}}}, "not a JMESPath expression"),
        ({"solution": {"type": "http", "url": "http://h/", "end_marker": {"data": "a", "event": "b"}}}, "exactly one of"),
        ({"solution": {"type": "http", "url": "http://h/", "headers": {"{{ q }}": "x"}}}, "is not rendered"),
        ({"solution": {"type": "http", "url": "http://h/", "body": {"${SUPPORT_TOKEN}": "x"}}}, "is not rendered"),
        ({"solution": {"type": "http", "url": "http://h/", "body": "${A:-b}"}}, "`${A:-b}` is no reference"),
        ({"solution": {"type": "http", "url": "http://h/", "body": "${}"}}, "is no reference"),
        ({"solution": {"type": "http", "url": "http://h/", "headers": {"a b": "x"}}}, "cannot be the name of a header"),
        ({"solution": {"type": "http", "url": "http://h/", "headers": {"a": "x\r\ny: z"}}}, "holds no line break"),
        ({"solution": {"type": "command", "argv": ["x"], "env": {"A=B": "x"}}}, "cannot be the name of a variable"),
        ({"solution": {"type": "python", "function": "no colon"}}, "must match pattern"),
        ({"evaluators": [{"id": "exact", "expected": 1, "variable_mapping": {"outptu": "experiment_output"}}]}, "did you mean `output`?"),
        ({"solution": {"type": "command", "command": "python3 agent.py --input {{ q }}"}}, "give `argv`, a list"),
        ({"solution": {"type": "command", "argv": "python agent.py"}}, "must be a list"),
        ({"solution": {"type": "command", "shell": True, "command": "echo {{ q }}"}}, "a shell text holds no {{"),
        ({"solution": {"type": "command", "shell": True, "command": "{% if q %}echo{% endif %}"}}, "a shell text holds no {{"),
        ({"solution": {"type": "command", "argv": ["sh", "-c", "echo {{ q }}"]}}, "a program text holds no {{"),
        ({"solution": {"type": "command", "argv": ["env", "A=1", "/bin/bash", "-e", "-lc", "echo {{ q }}", "x"]}}, "a program text holds no {{"),
        ({"solution": {"type": "command", "argv": ["python3.11", "-c", "print('{{ q }}')"]}}, "a program text holds no {{"),
        ({"evaluators": [{"id": "regex", "pattern": "a)"}]}, "not a regular expression at character 2"),
        ({"evaluators": [{"id": "regex"}]}, "`pattern` is missing in the evaluator regex"),
        ({"evaluators": [{"type": "regex", "pattern": "a"}]}, "write `id: regex`"),
        ({"evaluators": [{"pattern": "a"}]}, "one of exact, contains"),
        ({"evaluators": {"id": "regex"}}, "evaluators must be a list"),
        ({"evaluators": ["exact"]}, "evaluator must be a map of keys"),
        ({"evaluators": [{"id": "exact", "expected": 1}, {"id": "exact", "expected": 2}]}, "called `exact`"),
        ({"evaluators": [{"id": "exact", "expected": 1}, {"id": "regex", "pattern": "a", "name": "exact"}]}, "called `exact`"),
        ({"evaluators": [{"id": "exact"}]}, "give either expected, or variable_mapping"),
        ({"evaluators": [{"id": "exact", "variable_mapping": {"expected_output": "answer"}}]}, "did you mean `dataset.answer`?"),
        ({"evaluators": [{"id": "exact", "variable_mapping": {"expected_output": "dataset."}}]}, "must be experiment_input"),
        ({"evaluators": [{"id": "json", "schema": {"type": "strin"}}]}, "not a JSON Schema at `type`"),
        ({"evaluators": [{"id": "json", "schema": {"$ref": "http://h/x.json"}}]}, "nothing is fetched"),
        ({"evaluators": [{"id": "json", "schema": {"properties": {"a": {"pattern": "("}}}}]}, "not a regular expression"),
        ({"evaluators": [{"id": "json", "equals": {"a[": 1}}]}, "at character 3: it ends before it is complete"),
        ({"dataset": {"path": "x.json", "records": "a..b"}}, "not a JMESPath expression at character 3: `.` is not"),
        ({"dataset": {"path": "x.json", "records": "a-b"}}, 'no plain word stands in double quotes: "a-b"'),
        ({"evaluators": [{"id": "judge", "base_url": "h", "model": "m", "rubric": "r"}]}, "starts with http"),
        ({"evaluators": [{"id": "judge", "base_url": "http://h", "model": "m", "rubric": "${NOPE}"}]}, "`NOPE` is not set"),
        ({"dataset": {"path": "${NOPE}/x.jsonl"}}, "`NOPE` is not set"),
        ({"dataset": {"path": "{{ q }}.jsonl"}}, "`path` is not a template"),
        ({"dataset": {"path": "x.jsonl", "sample": {"where": "a =="}}}, "not a JMESPath expression"),
        ({"dataset": {"path": "x.json", "records": "a["}}, "not a JMESPath expression"),
        ({"dataset": {"cases": [{"q": "x"}], "sample": {"limit": True}}}, "must be a number, not true or false"),
        ({"execution": {"retry_pattern_list": ["ok", "(x"]}}, "execution.retry_pattern_list.1: not a regular expression"),
        ({"execution": {"task_concurrency": 3}}, "only the plan has task_concurrency"),
        ({"execution": {"attempt_timeout_seconds": "inf"}}, "finite"),
        ({"execution": {"attempt_timeout_seconds": "soon"}}, "must be a number, not `soon`"),
        ({"execution": {"n_repeat": True}}, "must be a number, not true or false"),
        ({"execution": [1]}, "execution must be a map of keys"),
        ({"name": ""}, "must not be empty"),
        ({"name": "  "}, "visible characters"),
        ({"name": "a\nb"}, "control characters"),
        ({"name": None}, "must be a text"),
        ({"benchmark": {"id": "x"}}, "unknown key `benchmark`"),
    ],
)  # fmt: skip
def test_what_a_plan_cannot_mean_is_refused(changes: dict[str, Any], message: str) -> None:
    assert message in messages(data(**changes))


@pytest.mark.parametrize("url", ["{{ base }}/x", "${SUPPORT_TOKEN}", "http://{{ host }}/x", "https://h/{{ q }}?a=${SUPPORT_TOKEN}",
                                 "http{{ s }}://h/", "http://[::1]:80/", "HTTP://H/"])  # fmt: skip
def test_addresses_that_are_filled_in_later_are_taken_on_trust(url: str) -> None:
    assert loaded(solution={"type": "http", "url": url}).requests[0].solution.url == url


def test_a_broken_pattern_names_the_place_in_it(cases: Path) -> None:
    from tui_eval.spec.source import read_document

    pattern = read_document(cases / "38-regex-backtracking" / "bad-pattern.yaml").data["pattern"]
    text = messages(data(evaluators=[{"id": "regex", "pattern": pattern}]))
    assert "requests.a.evaluators.0.pattern: not a regular expression at character 1" in text


def test_files_of_the_neighbours_are_called_by_their_name(cases: Path, tmp_path: Path) -> None:
    compass = {
        "version": 1,
        "requests": [{"name": "a", "benchmark": {"id": "b"}, "harness": {"id": "h"}, "model": {"id": "m"}}],
    }
    assert "this looks like an AgentCompass orchestration" in messages(compass)
    evalset = {"name": "x", "cases": [{"name": "c", "inputs": "x"}], "evalset_evaluators": []}
    assert "this looks like a Datalayer evalset" in messages(evalset)
    assert "this looks like a saved solution" in messages({"type": "http", "url": "http://h/"})
    (fault,) = faults_of(compass)
    assert "takes it as it is" in fault.hint


@pytest.mark.parametrize("document", [[], [1], "text", 5, {}, {"version": 1}, {"version": 1, "name": "x", "requests": {}},
                                      {"version": 1, "name": "x", "requests": []}, {"version": 1, "name": "x", "requests": [5, None]}])  # fmt: skip
def test_what_is_no_plan_at_all_is_told_so(document: Any, write: Write) -> None:
    assert faults_of(write(json.dumps(document), "p.json"))


def test_a_mis_indented_check_does_not_become_data(cases: Path) -> None:
    assert "unknown key `tests`" in messages(cases / "13-yaml-gotchas" / "misindented.yaml")
    inside = data(dataset={"cases": [{"q": "x"}], "evaluators": [{"id": "exact", "expected": 1}]}, evaluators=[])
    assert "`evaluators` belongs in a request" in messages(inside)


def test_a_request_without_evaluators_is_pointed_out() -> None:
    (warning,) = loaded(evaluators=[]).warnings
    assert "answers will be unscored" in warning.message
    assert warning.warning
    assert warning.path == "requests.a.evaluators"


def test_duplicate_keys_and_other_faults_are_told_together(write: Write) -> None:
    text = PLAN.replace("task_concurrency: 16", "task_concurrency: 16\nname: again").replace(
        "stream: true", "stream: '{{'"
    )
    assert [fault.line for fault in faults_of(write(text))] == [4, 17]


# Names.


def test_names_in_any_script_are_different_requests() -> None:
    plan = data()
    plan["requests"] += [
        {**plan["requests"][0], "name": name} for name in ("评测一", "评测二", "a b", "a_b", "a/b", "é", "ü")
    ]
    assert len(load_plan(plan, environment={}).requests) == 8


@pytest.mark.parametrize(
    ("name", "message"), [("a", "two requests are called `a`"), ("A", "upper and lower case only")]
)
def test_names_that_would_share_a_folder_are_refused(name: str, message: str) -> None:
    plan = data()
    plan["requests"].append({**plan["requests"][0], "name": name})
    assert message in messages(plan)


def test_an_empty_extractor_means_the_whole_answer_and_an_empty_condition_is_a_fault() -> None:
    plan = data()
    plan["requests"][0]["solution"] = {
        "type": "http",
        "url": "http://h/",
        "output_extractor": "",
        "chunk_extractor": " ",
    }
    assert load_plan(plan).requests[0].solution.output_extractor == ""
    plan["requests"][0]["solution"]["end_marker"] = {"field": ""}
    assert "not a JMESPath expression" in messages(plan)


# References and credentials.


@pytest.mark.parametrize(
    ("environment", "state"),
    [
        ({}, "is not set"),
        ({"SUPPORT_TOKEN": ""}, "is set but empty"),
        ({"SUPPORT_TOKEN": " \t"}, "is set but holds only white space"),
    ],
)
def test_an_unset_or_empty_variable_names_itself_and_the_field(
    write: Write, environment: dict[str, str], state: str
) -> None:
    (fault,) = faults_of(write(PLAN), environment=environment)
    assert fault.message == f"the environment variable `SUPPORT_TOKEN` {state}"
    assert fault.path == "requests.prod.solution.headers.authorization"
    assert fault.line == 15
    assert load_plan(write(PLAN), environment=environment, check_environment=False).requests


def test_references_in_the_data_and_in_escapes_are_no_references() -> None:
    plan = loaded(dataset={"cases": [{"q": "${UNSET} ${A:-b} {{ x }}"}]},
                  solution={"type": "http", "url": "http://h/", "body": "$${UNSET} $${A:-b} $UNSET"})  # fmt: skip
    assert plan.requests[0].template.render(Case("c", {})).sent["body"] == "${UNSET} ${A:-b} $UNSET"


def test_a_credential_is_not_quoted_in_a_message() -> None:
    plan = data(
        solution={"type": "http", "url": "http://h/", "headers": {"token": ["s3cret"]}, "body": {"password": 0}}
    )
    assert "s3cret" not in messages(plan)


def test_a_host_limit_with_the_usual_port_is_pointed_out() -> None:
    plan = {**data(), "runtime": {"qps": {"api.example.com:443": 5}}}
    (warning,) = load_plan(plan, environment={}).warnings
    assert warning.hint == "write `api.example.com`"
    assert "is not a host" in messages({**data(), "runtime": {"qps": {"https://h/": 5}}})
    assert "there twice" in messages({**data(), "runtime": {"provider_limits": {"a": 5, "A": 6}}})
    assert "`results_dir`" in messages({**data(), "runtime": {"results_dir": "${HOME}/x"}})


def test_data_may_follow_a_program_text_as_an_argument() -> None:
    for argv in (
        ["sh", "-c", 'echo "$1"', "sh", "{{ q }}"],
        ["sh", "agent.sh", "-c", "{{ q }}"],
        ["python3", "-m", "agent", "-c", "{{ q }}"],
        ["agent", "-c", "{{ q }}"],
    ):
        assert loaded(solution={"type": "command", "argv": argv}).requests[0].solution.argv == argv


def test_a_shell_text_keeps_its_own_variables() -> None:
    plan = loaded(solution={"type": "command", "shell": True, "command": "for f in a; do echo ${f} ${x:-y}; done"})
    assert plan.requests[0].solution.command == "for f in a; do echo ${f} ${x:-y}; done"


def test_a_reference_inside_an_expression_is_pointed_out() -> None:
    (warning,) = loaded(solution={"type": "http", "url": "http://h/", "body": "{{ '${UNSET}' ~ q }}"}).warnings
    assert "`${UNSET}` inside a template expression is not replaced" in warning.message


def test_what_evaluators_compare_with_may_come_from_the_environment() -> None:
    plan = load_plan(
        data(
            evaluators=[{"id": "exact", "expected": ["${WANT}", "$${WANT}"]}, {"id": "regex", "pattern": "^${WANT}$"}]
        ),
        environment={"WANT": "wanted-value"},
    )
    exact, regex = plan.requests[0].evaluators
    assert exact.options.expected == ["wanted-value", "${WANT}"]
    assert regex.options.pattern == "^wanted-value$"
    assert exact.stored == {"id": "exact", "expected": ["${WANT}", "$${WANT}"]}
    assert "wanted-value" not in json.dumps(plan.stored)


def test_references_work_in_every_option_and_stand_in_what_is_stored() -> None:
    solution = {
        "type": "http",
        "url": "http://h/",
        "proxy": "http://${P}",
        "tls": {"ca_file": "${CERTS}/ca.pem"},
        "end_marker": "${END}",
    }
    environment = {"P": "proxy-host", "CERTS": "cert-folder", "END": "the-end"}
    plan = load_plan(data(solution=solution), environment=environment)
    options = plan.requests[0].solution
    assert options.tls.ca_file == "cert-folder/ca.pem"
    assert options.end_marker == "the-end"
    assert options.proxy == "http://${P}", "whoever connects resolves it"
    assert plan.stored["requests"][0]["solution"] == solution
    assert "`CERTS` is not set" in messages(data(solution=solution), environment={"P": "p", "END": "e"})


def test_every_value_of_the_environment_that_is_used_is_kept_secret() -> None:
    plan = load_plan(
        data(
            dataset={"path": "${DIR}/x.jsonl"},
            solution={"type": "http", "url": "http://h/?k=${KEY}", "proxy": "http://u:${PW}@p/"},
        ),
        environment={"DIR": "data-folder", "KEY": "key-value", "PW": "12345", "OTHER": "other-value"},
    )
    assert plan.secrets.redact("data-folder key-value 12345 other-value") == "${DIR} ${KEY} 12345 other-value"
    assert [warning.message for warning in plan.warnings] == [
        "the value of `PW` is shorter than 6 characters: it is not searched for in outputs"
    ]


def test_a_typed_credential_is_used_hidden_and_pointed_out(write: Write) -> None:
    text = PLAN.replace('"Bearer ${SUPPORT_TOKEN}"', '"Bearer typed-token-1"')
    plan = load_plan(write(text), environment={})
    (warning,) = plan.warnings
    assert (warning.line, warning.path) == (15, "requests.prod.solution.headers.authorization")
    assert "typed-token-1" not in json.dumps(plan.stored)
    assert "typed-token-1" in json.dumps(plan.resolved)
    assert plan.secrets.redact("got Bearer typed-token-1 and typed-token-1") == "got ******** and ********"
    sent = plan.requests[0].template.render(Case("c", {"question": "x"}))
    assert sent.sent["headers"] == {"authorization": "Bearer typed-token-1"}
    assert sent.shown["headers"] == {"authorization": "********"}


def test_a_plan_with_a_hidden_credential_cannot_be_run_but_looked_at() -> None:
    plan = load_plan(data(solution={"type": "http", "url": "http://u:pass1234@h/"}), environment={})
    assert "was hidden when the plan was stored" in messages(plan.stored)
    assert load_plan(plan.stored, environment={}, check_environment=False).stored == plan.stored


# Saved files.


def test_a_saved_solution_is_the_base_and_the_other_keys_go_over_it(write: Write, tmp_path: Path) -> None:
    write("type: http\nurl: http://saved/\nheaders: {a: '1', b: '1'}\n", "solutions/prod.yaml")
    write("id: regex\npattern: saved\n", "checks/r.yaml")
    write("cases: [{q: saved}]\n", "data/small.yaml")
    plan = data(
        solution={"use": "solutions/prod.yaml", "headers": {"b": "2"}},
        evaluators=[{"use": "checks/r.yaml", "name": "mine"}],
        dataset={"use": "data/small.yaml"},
    )
    loaded = load_plan(plan, environment={}, folder=tmp_path)
    (request,) = loaded.requests
    assert (request.solution.url, request.solution.headers) == ("http://saved/", {"a": "1", "b": "2"})
    assert (request.evaluators[0].name, request.evaluators[0].options.pattern) == ("mine", "saved")
    assert request.dataset.cases == [{"q": "saved"}]
    assert "use" not in json.dumps(loaded.stored)


def test_a_fault_in_a_saved_file_names_that_file(write: Write, tmp_path: Path) -> None:
    write("type: http\nurl: http://saved/\nheaders: {a: [1]}\nbogus: 1\n", "s.yaml")
    found = faults_of(data(solution={"use": "s.yaml"}), folder=tmp_path)
    assert [(Path(fault.file).name, fault.line, fault.path) for fault in found] == [
        ("s.yaml", 3, "headers.a"),
        ("s.yaml", 4, "bogus"),
    ]


@pytest.mark.parametrize("name", ["../out.yaml", "/etc/passwd", "a/../../out.yaml", "link.yaml", "", 5, "nul\0"])
def test_saved_files_lie_below_the_plans_folder(name: Any, tmp_path: Path) -> None:
    (tmp_path / "out.yaml").write_text("type: http\nurl: http://h/\n")
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "link.yaml").symlink_to(tmp_path / "out.yaml")
    text = messages(data(solution={"use": name}), folder=folder)
    assert "outside the plan's folder" in text or "names a saved file" in text


def test_saved_files_that_use_each_other_are_refused(write: Write, tmp_path: Path) -> None:
    write("use: b.yaml\ntype: http\n", "a.yaml")
    write("use: a.yaml\nurl: http://h/\n", "b.yaml")
    assert "used by itself" in messages(data(solution={"use": "a.yaml"}), folder=tmp_path)
    assert "No such file" in messages(data(solution={"use": "gone.yaml"}), folder=tmp_path)


@pytest.mark.parametrize("section", ["dataset", "solution", "evaluators", "defaults"])
def test_a_saved_file_that_is_gone_is_the_only_fault(section: str, tmp_path: Path) -> None:
    gone = {"use": "gone.yaml"}
    plan = data() if section == "defaults" else data(**{section: [gone] if section == "evaluators" else gone})
    if section == "defaults":
        plan["defaults"] = {"solution": gone, "dataset": gone}
    with pytest.raises(SpecError) as caught:
        load_plan(plan, folder=tmp_path)
    assert {fault.message for fault in caught.value.faults} == {"cannot be read: No such file or directory"}


# Kinds of other packages.


class _Point:
    """An entry point of an installed package."""

    dist = None

    def __init__(self, name: str, target: Any) -> None:
        self.name, self.value, self._target = name, "package:KIND", target

    def load(self) -> Any:
        if isinstance(self._target, Exception):
            raise self._target
        return self._target


def test_kinds_of_packages_are_imported_only_when_a_plan_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    good = kinds.Kind("tui_eval.spec.solution_options:HttpOptions", "x:Y")
    points = [
        _Point("mine", good),
        _Point("broken", ImportError("no module named foo")),
        _Point("http", ImportError("must not replace ours")),
    ]
    monkeypatch.setattr(kinds, "entry_points", lambda group: points)
    found = kinds.Kinds("tui_eval.solutions", kinds.SOLUTIONS)
    monkeypatch.setattr(kinds, "solution_kinds", lambda: found)
    assert list(found)[-2:] == ["broken", "mine"] or set(found) >= {"broken", "mine"}
    assert found["http"] is kinds.SOLUTIONS["http"]
    assert loaded().requests
    text = messages(data(solution={"type": "broken"}))
    assert "the kind `broken` of the package" in text
    assert "no module named foo" in text
    assert "did you mean `mine`?" in messages(data(solution={"type": "minee"}))


# Anything at all.

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


def test_a_header_given_twice_in_one_map_is_a_fault_and_one_that_replaces_the_defaults_is_not() -> None:
    solution = {"type": "http", "url": "http://h/", "headers": {"X-Key": "a", "accept": "b", "x-key": "c"}}
    (fault,) = faults_of(data(solution=solution))
    assert fault.path == "requests.a.solution.headers.x-key"
    assert "`X-Key` is given twice" in str(fault)
    plan = data(solution={"type": "http", "url": "http://h/", "headers": {"x-key": "own"}})
    plan["defaults"] = {"solution": {"type": "http", "headers": {"X-Key": "theirs"}}}
    (request,) = load_plan(plan, environment=ENVIRONMENT).requests
    assert list(request.solution.headers.values())[-1] == "own"


def test_a_method_that_opens_a_tunnel_is_refused() -> None:
    assert "CONNECT" in messages(data(solution={"type": "http", "url": "http://h/", "method": "connect"}))
