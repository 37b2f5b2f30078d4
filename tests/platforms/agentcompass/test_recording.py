"""Recorded events and result files of the real AgentCompass, in our words."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.platforms.agentcompass.files import RECORDED
from tui_eval.domain import Outcome
from tui_eval.platforms.agentcompass.figures import figures, told
from tui_eval.platforms.agentcompass.importing import import_results
from tui_eval.platforms.agentcompass.outcomes import answer_data, judged
from tui_eval.platforms.agentcompass.paths import task_folder_name
from tui_eval.platforms.agentcompass.recording import Recording
from tui_eval.platforms.agentcompass.result_files import read_lines, task_of
from tui_eval.platforms.agentcompass.tracks import RequestTrack
from tui_eval.store.reader import History
from tui_eval.store.records import LogLine, RequestRecord, RequestState, RunRecord, RunState
from tui_eval.store.writer import HistoryWriter

SAMPLES = RECORDED / "samples"
EVENTS = [json.loads(line) for line in (RECORDED / "events.jsonl").read_text(encoding="utf-8").splitlines()]
RUN_ID = "20261129_112423"
STATES = {"greet_mixed_1": "fatal", "math_mixed_2": "error", "math_mixed_3": "error"}


def sample(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((SAMPLES / name).read_text(encoding="utf-8"))
    return data


def lay_out(root: Path) -> Path:
    """The results folder that the recorded events are about, with its tasks made from the samples."""
    for event in (line["event"] for line in EVENTS if line["kind"] == "progress"):
        folder = root / event["request_name"] / RUN_ID
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "progress.jsonl").open("a") as stream:
            stream.write(json.dumps(event) + "\n")
        if event["event"] == "task_started":
            write_task(folder, event["task_id"], STATES.get(event["task_id"], "normal"))
    for name, status in (("good", "completed"), ("mixed", "failed")):
        info = sample("mixed.run_info.json")
        info["request"]["metadata"]["request_name"] = name
        (root / name / RUN_ID / "run_info.json").write_text(json.dumps({**info, "status": status}))
    shutil.copy(SAMPLES / "mixed.metrics.json", root / "mixed" / RUN_ID / "metrics.json")
    return root


def write_task(run_folder: Path, task_id: str, state: str) -> Path:
    folder = run_folder / "details" / state / task_folder_name(task_id)
    (folder / "attempt-1").mkdir(parents=True)
    (folder / "task.json").write_text(json.dumps({**sample("task.json"), "task_id": task_id}))
    if state != "running":
        (folder / "attempt-1" / "result.json").write_text(json.dumps(sample(f"attempt.result.{state}.json")))
    shutil.copy(SAMPLES / "attempt.checkpoint.json", folder / "attempt-1" / "checkpoint.json")
    return folder


async def recorded(history_path: Path, root: Path, lines: list[dict[str, Any]]) -> RunRecord:
    """Play lines of a bridge into a new run."""
    run = RunRecord("one", "played", RunState.RUNNING, {}, str(root), "test", 1.0)
    async with await HistoryWriter.open(history_path) as writer:
        with History(history_path) as history:
            await writer.create_run(run)
            requests = [
                RequestRecord(run.id, at, name, RequestState.PENDING, "agentcompass")
                for at, name in enumerate(("good", "mixed"))
            ]
            await writer.add_requests(requests)
            tracks = [RequestTrack(one, root / one.name / RUN_ID) for one in requests]
            recording = Recording(writer, history, run, tracks, root.parent)
            for line in lines:
                await recording.take(line)
            recording.count()
            writer.activity(run.id, recording.activity())
            await writer.flush()
    return run


def outcomes(history_path: Path, run: RunRecord | str = "one") -> dict[str, str]:
    with History(history_path) as history:
        found = history.run(run) if isinstance(run, str) else run
        return {task.case_id: task.outcome.value for task in history.iter_tasks(found)}


EXPECTED = {
    **{f"greet_good_{at}": "passed" for at in range(6)},
    "greet_mixed_0": "passed",
    "greet_mixed_1": "error",
    "math_mixed_2": "error",
    "math_mixed_3": "error",
    "math_mixed_4": "passed",
}


async def test_a_recorded_stream_becomes_requests_tasks_attempts_and_scores(tmp_path: Path) -> None:
    await recorded(tmp_path / "h.db", lay_out(tmp_path / "results"), EVENTS)
    assert outcomes(tmp_path / "h.db") == EXPECTED
    with History(tmp_path / "h.db") as history:
        run = history.run("one")
        requests = {one.name: one for one in history.requests(run)}
        assert requests["good"].state is RequestState.COMPLETED
        assert requests["mixed"].state is RequestState.FAILED
        assert requests["mixed"].counters.error == 3
        assert requests["good"].counters.input_tokens == 6 * 11
        assert history.activity(run) == []
        task = history.find_task(run, "mixed", "greet_mixed_1")
        assert task is not None
        assert task.message.startswith("[fatal] HTTP 500")
        (attempt,) = history.attempts(task.id, payloads=True)
        assert attempt.error_kind == "model_failed"
        assert attempt.payload is not None
        assert attempt.payload.answer is not None
        assert "Traceback" in attempt.payload.answer["stderr"]
        good = history.find_task(run, "good", "greet_good_0")
        assert good is not None
        (score,) = history.scores(good.id)
        assert (score.evaluator, score.value, score.passed) == ("correct", 1.0, True)
        (answered,) = history.attempts(good.id, payloads=True)
        assert answered.payload is not None
        assert answered.payload.answer is not None
        assert answered.payload.answer["detail"]["trajectory"]["schema_version"] == "ACTF_v1.0"
        assert answered.payload.answer["detail"]["files"]["log"].endswith("good/20261129_112423/run.log")


async def test_phases_are_seen_while_tasks_run(tmp_path: Path) -> None:
    upto = next(at for at, line in enumerate(EVENTS) if line.get("event", {}).get("phase") == "run_harness")
    await recorded(tmp_path / "h.db", tmp_path / "results", EVENTS[: upto + 1])
    with History(tmp_path / "h.db") as history:
        run = history.run("one")
        phases = {one.phase for one in history.activity(run)}
        assert {"run_harness", "starting"} <= phases
        assert history.requests(run)[0].counters.running == 4


@pytest.mark.parametrize("cut", range(0, len(EVENTS), 13))
async def test_a_stream_that_breaks_off_anywhere_keeps_what_had_finished(cut: int, tmp_path: Path) -> None:
    await recorded(tmp_path / "h.db", lay_out(tmp_path / "results"), EVENTS[:cut])
    found = outcomes(tmp_path / "h.db")
    told = {line["event"]["task_id"] for line in EVENTS[:cut] if line.get("event", {}).get("event") == "task_finished"}
    assert {name: found[name] for name in told} == {name: EXPECTED[name] for name in told}


async def test_events_without_files_still_end_their_tasks(tmp_path: Path) -> None:
    await recorded(tmp_path / "h.db", tmp_path / "nothing", EVENTS)
    found = outcomes(tmp_path / "h.db")
    assert found.keys() == EXPECTED.keys()
    assert found["greet_mixed_1"] == "error"


async def test_a_results_tree_is_imported_as_it_was(tmp_path: Path) -> None:
    (one,) = await import_results(lay_out(tmp_path / "results"), tmp_path / "h.db")
    assert (one.requests, one.tasks) == (2, 11)
    assert outcomes(tmp_path / "h.db", one.run_id) == EXPECTED
    assert any("no official figure" in warning for warning in one.warnings)
    (again,) = await import_results(tmp_path / "results", tmp_path / "h.db")
    assert "in the history already" in again.skipped


async def test_a_run_that_broke_off_is_imported_as_interrupted(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "results")
    folder = root / "mixed" / RUN_ID
    info = json.loads((folder / "run_info.json").read_text())
    del info["status"]
    (folder / "run_info.json").write_text(json.dumps(info))
    (folder / "progress.jsonl").write_bytes((folder / "progress.jsonl").read_bytes()[:-25])  # torn in the last line
    final = folder / "details" / "normal" / task_folder_name("math_mixed_4")
    shutil.rmtree(final)
    write_task(folder, "math_mixed_4", "running")
    (one,) = await import_results(root, tmp_path / "h.db")
    found = outcomes(tmp_path / "h.db", one.run_id)
    assert found == {**EXPECTED, "math_mixed_4": "queued"}
    with History(tmp_path / "h.db") as history:
        assert history.run(one.run_id).state is RunState.INTERRUPTED
    assert any("it was interrupted" in warning for warning in one.warnings)


async def test_one_request_or_one_run_can_be_imported_alone(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "results")
    for place, name in ((root / "good", "a.db"), (root / "good" / RUN_ID, "b.db")):
        (one,) = await import_results(place, tmp_path / name)
        assert one.tasks == 6


async def test_damaged_files_cost_only_their_task(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "results")
    folder = root / "good" / RUN_ID / "details" / "normal"
    (folder / task_folder_name("greet_good_1") / "attempt-1" / "result.json").write_text('{"status": "compl')
    (folder / task_folder_name("greet_good_2") / "task.json").write_bytes(b"\xff\xfe\x00")
    (root / "good" / RUN_ID / "run_info.json").write_text("[1")
    (root / "good" / RUN_ID / "metrics.json").write_text("NaN")
    (one,) = await import_results(root, tmp_path / "h.db")
    found = outcomes(tmp_path / "h.db", one.run_id)
    assert found["greet_good_0"] == "passed"
    assert found["greet_good_1"] == "error"
    assert found["greet_good_2"] == "queued"


def test_a_task_that_moves_while_it_is_read_is_found(tmp_path: Path) -> None:
    folder = write_task(tmp_path, "t", "running")
    found = task_of(tmp_path, "t")
    assert found is not None
    assert not found.final
    target = tmp_path / "details" / "normal" / folder.name
    target.parent.mkdir()
    folder.rename(target)
    shutil.copy(SAMPLES / "attempt.result.normal.json", target / "attempt-1" / "result.json")
    moved = task_of(tmp_path, "t")
    assert moved is not None
    assert moved.final
    assert moved.attempts[1].result is not None


def test_the_layout_before_the_states_is_read(tmp_path: Path) -> None:
    folder = write_task(tmp_path, "t", "normal")
    folder.rename(tmp_path / "details" / folder.name)
    found = task_of(tmp_path, "t")
    assert found is not None
    assert found.state == "normal"


def test_discarded_tries_are_attempts(tmp_path: Path) -> None:
    from tui_eval.platforms.agentcompass.outcomes import Times, finished_task

    folder = write_task(tmp_path, "math_mixed_3", "error")
    (folder / "attempt-1" / "retries").mkdir()
    shutil.copy(SAMPLES / "retry.recovery.json", folder / "attempt-1" / "retries" / "1.json")
    files = task_of(tmp_path, "math_mixed_3")
    assert files is not None
    task = finished_task(files, 1, (1, 1), Times(), {})
    assert task is not None
    assert [one.number for one in task.attempts] == [1, 2]
    assert task.attempts[0].error_kind == "model_empty_output"


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (sample("attempt.result.normal.json"), Outcome.PASSED),
        (sample("attempt.result.error.json"), Outcome.ERROR),
        (sample("attempt.result.fatal.json"), Outcome.ERROR),
        (sample("judged.wrong_answer.result.json"), Outcome.FAILED),
        ({"status": "completed", "metrics": {"score": 0.7}}, Outcome.UNSCORED),
        ({"status": "completed", "metrics": {}}, Outcome.UNSCORED),
        ({"status": "skipped"}, Outcome.UNSCORED),
        ({"status": "run_error"}, Outcome.ERROR),
        ({"status": "completed", "metrics": {"correct": True}, "issues": [{"severity": "warning"}]}, Outcome.PASSED),
        (
            {
                "status": "eval_error",
                "metrics": {"correct": False},
                "issues": [{"severity": "error", "phase": "evaluate", "code": "judge"}],
            },
            Outcome.UNSCORED,
        ),
        (
            {
                "status": "completed",
                "metrics": {"correct": True},
                "issues": [{"severity": "error", "phase": "cleanup", "code": "c"}],
            },
            Outcome.PASSED,
        ),
    ],
)
def test_outcomes(result: Mapping[str, Any], outcome: Outcome) -> None:
    assert judged(result).outcome is outcome


def test_both_figures_of_a_voided_request_are_told() -> None:
    assert figures(sample("mixed.metrics.json")) == (
        "Correct: no official figure (1 task with a fatal issue); measured 0.5000 over 4 of 5 tasks"
    )


def test_figures_over_several_attempts_say_which_they_are() -> None:
    series = [
        {"display": {"label": "Correct"}, "k": 2, "reducer": reducer, "value": value, "counts": {}}
        for reducer, value in (("avg", 0.75), ("pass", 1.0))
    ]
    assert figures({"series": series}) == "Correct avg@2 0.7500; Correct pass@2 1.0000"


def test_the_figures_of_a_run_are_found_in_its_log_the_last_ones_of_each_request() -> None:
    log = [
        LogLine(1.0, "info", "AgentCompass 1.0.1 in python"),
        LogLine(2.0, "info", "AgentCompass: Correct 0.5000", "good"),
        LogLine(3.0, "info", "AgentCompass: Correct 1.0000", "good"),
        LogLine(3.0, "info", "something else", "other"),
    ]
    assert told(log) == {"good": "Correct 1.0000"}


def test_lines_that_are_no_objects_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    path.write_bytes(b'{"a": 1}\n[]\n\xff\n{"b": NaN}\n\n{"c"')
    assert list(read_lines(path)) == [{"a": 1}, {"b": None}]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["status", "metrics", "final_answer", "trajectory", "issues", "artifacts", "meta"])


@settings(deadline=None)
@given(st.dictionaries(KEYS, ANYTHING, max_size=7))
def test_any_result_has_an_outcome_and_an_answer(result: dict[str, Any]) -> None:
    assert judged(result).outcome.final
    assert "output" in answer_data(result, {})
