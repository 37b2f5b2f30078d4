"""``--set``: what it changes, how values are read, and what it says about a path that does not exist."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.errors import SpecError
from tui_eval.spec.loading import LoadedPlan, load_plan


def plan() -> dict[str, Any]:
    solution = {"type": "http", "url": "http://h/", "body": {"a": 1}}
    return {
        "version": 1,
        "name": "x",
        "defaults": {
            "dataset": {"cases": [{"q": 1}]},
            "evaluators": [{"id": "exact", "expected": 1}, {"id": "regex", "pattern": "a", "name": "shape"}],
        },
        "requests": [{"name": "prod", "solution": solution}, {"name": "v1.2", "solution": solution}],
    }


def load(*overrides: str) -> LoadedPlan:
    return load_plan(plan(), overrides=overrides, environment={})


def refused(*overrides: str) -> str:
    with pytest.raises(SpecError) as caught:
        load(*overrides)
    return str(caught.value)


def test_every_part_of_a_plan_can_be_set() -> None:
    loaded = load(
        "task_concurrency=4",
        "description=from the command line",
        "runtime.timeout_seconds=1e3",
        "runtime.provider_limits.api.example.com:8000=3",
        "defaults.execution.max_retries=2",
        "requests.prod.solution.url=http://127.0.0.1:8000/a?b=c",
        "requests.prod.solution.headers.X-A=1.10",
        "requests.*.execution.n_repeat=3",
        "requests.v1.2.solution.body.a=2",
        "requests.1.tags=[x, y]",
    )
    assert loaded.plan.task_concurrency == 4
    assert loaded.plan.description == "from the command line"
    assert loaded.plan.runtime.timeout_seconds == 1000
    assert loaded.plan.runtime.provider_limits == {"api.example.com:8000": 3}
    prod, other = loaded.requests
    assert prod.solution.url == "http://127.0.0.1:8000/a?b=c"
    assert prod.solution.headers == {"X-A": "1.10"}
    assert (prod.execution.n_repeat, prod.execution.max_retries) == (3, 2)
    assert (other.solution.body, other.execution.n_repeat, other.tags) == ({"a": 2}, 3, ("x", "y"))
    assert prod.solution.body == {"a": 1}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("5", 5),
        ("0.5", 0.5),
        ("true", True),
        ("null", None),
        ("", None),
        ("no", "no"),
        ("012", "012"),
        ("1e3", "1e3"),
        ("a: b # c", "a: b # c"),
        ("- x", "- x"),
        ("*x", "*x"),
        ("{{ q }}", "{{ q }}"),
        ('"5"', "5"),
        ("'a\"b'", 'a"b'),
        ("[1, no, {a: b}]", [1, "no", {"a": "b"}]),
        ("{a: [1], b: 'x'}", {"a": [1], "b": "x"}),
        ("a=b=c", "a=b=c"),
    ],
)
def test_a_value_is_read_like_a_scalar_of_a_plan_file(written: str, value: Any) -> None:
    assert load(f"requests.prod.solution.body.a={written}").requests[0].solution.body == {"a": value}


def test_an_evaluator_of_the_defaults_is_changed_for_one_request_only() -> None:
    prod, other = load("requests.prod.evaluators.shape.pattern=b", "requests.prod.evaluators.0.expected=7").requests
    assert [evaluator.options.pattern for evaluator in (prod.evaluators[1], other.evaluators[1])] == ["b", "a"]
    assert [evaluator.options.expected for evaluator in (prod.evaluators[0], other.evaluators[0])] == [7, 1]


def test_later_overrides_win_and_the_stored_plan_has_them() -> None:
    loaded = load("requests.prod.solution.url=http://a/", "requests.*.solution.url=http://b/")
    assert [request["solution"]["url"] for request in loaded.stored["requests"]] == ["http://b/", "http://b/"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("task_concurency=4", "`task_concurency` does not exist in a plan (did you mean `task_concurrency`?)"),
        ("requests.prd.solution.url=x", "there is no request `prd` (did you mean `prod`?)"),
        ("requests.prod.solutoin.url=x", "`solutoin` does not exist in a request (did you mean `solution`?)"),
        ("requests.prod.solution.hedaers.a=x", "unknown key `hedaers` in a solution of type http (did you mean `headers`?)"),
        ("requests.prod.execution.max_retrys=1", "did you mean `max_retries`?"),
        ("requests.prod.n_repeat=1", "`n_repeat` belongs in `execution`"),
        ("defaults.exection.max_retries=1", "did you mean `execution`?"),
        ("runtime.timeout=1", "did you mean `timeout_seconds`?"),
        ("requests.prod.evaluators.nope.pattern=x", "there is no single `nope`"),
        ("requests.prod.evaluators.7.pattern=x", "there is no single `7`"),
        ("requests.prod.solution.url.host=x", "neither a map nor a list"),
        ("requests.prod=x", "there is no request"),
        ("requests=[]", "cannot be replaced as a whole"),
        ("task_concurrency", "is not path=value"),
        ("=5", "is not path=value"),
        ("a..b=5", "cannot be read"),
        ("requests.prod.solution.body=[1", "the value:"),
        ("requests.prod.solution.body={a: !x 1}", "the tag"),
        ("requests.prod.solution.body='a", "the value:"),
        ("requests.prod.solution.body=a\0b", "NUL"),
        ("task_concurrency=many", "must be a whole number, not `many`"),
        ("requests.prod.solution.url=ftp://h", "ftp://"),
        ("requests.prod.solution.body={{ q", "not a valid template"),
        ("version=2", "version 2 is not known"),
    ],
)  # fmt: skip
def test_a_path_or_value_that_cannot_be_meant_is_told(override: str, message: str) -> None:
    text = refused(override)
    assert message in text
    assert text.startswith("--set ")


def test_every_wrong_override_is_told_at_once_and_no_value_is_shown() -> None:
    text = refused(
        "requests.prd.solution.api_key=s3cret-value",
        "taks_concurrency=1",
        "requests.prod.solution.headers.token=[s3cret-value]",
    )
    assert len(text.splitlines()) == 3
    assert "s3cret-value" not in text


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_override_is_applied_or_refused(path: str, value: str) -> None:
    for override in (f"{path}={value}", f"requests.prod.solution.body.{path}={value}", f"requests.prod.{path}={value}"):
        try:
            json.dumps(load(override).stored)
        except SpecError as error:
            messages = [fault.message for fault in error.faults]
        else:
            messages = ["loaded"]
        assert all(messages)
