"""The Python API runs the same engine, keeps the same history and calls back as it goes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import tui_eval
from tui_eval.errors import NothingToRun, SpecError, UsageError
from tui_eval.store.reader import History

CASES = [{"id": "a", "question": "one"}, {"id": "b", "question": "two"}]
ECHO = {"type": "command", "argv": ["echo", "{{ question }}"]}
IS_ONE = [{"id": "exact", "expected": "one"}]


def plan(**changes: object) -> dict[str, object]:
    request = {"name": "echo", "dataset": {"cases": CASES}, "solution": ECHO, "evaluators": IS_ONE}
    return {"version": 1, "name": "api", "requests": [request | changes]}


def test_an_evaluation_gives_its_counts(tmp_path: Path) -> None:
    outcome = tui_eval.run_evaluation(CASES, ECHO, IS_ONE, history=tmp_path / "h.db")
    assert outcome.status == "completed"
    assert (outcome.counters.passed, outcome.counters.failed) == (1, 1)
    assert outcome.pass_rate == 0.5


def test_a_launch_is_kept_in_the_history(tmp_path: Path) -> None:
    result = tui_eval.launch(plan(), history=tmp_path / "h.db", tags=["nightly"])
    assert result.status == "completed"
    assert list(result.requests) == ["echo"]
    with History(tmp_path / "h.db") as history:
        run = history.run(result.run_id)
    assert run.tags == ["nightly"]
    assert run.state.value == "completed"


def test_callbacks_hear_every_task_and_every_request(tmp_path: Path) -> None:
    events: list[tui_eval.ProgressEvent] = []
    finished: list[tui_eval.RequestOutcome] = []
    tui_eval.launch(plan(), history=tmp_path / "h.db", on_progress=events.append, on_request_finished=finished.append)
    assert [event.event for event in events if event.event != "task_finished"] == [
        "run_started",
        "request_started",
        "request_finished",
        "run_finished",
    ]
    assert {(event.task_id, event.status) for event in events if event.event == "task_finished"} == {
        ("a", "passed"),
        ("b", "failed"),
    }
    assert [outcome.name for outcome in finished] == ["echo"]
    assert finished[0].counters.finished == 2


def test_a_callback_that_breaks_costs_nobody_the_result(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError("of the callback")

    result = tui_eval.launch(plan(), history=tmp_path / "h.db", on_progress=broken, on_request_finished=broken)
    assert result.status == "completed"
    assert "on_progress broke at the end of run" in caplog.text
    with History(tmp_path / "h.db") as history:
        told = [line.message for line in history.log(history.run(result.run_id))]
    assert any("a listener broke: ZeroDivisionError: of the callback" in line for line in told)


def test_what_cannot_be_used_is_named_before_anything_is_kept(tmp_path: Path) -> None:
    async def awaited(_: object) -> None:
        pass

    with pytest.raises(UsageError, match="on_progress: expected a plain function"):
        tui_eval.launch(plan(), history=tmp_path / "h.db", on_progress=awaited)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="solution: expected a mapping as in a plan file, not function"):
        tui_eval.run_evaluation([{"id": "a"}], solution=lambda case: case, history=tmp_path / "h.db")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="evaluators: expected a list of mappings, not NoneType"):
        tui_eval.run_evaluation([{"id": "a"}], {"type": "command"}, None, history=tmp_path / "h.db")  # type: ignore[arg-type]
    assert not (tmp_path / "h.db").exists()


async def test_the_blocking_form_says_what_to_do_inside_a_loop(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="await async_launch"):
        tui_eval.launch(plan(), history=tmp_path / "h.db")
    result = await tui_eval.async_launch(plan(), history=tmp_path / "h.db")
    assert result.status == "completed"


def test_faults_of_a_plan_are_raised_together_and_nothing_is_kept(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        tui_eval.launch(
            plan(solution={"type": "command", "argv": ["echo"], "stdn": "x"}, tagz=[]), history=tmp_path / "h.db"
        )
    assert len(caught.value.faults) >= 2
    assert not (tmp_path / "h.db").exists()


def test_nothing_selected_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NothingToRun, match="0 of 2 cases selected"):
        tui_eval.launch(plan(dataset={"cases": CASES, "sample": {"limit": 0}}), history=tmp_path / "h.db")


async def test_a_cancelled_launch_can_be_resumed(tmp_path: Path) -> None:
    slow = {"type": "command", "argv": ["sleep", "30"]}
    running = asyncio.create_task(
        tui_eval.async_launch(plan(solution=slow), history=tmp_path / "h.db", run_id="stopped")
    )
    await asyncio.sleep(0.7)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with History(tmp_path / "h.db") as history:
        run = history.run("stopped")
        assert run.state.value == "interrupted"
        assert [task.outcome.value for task in history.iter_tasks(run)] == ["queued", "queued"]
