"""Which tasks a resume or a re-run takes after the dataset changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.analysis.selection import Action, Decision, OldTask, PlannedTask, Selection, select
from tui_eval.domain import Outcome

OUTCOMES = {
    "passed": Outcome.PASSED,
    "failed": Outcome.FAILED,
    "error": Outcome.ERROR,
    "timed_out": Outcome.ERROR,
    "not started (cancelled)": Outcome.CANCELLED,
    "passed, but the evaluator ended in error": Outcome.UNSCORED,
}
ANSWERED = (Outcome.PASSED, Outcome.FAILED, Outcome.UNSCORED)


def planned(path: Path) -> list[PlannedTask]:
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [PlannedTask(row["id"], 0, f"asks {row['q']}", f"expects {row['expected']}") for row in rows]


@pytest.fixture
def before(cases: Path) -> list[PlannedTask]:
    return planned(cases / "41-resume-changed-dataset" / "before.jsonl")


@pytest.fixture
def after(cases: Path) -> list[PlannedTask]:
    return planned(cases / "41-resume-changed-dataset" / "after.jsonl")


@pytest.fixture
def old(cases: Path, before: list[PlannedTask]) -> list[OldTask]:
    text = (cases / "41-resume-changed-dataset" / "previous-run.json").read_text(encoding="utf-8")
    outcomes = {case_id: OUTCOMES[word] for case_id, word in json.loads(text).items()}
    return [
        OldTask(
            one.case_id,
            0,
            outcomes[one.case_id],
            one.fingerprint,
            one.evaluation_fingerprint,
            outcomes[one.case_id] in ANSWERED,
        )
        for one in before
    ]


def taken(selection: Selection, decision: Decision) -> str:
    return "".join(one.task.case_id for one in selection.decisions if one.decision is decision)


@pytest.mark.parametrize(
    ("action", "called", "scored", "left_alone"),
    [
        (Action(), "e", "g", "abcd"),
        (Action(unfinished=True), "e", "g", "abcd"),
        (Action(unscored=True), "e", "g", "abcd"),
        (Action(errors=True), "cde", "g", "ab"),
        (Action(failed=True), "bcde", "g", "a"),
        (Action(failed=True, errors=True), "bcde", "g", "a"),
        (Action(cases=frozenset("ag")), "aeg", "", "bcd"),
        (Action(all=True), "abcdeg", "", ""),
    ],
)
def test_the_recorded_run_is_taken_up_as_asked(
    old: list[OldTask], after: list[PlannedTask], action: Action, called: str, scored: str, left_alone: str
) -> None:
    selection = select(old, after, action)
    assert taken(selection, Decision.CALL) == called
    assert taken(selection, Decision.SCORE) == scored
    assert taken(selection, Decision.REUSE) == left_alone
    assert taken(selection, Decision.LEAVE_OUT) == "h"
    assert len(selection.decisions) == 7
    assert selection.changed == [("b", 0)]
    assert selection.changed_expected == [("d", 0)]
    assert selection.removed == [("f", 0)]
    assert selection.new == [("h", 0)]


def test_the_stored_cases_are_all_unchanged(old: list[OldTask], before: list[PlannedTask]) -> None:
    selection = select(old, before, Action(failed=True))
    assert taken(selection, Decision.CALL) == "bcde"
    assert taken(selection, Decision.SCORE) == "g"
    assert taken(selection, Decision.REUSE) == "af"
    assert (selection.changed, selection.changed_expected, selection.new, selection.removed) == ([], [], [], [])


def test_new_cases_are_called_when_asked_for(old: list[OldTask], after: list[PlannedTask]) -> None:
    assert taken(select(old, after, Action(new=True)), Decision.CALL) == "eh"
    assert taken(select(old, after, Action(cases=frozenset("h"))), Decision.CALL) == "eh"


def test_a_named_case_that_is_not_there_is_told(old: list[OldTask], after: list[PlannedTask]) -> None:
    assert select(old, after, Action(cases=frozenset({"a", "zz", "f"}))).unknown_cases == ["f", "zz"]


def test_a_changed_task_that_is_taken_over_is_marked(old: list[OldTask], after: list[PlannedTask]) -> None:
    marks = {one.task.case_id: (one.changed, one.changed_expected) for one in select(old, after, Action()).decisions}
    assert (marks["a"], marks["b"], marks["d"]) == ((False, False), (True, False), (False, True))


@pytest.mark.parametrize(
    ("has_answer", "changed", "unscored", "decision"),
    [
        (True, False, False, Decision.SCORE),
        (True, False, True, Decision.SCORE),
        (True, True, False, Decision.REUSE),
        (True, True, True, Decision.CALL),
        (False, False, False, Decision.REUSE),
        (False, False, True, Decision.CALL),
    ],
)
def test_an_unscored_task_is_judged_again_only_on_an_answer_to_the_same_request(
    has_answer: bool, changed: bool, unscored: bool, decision: Decision
) -> None:
    old = OldTask("a", 0, Outcome.UNSCORED, "one", "e", has_answer)
    new = PlannedTask("a", 0, "two" if changed else "one", "e")
    assert select([old], [new], Action(unscored=unscored)).decisions[0].decision is decision


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED])
@pytest.mark.parametrize(
    ("has_answer", "fingerprint", "action", "decision"),
    [
        (True, "one", Action(errors=True), Decision.SCORE),
        (True, "one", Action(), Decision.SCORE),
        (True, "two", Action(errors=True), Decision.REUSE),  # the answer is to another request
        (False, "one", Action(errors=True), Decision.REUSE),
        (True, "one", Action(cases=frozenset("a")), Decision.CALL),
    ],
)
def test_a_verdict_by_another_expected_value_is_not_taken_over(
    outcome: Outcome, has_answer: bool, fingerprint: str, action: Action, decision: Decision
) -> None:
    old = OldTask("a", 0, outcome, "one", "expected before", has_answer)
    now = PlannedTask("a", 0, fingerprint, "expected now")
    assert select([old], [now], action).decisions[0].decision is decision


def test_repeats_are_tasks_of_their_own() -> None:
    old = [OldTask("a", repeat, Outcome.FAILED if repeat else Outcome.PASSED, "f", "e", True) for repeat in range(2)]
    now = [PlannedTask("a", repeat, "f", "e") for repeat in range(3)]
    decisions = [one.decision for one in select(old, now, Action(failed=True)).decisions]
    assert decisions == [Decision.REUSE, Decision.CALL, Decision.LEAVE_OUT]


OLD_TASKS = st.lists(
    st.builds(
        OldTask,
        st.sampled_from("abcdefg"),
        st.integers(0, 1),
        st.sampled_from(list(Outcome)),
        st.sampled_from(["1", "2", ""]),
        st.sampled_from(["1", "2"]),
        st.booleans(),
    ),
    unique_by=lambda task: (task.case_id, task.repeat),
)
PLANNED = st.lists(
    st.builds(
        PlannedTask,
        st.sampled_from("abcdefgh"),
        st.integers(0, 1),
        st.sampled_from(["1", "2"]),
        st.sampled_from(["1", "2"]),
    ),
    unique_by=lambda task: (task.case_id, task.repeat),
)
ACTIONS = st.builds(
    Action,
    failed=st.booleans(),
    errors=st.booleans(),
    unscored=st.booleans(),
    cases=st.frozensets(st.sampled_from("abh")),
    all=st.booleans(),
    new=st.booleans(),
)


@given(OLD_TASKS, PLANNED, ACTIONS)
def test_every_planned_task_is_decided_once_and_the_same_way_twice(
    old: list[OldTask], now: list[PlannedTask], action: Action
) -> None:
    selection = select(old, now, action)
    assert [one.task for one in selection.decisions] == now
    assert select(old, now, action) == selection
    keys = {(task.case_id, task.repeat) for task in now}
    assert set(selection.removed) == {(task.case_id, task.repeat) for task in old} - keys


@given(OLD_TASKS, PLANNED, ACTIONS)
def test_resuming_a_carried_out_selection_calls_nothing_more(
    old: list[OldTask], now: list[PlannedTask], action: Action
) -> None:
    before = {(task.case_id, task.repeat): task for task in old}
    carried_out = []
    for one in select(old, now, action).decisions:
        key = (one.task.case_id, one.task.repeat)
        if one.decision is Decision.REUSE:
            carried_out.append(before[key])
        elif one.decision is not Decision.LEAVE_OUT:
            new = OldTask(*key, Outcome.PASSED, one.task.fingerprint, one.task.evaluation_fingerprint, True)
            carried_out.append(replace(new, repeat=key[1]))
    again = select(carried_out, now, Action())
    assert again.count(Decision.CALL) == 0
