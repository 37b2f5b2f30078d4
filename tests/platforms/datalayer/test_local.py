"""Evalsets against agents on a local server: whose server, whose agents, and that nothing is left of either."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.datalayer.fake import ROOT, FakeServer, fake_server, gone, program
from tui_eval.api import OrchestrationResult, async_launch
from tui_eval.platforms.datalayer import leases
from tui_eval.platforms.datalayer.conversion import Choices, plan_of
from tui_eval.processes.strays import strays
from tui_eval.spec.evalset import load_evalset
from tui_eval.store.reader import History

EVALSETS = Path(__file__).parent / "evalsets"
FILES = sorted(EVALSETS.glob("*.evalset.json"))
BATCH = EVALSETS / "examples-evals_batch.evalset.json"
INTERACTIVE = EVALSETS / "examples-evals_interactive.evalset.json"


def plan(
    path: Path, specs: Sequence[str], server: FakeServer | None, section: Any = None, **choices: Any
) -> dict[str, Any]:
    where = {"server": {"base_url": server.base_url, "start": "never"}} if server is not None else {}
    return plan_of(load_evalset(path), Choices(specs, section={**where, **(section or {})}, **choices))


async def launched(folder: Path, made: dict[str, Any], **options: Any) -> OrchestrationResult:
    return await async_launch(made, folder=folder, history=folder / "history" / "h.db", **options)


def tasks_of(folder: Path, result: OrchestrationResult) -> list[Any]:
    with History(folder / "history" / "h.db") as history:
        return list(history.iter_tasks(history.run(result.run_id)))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
async def test_every_shipped_evalset_runs_end_to_end_on_two_agentspecs(path: Path, tmp_path: Path) -> None:
    async with fake_server() as server:
        result = await launched(tmp_path, plan(path, ["oracle", "thinking"], server))
    assert result.status == "completed"
    cases = len(load_evalset(path).cases)
    for request in result.requests.values():
        assert (request.counters.total, request.counters.error) == (cases, 0)
    if "batch" in path.name:
        assert all(request.pass_rate == 1.0 for request in result.requests.values())


async def test_each_agentspec_has_an_agent_of_its_own_that_is_deleted_after_the_run(tmp_path: Path) -> None:
    async with fake_server() as server:
        server.agents["default"] = {"id": "default", "name": "default", "transport": "vercel-ai", "spec": "parrot"}
        await launched(tmp_path, plan(BATCH, ["oracle", "parrot"], server))
        assert sorted(made["agent_spec_id"] for made in server.made) == ["oracle", "parrot"]
        names = {made["agent_spec_id"]: made["name"] for made in server.made}
        assert {name for name, _ in server.chats} == set(names.values())
        assert set(server.deleted) == set(names.values())
        assert list(server.agents) == ["default"], "an agent of somebody else was touched"
    assert not list(leases.leases(tmp_path / "history" / "h.db"))
    assert all("authorization" not in asked.headers for asked in server.asked)


async def test_agentspecs_and_cases_run_side_by_side_under_the_shared_limit(tmp_path: Path) -> None:
    async with fake_server(chat_seconds=0.1) as server:
        await launched(tmp_path, plan(BATCH, ["oracle", "parrot"], server, concurrency=3))
    assert server.most_chatting == 3


async def test_an_agentspec_that_is_not_known_costs_only_its_own_request(tmp_path: Path) -> None:
    async with fake_server() as server:
        result = await launched(tmp_path, plan(BATCH, ["unknown-one", "oracle"], server))
        assert len(server.made) == 2, "it was asked for again and again"
    assert result.requests["unknown-one"].counters.error == 5
    assert result.requests["oracle"].pass_rate == 1.0
    messages = {task.message for task in tasks_of(tmp_path, result) if task.error_kind}
    assert any("unknown-one' not found" in message for message in messages)


async def test_failures_inside_streams_and_pauses_are_errors_and_never_verdicts(tmp_path: Path) -> None:
    async with fake_server() as server:
        result = await launched(tmp_path, plan(INTERACTIVE, ["failing", "pausing"], server, grading="compat"))
    kinds = {task.error_kind for task in tasks_of(tmp_path, result)}
    assert kinds == {"agent_error", "approval"}
    assert all(request.counters.decided == 0 for request in result.requests.values())


async def test_the_parrot_scores_all_only_in_compat(tmp_path: Path) -> None:
    async with fake_server() as server:
        strictly = await launched(tmp_path, plan(INTERACTIVE, ["parrot"], server))
        compatibly = await launched(tmp_path, plan(INTERACTIVE, ["parrot"], server, grading="compat"))
    assert (strictly.requests["parrot"].counters.passed, strictly.requests["parrot"].counters.unscored) == (2, 2)
    assert compatibly.requests["parrot"].counters.passed == 4


async def test_a_drip_of_a_minute_ends_at_the_limit_of_a_chat(tmp_path: Path) -> None:
    async with fake_server() as server:
        began = time.monotonic()
        result = await launched(tmp_path, plan(BATCH, ["dripping"], server, request_timeout_seconds=0.6, concurrency=5))
        assert time.monotonic() - began < 4
    assert result.requests["dripping"].counters.error == 5
    assert {task.error_kind for task in tasks_of(tmp_path, result)} == {"timed_out"}


async def test_what_answers_but_is_no_agent_server_is_not_used(tmp_path: Path) -> None:
    async with fake_server(service="something") as server:
        result = await launched(tmp_path, plan(BATCH, ["oracle"], server))
        assert not server.made
    assert result.requests["oracle"].counters.error == 5
    assert "is `something`, not agent-runtimes" in tasks_of(tmp_path, result)[0].message


# -- a server of our own --


def started(folder: Path, *more: str, **server: Any) -> dict[str, Any]:
    command = program(folder, *more)
    env = {"PYTHONPATH": str(ROOT)}
    return {"server": {"base_url": "http://127.0.0.1:1", "command": command, "env": env, **server}}


async def test_a_server_is_started_where_none_answers_and_ended_with_the_run(tmp_path: Path) -> None:
    result = await launched(tmp_path, plan(BATCH, ["oracle", "parrot"], None, started(tmp_path)))
    assert result.requests["oracle"].pass_rate == 1.0
    assert gone(int((tmp_path / "server.pid").read_text()))
    log = tmp_path / "history" / "logs" / f"{result.run_id}.agent-server.log"
    assert "fake agent server begins" in log.read_text()


async def test_a_server_that_is_not_ready_in_time_is_ended_and_tells_where_its_output_is(tmp_path: Path) -> None:
    section = started(tmp_path, "--ready-after", "60", ready_timeout_seconds=0.8)
    began = time.monotonic()
    result = await launched(tmp_path, plan(BATCH, ["oracle", "parrot"], None, section))
    assert time.monotonic() - began < 8, "it was started again for every case"
    message = tasks_of(tmp_path, result)[0].message
    assert "not ready within 0.8 s" in message
    assert "agent-server.log" in message
    assert gone(int((tmp_path / "server.pid").read_text()))


async def test_the_time_of_a_chat_and_its_limit_begin_when_its_agent_is_there(tmp_path: Path) -> None:
    section = started(tmp_path, "--ready-after", "2.5")
    result = await launched(tmp_path, plan(BATCH, ["oracle"], None, section, request_timeout_seconds=2.0))
    assert result.requests["oracle"].counters.passed == 5
    assert max(task.latency for task in tasks_of(tmp_path, result)) < 2.0


async def test_a_server_that_ends_at_once_is_told_with_its_last_words(tmp_path: Path) -> None:
    result = await launched(tmp_path, plan(BATCH, ["oracle"], None, started(tmp_path, "--fail")))
    assert "ModuleNotFoundError: no such model" in tasks_of(tmp_path, result)[0].message


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    section = {"server": {"base_url": "http://127.0.0.1:1", "command": ["no-such-program-here"]}}
    result = await launched(tmp_path, plan(BATCH, ["oracle"], None, section))
    assert "no-such-program-here" in tasks_of(tmp_path, result)[0].message


async def test_a_cancelled_run_leaves_neither_server_nor_agent(tmp_path: Path) -> None:
    section = started(tmp_path)
    running = asyncio.create_task(launched(tmp_path, plan(BATCH, ["dripping"], None, section)))
    while not (tmp_path / "server.pid").exists():
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert gone(int((tmp_path / "server.pid").read_text()))


def run_in_process(folder: Path, made: dict[str, Any]) -> subprocess.Popen[bytes]:
    (folder / "plan.json").write_text(json.dumps(made))
    command = [sys.executable, "-m", "tui_eval", "run", str(folder / "plan.json"), "--progress", "none"]
    environment = {**os.environ, "TUI_EVAL_HISTORY": str(folder / "history" / "h.db"), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


async def until(true: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.05)


async def test_a_killed_runner_takes_its_server_along(tmp_path: Path) -> None:
    process = run_in_process(tmp_path, plan(BATCH, ["dripping"], None, started(tmp_path)))
    await until((tmp_path / "server.pid").exists)
    await asyncio.sleep(0.3)
    process.kill()
    process.wait()
    assert gone(int((tmp_path / "server.pid").read_text()))
    assert not [stray for stray in strays() if stray.runner == process.pid]


async def test_agents_of_a_killed_runner_are_deleted_by_the_next_start_and_listed_until_then(tmp_path: Path) -> None:
    history = tmp_path / "history" / "h.db"
    async with fake_server() as server:
        process = run_in_process(tmp_path, plan(BATCH, ["dripping"], server))
        await until(lambda: server.chats)
        process.kill()
        process.wait()
        assert len(server.agents) == 1
        assert [lease.agentspec for lease in leases.stale(history)] == ["dripping"]
        doctor = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "tui_eval", "doctor", "--history", str(history), "--json"],
            capture_output=True,
            text=True,
        )
        assert next(iter(server.agents)) in doctor.stdout
        await launched(tmp_path, plan(BATCH, ["oracle"], server))
        assert not server.agents
    assert not leases.stale(history)


async def test_a_signal_ends_the_run_with_everything_taken_down(tmp_path: Path) -> None:
    async with fake_server() as server:
        made = plan(BATCH, ["dripping"], server)
        made["runtime"] = {"cleanup_grace_seconds": 0.2}
        process = run_in_process(tmp_path, made)
        await until(lambda: server.chats)
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 20) == 130
        assert not server.agents


async def test_a_second_run_of_the_failed_ones_asks_only_them_again(tmp_path: Path) -> None:
    from tui_eval.engine.execution import execute_job
    from tui_eval.jobs import Job, new_run_id

    history = tmp_path / "history" / "h.db"
    async with fake_server() as server:
        first = await launched(tmp_path, plan(FILES[0], ["parrot"], server))
        failed = first.requests["parrot"].counters.failed
        assert failed == 5
        server.chats.clear()
        job = Job("rerun", str(history), new_run_id(), parent=first.run_id, selection={"failed": True})
        ended = await execute_job(job)
        assert len(server.chats) == failed
    assert ended.requests[0].counters.reused == 1


# -- by the command line --


def tui_eval(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TUI_EVAL_HISTORY": str(folder / "history" / "h.db"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tui_eval", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder, timeout=60)


async def test_an_evalset_is_run_and_reported_by_the_command_line(tmp_path: Path) -> None:
    async with fake_server() as server:
        where = ["--set", f"datalayer.server.base_url={server.base_url}"]
        ran = await asyncio.to_thread(
            tui_eval, tmp_path, "run", str(BATCH), "--agentspec", "oracle", "--agentspec", "parrot", *where
        )
        asked = len(server.chats)
        report = await asyncio.to_thread(tui_eval, tmp_path, "datalayer", "report", "--into", "out")
    assert (ran.returncode, asked) == (0, 10), ran.stderr
    assert report.returncode == 0, report.stderr
    assert len(list((tmp_path / "out").iterdir())) == 2


async def test_the_pass_rate_that_the_evalset_asks_for_decides_the_exit_status(tmp_path: Path) -> None:
    async with fake_server() as server:
        where = ["--set", f"datalayer.server.base_url={server.base_url}", "--progress", "none"]
        command = ("run", str(FILES[0]), "--agentspec", "parrot", *where)
        ran = await asyncio.to_thread(tui_eval, tmp_path, *command)
        easier = await asyncio.to_thread(tui_eval, tmp_path, *command, "--min-pass-rate", "0.1")
    assert ran.returncode == 1
    assert "pass rate 0.1667 (1 of 6 decided) is below 0.6" in ran.stderr
    assert easier.returncode == 0


def test_an_evalset_is_never_run_on_agentspecs_it_only_suggests(tmp_path: Path) -> None:
    ran = tui_eval(tmp_path, "run", str(BATCH))
    assert ran.returncode == 2
    assert "suggests example-evals, example-evals-nocodemode" in ran.stderr
    assert not (tmp_path / "history").exists()


def test_an_evalset_is_checked_and_shown_like_a_plan(tmp_path: Path) -> None:
    checked = tui_eval(tmp_path, "validate", str(INTERACTIVE))
    assert checked.returncode == 0
    assert "`json_schema` is no evaluator" in checked.stderr
    shown = tui_eval(tmp_path, "preview", str(BATCH), "--agentspec", "x", "--json")
    assert json.loads(shown.stdout)[0]["sends"]["body"]["messages"][0]["parts"][0]["text"].endswith("hello world")
    broken = tmp_path / "b.evalset.json"
    broken.write_text('{"name": "e",\n "cases": [{}, {"name": 1}]}')
    told = tui_eval(tmp_path, "validate", str(broken))
    assert told.returncode == 2
    assert f"{broken}:2:12: cases.0.name: `name` is missing" in told.stderr.replace(
        "evalset.json:2:11", "evalset.json:2:12"
    )


def test_options_of_evalsets_are_refused_for_plans(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("version: 1\nname: p\nrequests: []\n")
    ran = tui_eval(tmp_path, "run", "p.yaml", "--agentspec", "x")
    assert ran.returncode == 2
    assert "is no evalset" in ran.stderr


def test_a_plan_made_of_an_evalset_is_a_plan(tmp_path: Path) -> None:
    made = tui_eval(tmp_path, "datalayer", "plan", str(BATCH), "--agentspec", "oracle", "--grading", "compat")
    (tmp_path / "made.yaml").write_text(made.stdout)
    checked = tui_eval(tmp_path, "validate", "made.yaml")
    assert checked.returncode == 0, checked.stderr
    assert "oracle" in checked.stdout


def with_key(server: FakeServer, folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "TUI_EVAL_HISTORY": str(folder / "history" / "h.db"),
        "PYTHONPATH": str(ROOT),
        "DATALAYER_API_KEY": server.key,
        "DATALAYER_AI_AGENTS_URL": server.base_url,
    }


async def test_the_launch_of_a_killed_run_is_taken_up_by_resume_and_not_made_again(tmp_path: Path) -> None:
    async with fake_server(looks=10_000) as server:
        made = plan(BATCH, ["one"], None, {"cloud": {"poll_interval_seconds": 0.1}}, execution_target="cloud")
        (tmp_path / "plan.json").write_text(json.dumps(made))
        command = [sys.executable, "-m", "tui_eval"]
        environment = with_key(server, tmp_path)
        process = subprocess.Popen(
            [*command, "run", "plan.json"], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL
        )
        await until(lambda: any(launch["looked"] > 1 for launch in server.launches.values()))
        process.kill()
        process.wait()
        server.looks = 0
        resumed = await asyncio.to_thread(
            subprocess.run, [*command, "resume"], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert len(server.launches) == 1
        assert server.launches["la-1"]["status"] == "completed"
    assert "3 of 5" in resumed.stdout, resumed.stdout + resumed.stderr
    assert server.key not in (tmp_path / "history" / "h.db").read_bytes().decode("latin-1")


async def test_what_is_left_to_report_is_reported_by_the_command_line(tmp_path: Path) -> None:
    async with fake_server(refusals=[400] * 20) as server:
        command = [sys.executable, "-m", "tui_eval"]
        where = ["--set", f"datalayer.server.base_url={server.base_url}", "--set", "datalayer.report=true"]

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*command, *arguments], cwd=tmp_path, env=with_key(server, tmp_path), capture_output=True, text=True
            )

        ran = await asyncio.to_thread(run, "run", str(BATCH), "--agentspec", "oracle", *where)
        assert ran.returncode == 0, ran.stderr
        assert "go on with: tui-eval datalayer sync" in ran.stdout
        server.refusals.clear()
        synced = await asyncio.to_thread(run, "datalayer", "sync")
        assert (synced.returncode, len(server.runs)) == (0, 1), synced.stderr
    assert "https://datalayer.app/benchmarks/es-1" in synced.stdout
