"""How often each case was to be asked, in plans and in orchestrations of AgentCompass."""

from __future__ import annotations

from typing import Any

import pytest

from tui_eval.reports.view import repeats_of
from tui_eval.store.records import RunRecord, RunState


def run_of(**plan: Any) -> RunRecord:
    return RunRecord("r", "r", RunState.COMPLETED, plan, "/tmp", "0", 0.0)


@pytest.mark.parametrize(
    ("own", "defaults", "repeats"),
    [
        ({}, {}, 1),
        ({"n_repeat": 3}, {}, 3),
        ({"attempts": {"k": 4, "strategy": "avg"}}, {}, 4),
        ({}, {"attempts": {"k": 5}}, 5),
        ({"attempts": {"k": 2}}, {"attempts": {"k": 5}}, 2),
        ({"attempts": {"strategy": "pass"}}, {"attempts": {"k": 5}}, 5),
        ({"n_repeat": "many", "attempts": "twice"}, {}, 1),
    ],
)
def test_repeats_are_those_of_the_plan_or_the_attempts_of_an_orchestration(
    own: dict[str, Any], defaults: dict[str, Any], repeats: int
) -> None:
    run = run_of(requests=[{"name": "a", "execution": own}], defaults={"execution": defaults})
    assert repeats_of(run, "a") == repeats
    assert repeats_of(run, "another") == 1
