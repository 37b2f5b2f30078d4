"""``execute_evalset_spec`` as Datalayer's programs call it; what is reported, and that no result is lost over it."""

from __future__ import annotations

import asyncio
import csv
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.datalayer.fake import FakeServer, fake_server
from tui_eval.platforms.datalayer import (
    EvalsetRefused,
    async_execute_evalset_spec,
    create_report,
    execute_evalset_spec,
    load_evalset_spec,
)
from tui_eval.platforms.datalayer.reporting import RunReporter, report_all, reported
from tui_eval.store.reader import History

EVALSETS = Path(__file__).parent / "evalsets"
BATCH = load_evalset_spec(EVALSETS / "examples-evals_batch.evalset.json", expected_kind="batch", require_cases=True)
ANALYSIS = load_evalset_spec(EVALSETS / "agent_runtimes-data-analysis.evalset.json")


@pytest.fixture(autouse=True)
def _no_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DATALAYER_API_KEY", raising=False)
    monkeypatch.setenv("DATALAYER_AI_AGENTS_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("TUI_EVAL_HISTORY", str(tmp_path / "history" / "h.db"))
    monkeypatch.chdir(tmp_path)


async def execute(
    server: FakeServer, client: Any = None, spec: Any = BATCH, specs: Any = ("oracle",), **options: Any
) -> dict[str, Any]:
    given = {"execution_target": "local", "local_agent_base_url": server.base_url, "log": None, **options}
    return await async_execute_evalset_spec(client, spec=spec, agentspec_ids=list(specs), **given)


def report_of(result: dict[str, Any], tmp_path: Path) -> tuple[str, list[dict[str, str]]]:
    with open(result["report_csv_path"], newline="") as stream:
        return Path(result["report_markdown_path"]).read_text(), list(csv.DictReader(stream))


async def test_a_local_run_needs_no_account_and_says_what_came_of_it() -> None:
    lines: list[str] = []
    async with fake_server() as server:
        result = await execute(server, specs=["oracle", " thinking ", "oracle"], log=lines.append)
    assert result["outcomes"]["oracle"]["pass_rate"] == 1.0
    assert list(result["outcomes"]) == ["oracle", "thinking"]
    assert (result["evalset_id"], result["experiment_ids"], result["run_ids"], result["view_url"]) == ("", [], [], "")
    assert any("uppercase-basic: passed" in line for line in lines)


def test_it_can_be_called_from_a_plain_program(tmp_path: Path) -> None:
    result = execute_evalset_spec(
        None,
        spec=BATCH,
        agentspec_ids=["a"],
        execution_target="local",
        local_agent_base_url="http://127.0.0.1:1",
        server_command=["no-such-program"],
        log=None,
    )
    assert result["outcomes"]["a"]["error"] == 5


def test_parameters_and_defaults_are_those_of_the_reference() -> None:
    found = {name: one.default for name, one in inspect.signature(execute_evalset_spec).parameters.items()}
    assert found["execution_target"] == "cloud"
    assert (found["run_limit"], found["request_timeout_seconds"], found["credits_limit"]) == (1, 180.0, 100.0)
    assert (found["environment_name"], found["agent_name"]) == ("ai-agents-env", "default")
    assert (found["local_agent_base_url"], found["launch_source"]) == ("http://localhost:8765", "datalayer-core")
    assert found["log"] is print


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"specs": []}, "at least one agentspec"),
        ({"specs": ["", " "]}, "at least one agentspec"),
        ({"spec": {"name": "e", "cases": []}}, "no cases"),
        ({"spec": {"name": "e"}}, "no cases"),
        ({"spec": {"cases": [{}]}}, "is missing"),
        ({"execution_target": "moon"}, "must be local or cloud"),
        ({"execution_target": "cloud"}, "needs an API key"),
        ({"grading": "kind"}, "strict or compat"),
        ({"client": object()}, "no API key"),
    ],
)
async def test_what_cannot_be_run_is_refused_before_anything_is_created(
    changes: Any, words: str, tmp_path: Path
) -> None:
    async with fake_server() as server:
        with pytest.raises(ValueError, match=words):
            await execute(server, **changes)
        assert not server.asked
    assert not (tmp_path / "history").exists()


def test_another_kind_than_expected_is_refused() -> None:
    with pytest.raises(EvalsetRefused, match="expected interactive"):
        load_evalset_spec(EVALSETS / "examples-evals_batch.evalset.json", expected_kind="interactive")


async def test_texts_of_an_evalset_are_data_whatever_they_look_like() -> None:
    text = "${HOME} {{ prompt }} {% raw %} $${X} ${not a reference"
    spec = {
        "name": text,
        "metadata": {"token": "sk-not-a-secret", "note": text},
        "cases": [{"name": text, "inputs": {"prompt": text}, "expected_output": text}],
        "evalset_evaluators": [{"name": "equals"}],
    }
    async with fake_server() as server:
        result = await execute(server, spec=spec, specs=["oracle"])
        assert [prompt for _, prompt in server.chats] == [text]
    assert result["outcomes"]["oracle"]["failed"] == 1


# -- reporting --


@pytest.fixture
def on_platform(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda server: monkeypatch.setenv("DATALAYER_AI_AGENTS_URL", server.base_url)


class Client:
    def _get_token(self) -> str:
        return "k-123"


@pytest.mark.parametrize("client", ["k-123", Client()])
async def test_a_run_is_reported_with_evalset_experiments_and_a_record_for_every_repeat(
    client: Any, on_platform: Any
) -> None:
    async with fake_server() as server:
        on_platform(server)
        result = await execute(server, client, specs=["oracle", "parrot"], run_limit=2, evalset_name="mine")
        assert [one["name"] for one in server.evalsets.values()] == ["mine"]
        assert {one["status"] for one in server.experiments.values()} == {"completed"}
        assert sorted(run["summary"]["run_index"] for run in server.runs.values()) == [0, 0, 1, 1]
        metrics = next(iter(server.runs.values()))["metrics"]
        chats = [asked for asked in server.asked if "vercel-ai" in asked.path]
        assert all("authorization" not in asked.headers for asked in chats), "the key went to the agents"
    assert (metrics["pass_rate"], metrics["total_cases"], metrics["grading"]) == (1.0, 5, "strict")
    assert metrics["case_results"][0]["output"] == {"text": "HELLO WORLD"}
    assert metrics["evaluator_results"][0]["name"] == "equals_expected"
    assert metrics["evaluator_results"][-1] | {"threshold": 0.8, "passed": True} == metrics["evaluator_results"][-1]
    assert (result["evalset_id"], result["evalset_name"]) == ("es-1", "mine")
    assert (len(result["experiment_ids"]), len(result["run_ids"])) == (2, 4)
    assert result["view_url"] == "https://datalayer.app/benchmarks/es-1"


async def test_a_platform_that_cannot_change_experiments_is_no_trouble(on_platform: Any) -> None:
    async with fake_server(patches=False) as server:
        on_platform(server)
        result = await execute(server, "k-123")
    assert len(result["run_ids"]) == 1


async def test_a_failing_reports_api_loses_nothing_and_is_caught_up_later(tmp_path: Path, on_platform: Any) -> None:
    history = tmp_path / "history" / "h.db"
    lines: list[str] = []
    async with fake_server(refusals=[400] * 50) as server:
        on_platform(server)
        result = await execute(server, "k-123", log=lines.append)
        assert result["outcomes"]["oracle"]["passed"] == 5
        assert not server.runs
        assert any("tui-eval datalayer sync" in line for line in lines)
        with History(history) as stored:
            assert len(list(stored.iter_tasks(stored.run("last")))) == 5
        server.refusals.clear()
        environment = {"DATALAYER_API_KEY": "k-123", "DATALAYER_AI_AGENTS_URL": server.base_url}
        assert await report_all(RunReporter(history, result["history_run_id"], environment), 5.0) == ""
        assert len(server.runs) == 1
        assert await RunReporter(history, result["history_run_id"], environment).round()
        assert len(server.runs) == 1
        with History(history) as stored:
            assert reported(history, stored.run("last").id).left == ""


@pytest.mark.parametrize("lost", [0, 1, 2])
async def test_what_arrived_though_its_answer_was_lost_is_not_made_twice(
    lost: int, tmp_path: Path, on_platform: Any
) -> None:
    async with fake_server(refusals=[*[0] * lost, 299]) as server:
        on_platform(server)
        result = await execute(server, "k-123")
        assert (len(server.evalsets), len(server.experiments), len(server.runs)) == (1, 1, 1)
    assert len(result["run_ids"]) == 1


async def test_an_evalset_can_be_made_without_running_it(on_platform: Any) -> None:
    async with fake_server() as server:
        on_platform(server)
        result = await execute(server, "k-123", run_evalset=False)
        assert (len(server.evalsets), server.chats, server.made) == (1, [], [])
    assert result["evalset_id"] == "es-1"


# -- the report --


async def test_a_report_has_prompt_answer_explanation_and_latency_and_counts_tokens_once(tmp_path: Path) -> None:
    async with fake_server() as server:
        result = await execute(
            server,
            spec=ANALYSIS,
            specs=["parrot", "failing"],
            create_report=True,
            report_folder=tmp_path / "out",
            run_limit=2,
        )
    text, rows = report_of(result, tmp_path)
    cases = [row for row in rows if row["row_type"] == "case"]
    assert len(cases) == 24
    first = next(row for row in cases if row["agent_spec_id"] == "parrot")
    assert first["case_prompt"].startswith("You are analysing customers.csv")
    assert first["case_output"].startswith("HOW MANY CUSTOMER RECORDS")
    assert "is not in" in first["case_explanation"]
    assert float(first["case_latency_seconds"]) > 0
    runs = [row for row in rows if row["row_type"] == "run" and row["agent_spec_id"] == "parrot"]
    of_cases = [row for row in cases if row["agent_spec_id"] == "parrot"]
    totals = [sum(int(row["usage_prompt_tokens"] or 0) for row in chosen) for chosen in (runs, of_cases)]
    assert totals[0] == totals[1] > 0
    broken = next(row for row in cases if row["agent_spec_id"] == "failing")
    assert (broken["case_outcome"], broken["failure_type"]) == ("error", "agent_error")
    gate = next(row for row in rows if row["evaluator_scope"] == "report" and row["agent_spec_id"] == "parrot")
    assert gate["evaluator_latest_passed"] == "false"
    assert "mock provider exploded" in text
    assert "pass rate 0.1667, asked for 0.6" in text
    assert len(text) < 30_000


async def test_a_report_goes_where_it_is_told_and_nothing_else_is_written(tmp_path: Path) -> None:
    async with fake_server() as server:
        result = await execute(server, create_report=True, report_folder=tmp_path / "a" / "b")
    assert Path(result["report_csv_path"]).parent == tmp_path / "a" / "b"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "history"]
    again = create_report(tmp_path / "history" / "h.db", "last", tmp_path / "c")
    assert again.markdown_path.exists()


async def test_cells_of_a_report_cannot_be_run_by_a_spreadsheet(tmp_path: Path) -> None:
    spec = {"name": "e", "cases": [{"name": "=1+1", "inputs": "=cmd|' /C calc'!A0", "expected_output": "x"}]}
    async with fake_server() as server:
        result = await execute(server, spec=spec, specs=["parrot"], create_report=True, report_folder=tmp_path)
    rows = report_of(result, tmp_path)[1]
    case = next(row for row in rows if row["row_type"] == "case")
    assert case["case_name"].startswith("'=")
    assert case["case_output"].startswith("'=")


# -- the cloud --


async def cloud(server: FakeServer, **options: Any) -> dict[str, Any]:
    return await execute(server, "k-123", execution_target="cloud", poll_interval_seconds=0.05, **options)


async def test_the_platform_runs_and_grades_and_every_case_is_read_back(tmp_path: Path, on_platform: Any) -> None:
    async with fake_server() as server:
        on_platform(server)
        result = await cloud(
            server, specs=["one", "two"], run_limit=2, credits_limit=7, create_report=True, report_folder=tmp_path
        )
        assert (len(server.launches), len(server.experiments), server.chats, server.made) == (2, 2, [], [])
        config = server.launches["la-1"]["config"]
    assert config == {
        "concurrency": 4,
        "environment": "ai-agents-env",
        "time_reservation": 60,
        "request_timeout_seconds": 180.0,
        "retention": "snapshots",
        "budget": 7.0,
    }
    assert {name: (one["passed"], one["failed"]) for name, one in result["outcomes"].items()} == {
        "one": (6, 4),
        "two": (6, 4),
    }
    rows = report_of(result, tmp_path)[1]
    assert next(row for row in rows if row["row_type"] == "case")["case_output"] == "cloud 0"
    assert (result["evalset_id"], result["view_url"]) == ("es-1", "https://datalayer.app/benchmarks/es-1")


@pytest.mark.parametrize(
    ("stuck", "words"), [("blocked", "no credits"), ("failed", "is failed"), ("executes", "does not execute")]
)
async def test_a_launch_that_settles_otherwise_is_an_error_of_its_cases(
    stuck: str, words: str, tmp_path: Path, on_platform: Any
) -> None:
    async with fake_server(stuck=stuck, looks=0) as server:
        on_platform(server)
        result = await cloud(server)
    outcomes = result["outcomes"]["oracle"]
    assert outcomes["error"] > 0
    with History(tmp_path / "history" / "h.db") as stored:
        assert any(words in task.message for task in stored.iter_tasks(stored.run("last")))


async def test_a_launch_that_would_not_run_is_not_made(tmp_path: Path, on_platform: Any) -> None:
    problems = [
        {"severity": "error", "code": "no_credits", "message": "3 credits are missing"},
        {"severity": "warning", "code": "slow", "message": "one slot only"},
    ]
    async with fake_server(plan={"ok": False, "problems": problems}) as server:
        on_platform(server)
        result = await cloud(server)
        assert server.launches == {}
    assert result["outcomes"]["oracle"]["error"] == 5
    with History(tmp_path / "history" / "h.db") as stored:
        run = stored.run("last")
        (message,) = {task.message for task in stored.iter_tasks(run)}
        assert "would not run the launch: no_credits: 3 credits are missing" in message
        assert any("one slot only" in line.message and line.level == "warning" for line in stored.log(run))


async def test_what_a_launch_will_take_is_said_before_it_is_made(tmp_path: Path, on_platform: Any) -> None:
    estimate = {"duration_seconds": 90, "credits_reserved": 2.5, "credits_available": 40}
    async with fake_server(plan={"ok": True, "estimate": estimate}) as server:
        on_platform(server)
        await cloud(server)
        assert len(server.launches) == 1
    with History(tmp_path / "history" / "h.db") as stored:
        said = [line.message for line in stored.log(stored.run("last"))]
    assert "datalayer: the launch is estimated at 1.5 min, 2.5 of 40 credits" in said


async def test_a_launch_that_takes_too_long_is_cancelled(on_platform: Any) -> None:
    async with fake_server(stuck="running") as server:
        on_platform(server)
        result = await cloud(server, watch_timeout_seconds=0.3)
        assert server.launches["la-1"]["status"] == "cancelled"
    assert result["outcomes"]["oracle"]["error"] + result["outcomes"]["oracle"]["passed"] > 0


async def test_our_cancel_cancels_the_launch(on_platform: Any) -> None:
    async with fake_server(looks=1000) as server:
        on_platform(server)
        running = asyncio.create_task(cloud(server))
        while not server.launches:
            await asyncio.sleep(0.02)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert server.launches["la-1"]["status"] == "cancelled"


def test_the_evalset_is_handed_on_as_it_was() -> None:
    assert json.loads((EVALSETS / "examples-evals_batch.evalset.json").read_text()) == BATCH
