"""The sample orchestration is one that AgentCompass takes, with its dataset beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui_eval.cli.agentcompass import check_orchestration
from tui_eval.demo.samples import samples_folder

SAMPLE = samples_folder() / "agentcompass" / "launch.yaml"


def test_the_sample_is_valid_from_the_folder_it_is_started_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLE.parents[1])
    monkeypatch.setenv("DEMO_API_KEY", "none")
    loaded, faults, warnings = check_orchestration(SAMPLE)
    assert loaded is not None
    assert not faults
    assert not warnings, [str(warning) for warning in warnings]


def test_its_dataset_is_there() -> None:
    lines = (Path(SAMPLE.parent) / "data" / "facts.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(json.loads(line)["messages"][0]["role"] == "user" for line in lines)


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLE.parents[1])
    monkeypatch.delenv("DEMO_API_KEY", raising=False)
    _, faults, _ = check_orchestration(SAMPLE)
    assert faults
    assert all("DEMO_API_KEY" in str(fault) for fault in faults)
