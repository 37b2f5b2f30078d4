"""AgentLoop on the command line: what can be picked, what is reported, what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.platforms.agentloop.conftest import KEYS
from tests.platforms.agentloop.fake import FakePlatform
from tests.platforms.agentloop.plans import plan_text


@pytest.fixture
def at(fake: FakePlatform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePlatform:
    """The environment of someone who uses the fake platform."""
    for name, value in {
        **KEYS,
        "TUI_EVAL_HISTORY": str(tmp_path / "history.db"),
        "TUI_EVAL_AGENTLOOP_REGION": "cn-hangzhou",
        "TUI_EVAL_AGENTLOOP_SPACE": "demo-space",
        "TUI_EVAL_AGENTLOOP_ENDPOINT": fake.url,
    }.items():
        monkeypatch.setenv(name, value)
    return fake


def test_everything_that_can_be_picked_is_listed(at: FakePlatform, call: Call) -> None:
    assert "demo-space" in call("agentloop", "spaces").out
    plans = call("agentloop", "plans").out.splitlines()
    assert [line.split()[0] for line in plans[1:3]] == ["plan-demo", "plan-live"]
    assert [line.split()[-1] for line in plans[1:3]] == ["yes", "no"]
    assert "arith_ds" in call("agentloop", "datasets").out
    shown = call("agentloop", "datasets", "arith_ds", "--rows", "2").out
    assert "expected_output" in shown
    assert "item-0001" in shown
    assert "item-0002" not in shown
    assert "expected_output" in call("agentloop", "evaluators", "Builtin.agent_correctness").out
    at.records = {"rec-7": [{"status": "evaluating", "recordName": "x", "totalTasks": 4, "completedTasks": 3}]}
    assert call("agentloop", "runs", "--json").json["items"][0]["status"] == "evaluating"
    assert {asked.verdict for asked in at.asked} == {"ok"}


def test_what_was_listed_is_there_without_the_platform_with_its_age(at: FakePlatform, call: Call) -> None:
    assert call("agentloop", "plans", "--offline").status == 2
    call("agentloop", "plans")
    count = len(at.asked)
    assert "as of" in call("agentloop", "plans", "--offline").out
    assert len(at.asked) == count
    at.intercept = lambda asked: (403, {"code": "NoPermission", "message": "not allowed"})
    ended = call("agentloop", "plans")
    assert "plan-demo" in ended.out
    assert "as of" in ended.out
    assert "NoPermission" in ended.err
    refused = call("agentloop", "datasets")
    assert (refused.status, refused.out) == (1, "")


def test_without_a_region_or_a_key_it_says_what_to_do(
    at: FakePlatform,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("AGENTLOOP_SK")
    assert "set AGENTLOOP_AK and AGENTLOOP_SK" in call("agentloop", "spaces").err
    monkeypatch.delenv("TUI_EVAL_AGENTLOOP_REGION")
    assert "--region cn-hangzhou" in call("agentloop", "spaces").err


def test_evaluators_are_put_into_the_platforms_plan_only_when_asked_for(
    at: FakePlatform,
    call: Call,
    tmp_path: Path,
) -> None:
    at.evaluators = []
    section = """\
    evaluators:
      - evaluator_ref: Builtin.agent_correctness
        result_type: score
        variable_mapping: {input: experiment_input, output: experiment_output, expected_output: dataset.expected_output}
    """
    path = tmp_path / "plan.yaml"
    path.write_text(plan_text(at, section=section), encoding="utf-8")
    asked = call("agentloop", "update-plan", path)
    assert asked.status != 0
    assert at.evaluators == []
    assert call("agentloop", "update-plan", path, "--yes").status == 0
    (added,) = at.evaluators
    assert added["evaluatorRef"] == "Builtin.agent_correctness"
    assert added["resultName"] == "correctness"
    assert added["variableMapping"]["expected_output"] == "dataset.expected_output"
    again = call("agentloop", "update-plan", path, "--yes")
    assert "has all evaluators" in again.out
    assert len(at.evaluators) == 1


def test_nothing_to_report_is_said(at: FakePlatform, call: Call) -> None:
    ended = call("agentloop", "sync", "--json")
    assert (ended.status, json.loads(ended.out)) == (0, [])
