"""AgentLoop's own result directories: written as it writes them, and imported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call
from tests.platforms.agentloop.fake import FakePlatform
from tests.platforms.agentloop.plans import plan_data
from tests.platforms.agentloop.runs import RUN, run_plan, shape
from tui_eval.domain import Outcome
from tui_eval.platforms.agentloop.result_dir import write_result_dir
from tui_eval.store.opening import check_integrity
from tui_eval.store.reader import History

THEIRS = Path(__file__).parent / "result_dir"


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "history.db"
    monkeypatch.setenv("TUI_EVAL_HISTORY", str(path))
    return path


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


async def test_the_files_have_the_names_and_shapes_of_agentloops_own(
    history: Path, fake: FakePlatform, tmp_path: Path
) -> None:
    await run_plan(history, plan_data(fake, experiment_name="Offline-Experiment-LocalAgent"))
    folder = tmp_path / "out"
    assert write_result_dir(history, RUN, folder) == 4
    for name in ("evaluation_meta.json", "evaluation_result.json"):
        assert read(folder / name).keys() == read(THEIRS / name).keys()
    ours = next(path for path in folder.iterdir() if path.is_dir())
    theirs = next(path for path in THEIRS.iterdir() if path.is_dir())
    assert shape(read(ours / "task_meta.json")) == shape(read(theirs / "task_meta.json"))
    assert read(ours / "0" / "stats.json") == read(theirs / "0" / "stats.json")
    solution, expected = read(ours / "0" / "solution.json"), read(theirs / "0" / "solution.json")
    assert list(solution) == list(expected)
    assert solution["meta"].keys() == expected["meta"].keys()
    assert solution["meta"]["request"]["json"] == solution["meta"]["experiment_input"]
    result = read(folder / "evaluation_result.json")["repeats"]["0"]
    assert (result["completed_tasks"], result["incomplete_tasks"]) == (4, 0)


def test_an_old_result_directory_becomes_a_run(history: Path, call: Call) -> None:
    ended = call("import", "agentloop", THEIRS, "--json")
    assert (ended.status, ended.json["results"], ended.json["warnings"]) == (0, 3, [])
    with History(history) as stored:
        run = stored.run(ended.json["run_id"])
        assert (run.origin, run.name, run.tags) == ("import", "Offline-Experiment-LocalAgent", ["imported"])
        tasks = {task.case_id: task for task in stored.iter_tasks(run)}
        task = tasks["item-0002"]
        assert (task.outcome, task.trace_id) == (Outcome.UNSCORED, "cd26d51dcd072fcd184aa577c7ce6477")
        assert task.latency == 2.524
        assert stored.case(task.case_key)["expected_output"] == "4"
        (attempt,) = stored.attempts(task.id, payloads=True)
        assert attempt.payload is not None
        assert attempt.payload.request["body"] == {"input": "What is 2 + 2?", "stream": False}
        assert attempt.payload.answer is not None
        assert attempt.payload.answer["output"] == {"output": "4", "usage": {"total_tokens": 7}}
    stored_bytes = b"".join(path.read_bytes() for path in history.parent.glob("history.db*"))
    assert b"your-api-key" not in stored_bytes
    assert check_integrity(history) == []
    assert call("show", ended.json["run_id"]).status == 0


def test_the_same_directory_is_not_imported_twice(history: Path, call: Call) -> None:
    first = call("import", "agentloop", THEIRS, "--json").json["run_id"]
    again = call("import", "agentloop", THEIRS)
    assert again.status == 2
    assert f"imported already, as run {first}" in again.err


def test_what_we_write_can_be_imported_again(history: Path, call: Call, tmp_path: Path) -> None:
    run_id = call("import", "agentloop", THEIRS, "--json").json["run_id"]
    assert call("agentloop", "results", run_id, tmp_path / "out").status == 0
    other = tmp_path / "other.db"
    again = call("import", "agentloop", tmp_path / "out", "--history", other, "--json")
    assert again.json["results"] == 3
    with History(other) as stored:
        assert len({task.case_id for task in stored.iter_tasks(stored.run("last"))}) == 3


def test_broken_files_cost_only_themselves(history: Path, call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(THEIRS, folder)
    places = sorted(path for path in folder.iterdir() if path.is_dir())
    (places[0] / "0" / "solution.json").write_text('{"success": true, "output": ')
    failed = read(places[1] / "0" / "solution.json")
    failed |= {
        "success": False,
        "output": "",
        "meta": {"error_type": "HTTPStatusError", "error_message": "HTTP 500", "status_code": -1},
    }
    (places[1] / "0" / "solution.json").write_text(json.dumps(failed))
    (folder / "evaluation_meta.json").write_bytes(b"\xff\xfe")
    ended = call("import", "agentloop", folder, "--json")
    assert ended.json["results"] == 2
    assert any("cannot be read as JSON" in warning for warning in ended.json["warnings"])
    with History(history) as stored:
        run = stored.run("last")
        outcomes = sorted(task.outcome.value for task in stored.iter_tasks(run))
        assert outcomes == ["error", "unscored"]
        assert run.warnings


@pytest.mark.parametrize("content", ["nothing", "a file", "not there"])
def test_what_is_no_result_directory_is_said(history: Path, call: Call, tmp_path: Path, content: str) -> None:
    place = tmp_path / "x"
    if content == "nothing":
        place.mkdir()
    elif content == "a file":
        place.write_text("x")
    ended = call("import", "agentloop", place)
    assert ended.status == 2
    assert "has no results" in ended.err or "is not a folder" in ended.err
    assert not history.exists()
