"""References to the environment in a plan, and credentials typed into one."""

from __future__ import annotations

import json

import pytest

from tests.spec.plans import PLAN, Write, data, faults_of, loaded, messages
from tui_eval.domain import Case
from tui_eval.spec.loading import load_plan


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
