"""Everything that can be wrong with a plan is told at once, each with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.spec.plans import ENVIRONMENT, PLAN, Write, data, faults_of, loaded, messages
from tui_eval.spec.loading import load_plan


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


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"x": "a\nb"}, "no line break or other control character"),
        ({"x": "a\x07"}, "no line break or other control character"),
        ({"x": "日本 {{ q }}"}, "Latin-1 only"),
        ({"x": "a\tb é {{ '日本' | urlencode }} ${TOKEN}"}, ""),
    ],
)
def test_a_header_that_could_never_be_sent_is_found_before_the_first_call(headers: dict[str, str], words: str) -> None:
    plan = data(solution={"type": "http", "url": "http://h/", "headers": headers})
    if words:
        assert words in messages(plan)
    else:
        load_plan(plan, environment={"TOKEN": "t"})


def test_a_header_of_the_connection_is_pointed_out() -> None:
    headers = {"Content-Length": "5", "x": "y"}
    plan = load_plan(data(solution={"type": "http", "url": "http://h/", "headers": headers}), environment=ENVIRONMENT)
    (warning,) = plan.warnings
    assert warning.path == "requests.a.solution.headers.Content-Length"
    assert "is not sent" in str(warning)


@pytest.mark.parametrize("host", ["h\\x", "[fe80::1%25eth0]", "h%20x", "*", "h;x"])
def test_a_host_that_cannot_be_called_is_found_before_the_first_call(host: str) -> None:
    assert "cannot be the name of a host" in messages(data(solution={"type": "http", "url": f"http://{host}/"}))
