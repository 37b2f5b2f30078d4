"""The results folder that is written while a run runs."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.records import counters, request, run, task
from tests.reports.views import PLAN
from tui_eval.domain import JsonValue, Outcome, Score
from tui_eval.errors import UsageError
from tui_eval.reports.results_dir import ResultsDir
from tui_eval.reports.view import TaskView
from tui_eval.store.records import AttemptPayload, AttemptRecord, FinishedTask


@dataclass(frozen=True)
class Described:
    """A task as the engine describes it."""

    task: int = 1
    case_id: str = "a"
    case_input: dict[str, JsonValue] = field(default_factory=lambda: {"q": "why?"})
    position: int = 0
    repeat: int = 0
    line: int = 3
    work: str = "call"
    answer: dict[str, Any] | None = None


def finished(outcome: Outcome = Outcome.PASSED, output: JsonValue = "because") -> FinishedTask:
    payload = AttemptPayload({"body": "why?"}, {"output": output})
    attempts = [AttemptRecord(1, 1.0, 0.5, "timed_out", "timed out"), AttemptRecord(2, 2.0, 0.5, payload=payload)]
    return FinishedTask(1, 1, outcome, 1.0, 3.0, attempts, [Score("exact", 1.0, True)], latency=0.5, output="because")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_finished_task_is_there_at_once_and_the_summaries_at_the_end(tmp_path: Path) -> None:
    requests = [request()]
    results = ResultsDir(tmp_path / "results", run(PLAN), requests)
    results.add(requests[0], Described(), finished())
    tasks = results.path / "prod" / "tasks.jsonl"
    assert results.path == tmp_path / "results" / "20261129-143501-7f3a"
    line = lines(tasks)[0]
    assert (line["case_id"], line["input"], line["output"], line["score"]) == ("a", {"q": "why?"}, "because", 1.0)
    assert [attempt["error_kind"] for attempt in line["attempts"]] == ["timed_out", ""]
    assert "sent" not in line["attempts"][1]
    requests[0].counters = counters(Outcome.PASSED)
    results.close(run(PLAN), requests)
    assert results.error == ""
    summary = json.loads((results.path / "prod" / "summary.json").read_text(encoding="utf-8"))
    assert summary["summary"]["decided_text"] == "1 of 1 decided, 1 total"
    whole = json.loads((results.path / "summary.json").read_text(encoding="utf-8"))
    assert whole["totals"]["passed"] == 1
    assert "# support-bot" in (results.path / "summary.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in results.path.iterdir()) == ["prod", "summary.json", "summary.md"]


def test_a_task_without_an_answer_has_no_output_and_one_judged_again_has_the_old_one(tmp_path: Path) -> None:
    requests = [request()]
    results = ResultsDir(tmp_path, run(PLAN), requests)
    results.add(requests[0], Described(), finished(Outcome.ERROR, output="half"))
    again = finished()
    again.attempts = []
    results.add(requests[0], Described(work="score", answer={"output": [1]}), again)
    results.add_view(TaskView("prod", task("old", reused_from="earlier"), output="kept"))
    results.close(run(PLAN), requests)
    found = lines(results.path / "prod" / "tasks.jsonl")
    assert [(one["answered"], one["output"]) for one in found] == [(False, None), (True, [1]), (True, "kept")]
    assert found[2]["reused_from"] == "earlier"


def test_request_names_cannot_leave_the_folder_or_share_one(tmp_path: Path) -> None:
    names = ["../../evil", "/etc/passwd", "a/b", "a_b", "A_B", "..", ".", "con", "x" * 200, "é\u202e\x1b", "a b"]
    requests = [request(name, id=number, position=number) for number, name in enumerate(names)]
    results = ResultsDir(tmp_path / "results", run(PLAN), requests)
    for one in requests:
        results.add(one, Described(), finished())
    results.close(run(PLAN), requests)
    assert results.error == ""
    folders = [path for path in results.path.iterdir() if path.is_dir()]
    assert len({path.name.casefold() for path in folders}) == len(names)
    assert sum(len(lines(path / "tasks.jsonl")) for path in folders) == len(names)
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_the_folder_of_a_run_that_is_taken_up_again_is_written_anew(tmp_path: Path) -> None:
    requests = [request()]
    first = ResultsDir(tmp_path, run(PLAN), requests)
    first.add(requests[0], Described(), finished())
    path = first.path / "prod" / "tasks.jsonl"
    with path.open("a", encoding="utf-8") as stream:
        stream.write('{"case_id": "torn' + "x" * 100_000)
    second = ResultsDir(tmp_path, run(PLAN), requests)
    second.add_view(TaskView("prod", task("a"), output="kept"))
    second.add(requests[0], Described(case_id="b"), finished())
    second.close(run(PLAN), requests)
    first.close(run(PLAN), requests)
    assert [line["case_id"] for line in lines(path)] == ["a", "b"]


def test_a_folder_that_cannot_be_made_is_told_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match=r"results folder .*cannot be written"):
        ResultsDir(tmp_path / "file", run(PLAN), [request()])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_costs_the_folder_and_not_the_run(tmp_path: Path) -> None:
    requests = [request()]
    place = tmp_path / run().run_id / "prod"
    place.mkdir(parents=True)
    (place / "tasks.jsonl").symlink_to("/dev/full")
    results = ResultsDir(tmp_path, run(PLAN), requests)
    for _ in range(3):
        results.add(requests[0], Described(), finished())
    results.close(run(PLAN), requests)
    assert "No space left" in results.error
