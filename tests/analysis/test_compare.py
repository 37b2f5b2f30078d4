"""Two runs side by side."""

from __future__ import annotations

from tests.analysis.records import task
from tui_eval.analysis.compare import compare_runs
from tui_eval.domain import Outcome


def test_every_task_is_placed_once_and_changes_are_told_besides() -> None:
    before = [
        ("prod", task("better", Outcome.FAILED)),
        ("prod", task("worse", output="x")),
        ("prod", task("same", output="x")),
        ("prod", task("broken", Outcome.PASSED)),
        ("prod", task("reworded", case_key=5, fingerprint="f5")),
        ("prod", task("gone")),
        ("old request", task("same")),
    ]
    after = [
        ("prod", task("worse", Outcome.FAILED, output="y")),
        ("prod", task("better")),
        ("prod", task("same", output="y")),
        ("prod", task("same", repeat=1)),
        ("prod", task("broken", Outcome.ERROR)),
        ("prod", task("reworded", case_key=6, fingerprint="f6")),
        ("prod", task("new")),
    ]
    result = compare_runs(before, after)
    assert [pair.after.case_id for pair in result.passed_to_failed] == ["worse"]
    assert [pair.after.case_id for pair in result.failed_to_passed] == ["better"]
    assert [pair.after.case_id for pair in result.other_outcome] == ["broken"]
    assert result.same_outcome == 2
    assert result.compared == 5
    assert [pair.after.case_id for pair in result.changed_output] == ["worse", "same"]
    assert [pair.after.case_id for pair in result.changed_case] == ["reworded"]
    assert [pair.after.case_id for pair in result.changed_request] == ["reworded"]
    assert [(name, one.case_id, one.repeat) for name, one in result.new] == [("prod", "same", 1), ("prod", "new", 0)]
    assert [(name, one.case_id) for name, one in result.removed] == [("prod", "gone"), ("old request", "same")]


def test_another_solution_is_no_change_of_the_cases() -> None:
    result = compare_runs([("prod", task(fingerprint="one"))], [("prod", task(fingerprint="two"))])
    assert result.changed_case == []
    assert len(result.changed_request) == 1


def test_an_empty_run_compares_to_nothing() -> None:
    assert compare_runs([], []).compared == 0
    assert len(compare_runs([("prod", task())], []).removed) == 1
