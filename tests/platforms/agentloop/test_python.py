from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.agentloop.conftest import KEYS
from tests.platforms.agentloop.fake import FakePlatform
from tui_eval.errors import DatasetError, SpecError
from tui_eval.platforms.agentloop import (
    AgentLoopConfig,
    EvaluatorConfig,
    HttpRequestSpec,
    SolutionOutput,
    Task,
    command_solution,
    command_solution_with,
    http_solution,
    http_solution_with,
    run_experiment,
    run_experiment_parallel,
)
from tui_eval.spec.kinds import solution_kinds
from tui_eval.spec.loading import load_plan
from tui_eval.store.reader import History

ROOT = Path(__file__).parents[3]


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "history.db"
    monkeypatch.setenv("TUI_EVAL_HISTORY", str(path))
    monkeypatch.chdir(tmp_path)
    return path


def config_of(fake: FakePlatform, **options: Any) -> AgentLoopConfig:
    return AgentLoopConfig(
        "demo-space",
        "plan-demo",
        "cn-hangzhou",
        custom_agentloop_endpoint=fake.url,
        custom_sls_endpoint=fake.url,
        **options,
    )


def outputs(history: Path) -> list[str]:
    with History(history) as stored:
        return [task.output for task in stored.iter_tasks(stored.run("last"))]


def test_the_guides_script_runs_with_only_the_import_line_changed(fake: FakePlatform, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "guide.py"), fake.url],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TUI_EVAL_HISTORY": str(tmp_path / "history.db")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    record = ended.stdout.strip()
    assert fake.status_of(record) == "completed"
    assert sorted(log["experiment_output"] for log in fake.details(record)) == ["0", "2", "4", "6"]
    assert all(json.loads(log["experiment_input"])["stream"] is True for log in fake.details(record))
    assert {asked.headers["key"] for asked in fake.ops("agent")} == {"your-api-key"}
    assert outputs(tmp_path / "history.db") == ["0", "2", "4", "6"]
    with History(tmp_path / "history.db") as stored:
        assert stored.run("last").warnings == []
    written = list((tmp_path / "results").glob("*/0/solution.json"))
    assert len(written) == 4
    assert all("abcdefgh" not in path.read_text() and "your-api-key" not in path.read_text() for path in written)
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("history.db*"))
    assert b"abcdefgh" not in stored
    assert b"test-secret" not in stored


async def test_functions_of_every_form_are_solutions(fake: FakePlatform, history: Path) -> None:
    async def two(task: Task, hook: Any) -> SolutionOutput:
        hook("message")
        return SolutionOutput(True, {"asked": task.input["input"], "truth": task.ground_truth})

    def one(task: Task) -> str:
        return task.id

    record = await run_experiment(config_of(fake, ground_truth_field="expected_output"), two)
    assert record == "rec-0000"
    assert json.loads(fake.details(record)[1]["experiment_output"]) == {"asked": "What is 1 + 1?", "truth": "2"}
    assert await run_experiment(config_of(fake), one, result_dir=None, n_repeat=2) == "rec-0001"
    assert [log["repeat_id"] for log in fake.details("rec-0001")].count("1") == 4
    assert (fake.records["rec-0001"][1]["totalTasks"], len(fake.details("rec-0001"))) == (8, 8)


async def test_one_that_raises_costs_only_itself(fake: FakePlatform, history: Path) -> None:
    def sometimes(task: Task, hook: Any) -> Any:
        if task.id == "item-0001":
            raise KeyError("boom")
        if task.id == "item-0002":
            return SolutionOutput(False, None, meta={"error_type": "Refused", "error_message": "not today"})
        return object() if task.id == "item-0003" else "fine"

    record = await run_experiment_parallel(config_of(fake), sometimes)
    logs = {log["dataset.id"]: log for log in fake.details(record)}
    assert logs["item-0001"]["experiment_output"] == "ERROR: agent_error - KeyError: 'boom'"
    assert logs["item-0002"]["experiment_output"] == "ERROR: Refused - not today"
    assert [logs[f"item-{number:04d}"]["status"] for number in range(4)] == ["success", "failed", "failed", "success"]
    assert fake.records[record][-1]["status"] == "completed"
    assert (fake.records[record][-1]["completedTasks"], fake.records[record][-1]["failedTasks"]) == (2, 2)


async def test_the_task_knows_its_experiment_and_the_calls_carry_it(fake: FakePlatform, history: Path) -> None:
    seen = []

    def build(task: Task) -> HttpRequestSpec:
        seen.append(task.metadata["experiment_id"])
        return HttpRequestSpec(fake.agent, json={"input": task.input["input"]})

    record = await run_experiment(config_of(fake), http_solution(build))
    assert set(seen) == {record}
    assert all(record in asked.headers["baggage"] for asked in fake.ops("agent"))
    assert json.loads(fake.details(record)[2]["experiment_output"])["output"] == "4"


async def test_programs_answer_with_what_they_print(fake: FakePlatform, history: Path) -> None:
    solution = command_solution_with(lambda task: [sys.executable, "-c", "import sys; print(sys.argv[1])", task.id])
    record = await run_experiment_parallel(config_of(fake), solution)
    first = fake.details(record)[0]
    assert json.loads(first["experiment_output"]) == {"stdout": "item-0000", "stderr": "", "returncode": 0}
    assert json.loads(first["experiment_input"])["id"] == "item-0000"
    failing = command_solution(lambda task: "echo oops >&2; exit 3")
    record = await run_experiment_parallel(config_of(fake), failing)
    assert "exit 3: oops" in fake.details(record)[0]["experiment_output"]


async def test_a_builder_can_be_awaited_from_a_function_of_the_users_own(fake: FakePlatform, history: Path) -> None:
    call = http_solution_with(fake.agent, body_builder=lambda task: {"input": task.input["input"]})

    async def wrapped(task: Task, hook: Any) -> Any:
        answer = await call(task, hook)
        return SolutionOutput(answer.success, answer.output["output"], meta=answer.meta)

    record = await run_experiment_parallel(config_of(fake), wrapped)
    assert sorted(log["experiment_output"] for log in fake.details(record)) == ["0", "2", "4", "6"]
    broken = await http_solution_with(f"{fake.url}/agent/broken", json={})(Task("x", {}), None)
    assert (broken.success, broken.meta["status_code"]) == (False, 500)


async def test_wrong_numbers_are_refused_before_anything_runs(fake: FakePlatform, history: Path) -> None:
    for options in ({"n_repeat": 0}, {"n_workers": 0}, {"n_repeat": "2"}):
        with pytest.raises(ValueError, match="must be a whole number"):
            await run_experiment(config_of(fake), lambda task: "x", **options)
    with pytest.raises(ValueError, match="give a solution"):
        await run_experiment(config_of(fake))
    for wrong in ({"agent_space": ""}, {"max_rows": 0}):
        with pytest.raises(ValueError, match="must"):
            AgentLoopConfig(**{"agent_space": "a", "experiment_plan_id": "b", "region_id": "c", **wrong})
    for spec in ({"url": "ftp://x"}, {"url": "http://x", "method": "FETCH"}, {"url": "http://x", "timeout": 0}):
        with pytest.raises(ValueError, match="must"):
            HttpRequestSpec(**spec)
    assert fake.asked == []


async def test_evaluators_are_checked_and_put_into_the_plan_only_when_asked_for(
    fake: FakePlatform, history: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fake.evaluators = []
    mapping = {"input": "experiment_input", "output": "experiment_output", "expected_output": "dataset.expected_output"}
    good = EvaluatorConfig("Builtin.agent_correctness", result_type="score", variable_mapping=mapping)
    bad = EvaluatorConfig("Builtin.agent_correctness", variable_mapping={**mapping, "expected_output": "dataset.nope"})
    with pytest.raises((DatasetError, SpecError), match="`nope` is not a column"):
        await run_experiment(config_of(fake, evaluators=[bad]), lambda task: "x")
    assert fake.records == {}
    await run_experiment(config_of(fake, evaluators=[good]), lambda task: "x")
    assert fake.evaluators == []
    await run_experiment(config_of(fake, evaluators=[good]), lambda task: "x", update_plan=True)
    assert [one["evaluatorRef"] for one in fake.evaluators] == ["Builtin.agent_correctness"]


async def test_a_slow_function_does_not_hold_the_others(fake: FakePlatform, history: Path) -> None:
    async def slow(task: Task) -> str:
        await asyncio.sleep(0.5)
        return task.id

    begun = asyncio.get_running_loop().time()
    await run_experiment_parallel(config_of(fake), slow, n_workers=4)
    assert asyncio.get_running_loop().time() - begun < 1.9


def test_a_plan_file_cannot_name_a_function_of_this_process() -> None:
    assert "in_process" not in list(solution_kinds())
    case = {"cases": [{"id": "a"}]}
    plan = {
        "version": 1,
        "name": "x",
        "requests": [{"name": "r", "dataset": case, "solution": {"type": "in_process", "handle": "guessed"}}],
    }
    with pytest.raises(SpecError, match="run the program again"):
        load_plan(plan)
