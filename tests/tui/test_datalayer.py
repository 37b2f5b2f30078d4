"""Datalayer by keyboard: from an evalset over its form to a run that is watched, looked into, repeated and reported."""

from __future__ import annotations

import asyncio
import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.platforms.datalayer.fake import FakeServer, fake_server, gone, program
from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text, see, until
from tests.tui.launching import begun, checked, ended
from tui_eval.platforms.datalayer.launching import base_folder, launch_faults, launch_plan
from tui_eval.spec.datalayer_options import SERVER_COMMAND
from tui_eval.spec.evalset import load_evalset
from tui_eval.spec.loading import load_plan
from tui_eval.store.platform_records import PlatformRecord, ReportCounts
from tui_eval.store.reader import History
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.projections import datalayer as shown
from tui_eval.tui.projections.agent_steps import agent_steps
from tui_eval.tui.screens.datalayer_launch import EvalsetLaunchScreen
from tui_eval.tui.screens.task import TaskScreen
from tui_eval.tui.widgets.form import Form

Make = Callable[..., TuiEvalApp]
EVALSETS = Path(__file__).parents[1] / "platforms" / "datalayer" / "evalsets"
FILES = sorted(EVALSETS.glob("*.evalset.json"))
BATCH = EVALSETS / "examples-evals_batch.evalset.json"
PATIENCE = 30.0


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATALAYER_API_KEY", raising=False)
    monkeypatch.delenv("DATALAYER_AI_AGENTS_URL", raising=False)


async def form_of(pilot: Pilot[Any], name: str) -> EvalsetLaunchScreen:
    """The form of the evalset of this name, opened from the plans screen by keyboard."""
    await pilot.press("P")
    await see(pilot, "1 plan", PATIENCE)
    await see(pilot, name[:12], PATIENCE)
    await pilot.press("L")
    await see(pilot, "1 agentspecs", PATIENCE)
    screen = pilot.app.screen
    assert isinstance(screen, EvalsetLaunchScreen)
    return screen


async def add(pilot: Pilot[Any], specs: Sequence[str]) -> None:
    await pilot.press("a")
    await see(pilot, "Agentspecs, with commas between")
    await pilot.press(*", ".join(specs), "enter")
    await see(pilot, f"{len(specs)} chosen")


async def fill(pilot: Pilot[Any], **values: str) -> None:
    """Type into fields of the form, going there with the arrow keys."""
    form = pilot.app.screen.query_one(Form)
    names = [field.name for field in form.fields]
    await pilot.press("2")
    await until(pilot, lambda: form.has_focus_within, PATIENCE)
    here = 0
    for name in sorted(values, key=names.index):
        place = names.index(name)
        await pilot.press(*["down"] * (place - here), *values[name])
        here = place


async def started(pilot: Pilot[Any], history: Path) -> str:
    """From the form over the pre-flight page to a run; its id once it has ended."""
    await pilot.press("ctrl+o")
    await checked(pilot)
    await see(pilot, "ready to start", PATIENCE)
    await pilot.press("r")
    await see(pilot, "Start ")
    await pilot.press("y")
    run_id = await begun(history)
    assert await ended(history, run_id) == "completed"
    return run_id


def evalset_in(folder: Path, path: Path = BATCH) -> Path:
    return Path(shutil.copy(path, folder))


# -- the whole way, by keyboard --


async def walked(pilot: Pilot[Any], folder: Path, server: FakeServer, path: Path) -> None:
    """Pick the evalset, two agentspecs, launch, watch, open a failed case, run it again, report."""
    history, evalset = folder / "history.db", load_evalset(path)
    cases = len(evalset.cases)
    await form_of(pilot, evalset.spec.name)
    if len(evalset.agentspec_ids) == 1:  # the only one is marked from the beginning
        await see(pilot, "1 chosen")
        await pilot.press("space")
    await add(pilot, ["thinking", "failing"])
    await fill(pilot, base_url=server.base_url)
    await see(pilot, f"2 agentspecs x {cases} case")
    run_id = await started(pilot, history)
    page = await see(pilot, f"{2 * cases} of {2 * cases}", PATIENCE)
    assert f"! {cases} error" in page
    await pilot.press("5")
    await see(pilot, "made the agent")
    await pilot.press("2", *"/outcome:error", "enter")
    await see(pilot, f"Tasks {cases} filtered", PATIENCE)
    await pilot.press("g", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, TaskScreen), PATIENCE)
    await see(pilot, "the agent says in the stream", PATIENCE)
    await pilot.press("escape")
    await see(pilot, "filtered")
    before = len(server.chats)
    await pilot.press("r")
    await see(pilot, "Run again")
    await pilot.press("y")
    await until(pilot, lambda: _newest(history) != run_id, PATIENCE)
    again = _newest(history)
    await ended(history, again)
    assert len(server.chats) - before in (1, 2), "the case on every agentspec at most, and nothing else, is asked"
    await see(pilot, again, PATIENCE)
    await pilot.press("e")
    await see(pilot, "Evalset report")
    await pilot.press("enter")
    await see(pilot, "Write the report into the folder")
    await pilot.press("enter")
    written = folder / "reports" / f"report-{again}.csv"
    await see(pilot, "Written", PATIENCE)
    assert written.with_suffix(".md").is_file()
    with open(written, newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["row_type"] == "case"]
    assert {"case_prompt", "case_output", "case_explanation", "case_latency_seconds"} <= rows[0].keys()
    assert len(rows) == 2 * cases
    assert not server.agents, "agents of ours were left on the server"


def _newest(history: Path) -> str:
    with History(history) as stored:
        return stored.runs(limit=1)[0].run.run_id


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
async def test_every_shipped_evalset_goes_the_whole_way_by_keyboard(make_app: Make, tmp_path: Path, path: Path) -> None:
    evalset_in(tmp_path, path)
    async with fake_server() as server:
        app = make_app()
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await walked(pilot, tmp_path, server, path)


async def test_the_composed_plan_is_saved_as_one_that_the_command_line_takes(make_app: Make, tmp_path: Path) -> None:
    evalset_in(tmp_path)
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await form_of(pilot, "text-normalization")
        await pilot.press("space", "space", "ctrl+o")
        await checked(pilot)
        await see(pilot, "ready to start", PATIENCE)
        await pilot.press("w")
        await see(pilot, "Save as")
        await pilot.press("enter")
        await see(pilot, "Saved as")
    (saved,) = tmp_path.glob("*.yaml")
    loaded = load_plan(saved)
    assert [request.name for request in loaded.requests] == ["example-evals", "example-evals-nocodemode"]
    assert loaded.requests[0].dataset.path == BATCH.name, "the evalset is named from the plan's folder"
    command = [sys.executable, "-m", "tui_eval", "run", "--dry-run", saved.name]
    ran = await asyncio.to_thread(subprocess.run, command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


async def test_two_agentspecs_of_an_evalset_are_run_and_looked_into(make_app: Make, tmp_path: Path) -> None:
    evalset_in(tmp_path)
    async with fake_server() as server:
        app = make_app()
        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            await form_of(pilot, "text-normalization")
            page = await see(pilot, "5 cases (batch), graded by equals_expected")
            assert "No agentspec is chosen" in page
            assert "example-evals-nocodemode" in page
            await pilot.press("ctrl+o")
            await see(pilot, "Mark at least one agentspec")
            await add(pilot, ["oracle", "thinking"])
            await fill(pilot, base_url=server.base_url, report_folder="out")
            await pilot.press("ctrl+o")
            await checked(pilot)
            page = await see(pilot, "ready to start", PATIENCE)
            assert "2 requests, 10 tasks" in page
            assert server.base_url.removeprefix("http://") in page
            assert not server.asked, "something was called before the start"
            await pilot.press("r")
            await see(pilot, "makes 10 calls")
            await pilot.press("y")
            run_id = await begun(tmp_path / "history.db")
            assert await ended(tmp_path / "history.db", run_id) == "completed"
            await see(pilot, "10 of 10", PATIENCE)
            await pilot.press("1", "j", "enter")
            await see(pilot, "Tasks 5 filtered")
            await pilot.press("g", "enter")
            await until(pilot, lambda: isinstance(app.screen, TaskScreen), PATIENCE)
            await pilot.press("G")
            page = await see(pilot, "not part of the output", PATIENCE)
            assert "Reasoning" in page
    assert sorted(path.suffix for path in (tmp_path / "out").iterdir()) == [".csv", ".md"]
    assert {agent.rpartition("-")[0].rpartition("-")[2] for agent in server.deleted} == {"oracle", "thinking"}


async def test_a_server_that_is_started_for_a_run_is_told_in_its_log_and_ended(make_app: Make, tmp_path: Path) -> None:
    evalset_in(tmp_path)
    command = program(tmp_path, "--ready-after", "0.5")
    app = make_app()
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        screen = await form_of(pilot, "text-normalization")
        await add(pilot, ["oracle"])
        form = screen.query_one(Form)
        form.load({"start_server": "always", "server_command": command})
        run_id = await started(pilot, tmp_path / "history.db")
        await see(pilot, "5 of 5", PATIENCE)
        await pilot.press("5")
        page = await see(pilot, "started an agent server", PATIENCE)
        assert "made the agent" in page
    assert gone(int((tmp_path / "server.pid").read_text()))
    with History(tmp_path / "history.db") as history:
        times = [task.latency for task in history.iter_tasks(history.run(run_id))]
    assert all(latency is not None for latency in times)
    assert load_evalset(BATCH).cases


async def test_a_reported_run_says_where_it_is_seen_and_its_evalset_that_it_was_run(
    make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evalset_in(tmp_path)
    async with fake_server() as server:
        monkeypatch.setenv("DATALAYER_API_KEY", server.key)
        monkeypatch.setenv("DATALAYER_AI_AGENTS_URL", server.base_url)
        app = make_app()
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            screen = await form_of(pilot, "text-normalization")
            await add(pilot, ["parrot"])
            screen.form.load({"base_url": server.base_url, "report": True})
            run_id = await started(pilot, tmp_path / "history.db")
            await see(pilot, "see it on https://datalayer.app/benchmarks/es-1", PATIENCE)
            await see(pilot, "5 of 5 reported", PATIENCE)
            await pilot.press("P")
            page = await see(pilot, "✓5", PATIENCE)
            assert "never run" not in page
            await pilot.press("o")
            await see(pilot, run_id, PATIENCE)
            await pilot.press("L")
            page = await see(pilot, "✓ completed", PATIENCE)
            assert "never run" not in page
    assert len(server.runs) == 1


@pytest.mark.long
async def test_a_launch_on_the_platform_is_watched_and_its_verdicts_are_shown(
    make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evalset_in(tmp_path)
    async with fake_server(looks=2) as server:
        monkeypatch.setenv("DATALAYER_API_KEY", server.key)
        monkeypatch.setenv("DATALAYER_AI_AGENTS_URL", server.base_url)
        app = make_app()
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await form_of(pilot, "text-normalization")
            await add(pilot, ["one"])
            await pilot.press("2", "right", "right")
            await see(pilot, "‹ cloud ›")
            await started(pilot, tmp_path / "history.db")
            page = await see(pilot, "✓ 3 passed", PATIENCE)
            assert "✗ 2 failed" in page
            await see(pilot, "see it on https://datalayer.app/benchmarks/es-1", PATIENCE)
    assert not server.agents
    assert not server.chats
    assert server.key.encode() not in (tmp_path / "history.db").read_bytes()


# -- refused in the form, before anything is made --


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"name": "empty", "cases": []}', "the evalset has no cases"),
        ('{"name": "broken", "kind": "x", "cases": [{}, {"name": 1}]}', "more fault"),
    ],
)
async def test_an_evalset_that_cannot_run_is_refused_before_its_form(
    make_app: Make, tmp_path: Path, content: str, told: str
) -> None:
    (tmp_path / "x.evalset.json").write_text(content)
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("P")
        await see(pilot, "fault", PATIENCE)
        await pilot.press("L")
        page = await see(pilot, "This evalset cannot be launched", PATIENCE)
        assert told in " ".join(page.split())
        assert not isinstance(app.screen, EvalsetLaunchScreen)
    assert not (tmp_path / "history.db").exists()


async def test_the_cloud_without_a_key_is_refused_in_the_form(make_app: Make, tmp_path: Path) -> None:
    evalset_in(tmp_path)
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await form_of(pilot, "text-normalization")
        await pilot.press("space", "tab", "right", "right", "ctrl+o")
        await see(pilot, "the platform needs an API key: set DATALAYER_API_KEY")
        assert isinstance(app.screen, EvalsetLaunchScreen)


async def test_evalsets_stand_on_the_launch_screen_and_lead_to_their_form(make_app: Make, tmp_path: Path) -> None:
    evalset_in(tmp_path)
    app = make_app()
    async with app.run_test(size=(60, 18), notifications=True) as pilot:
        await pilot.press("L")
        await see(pilot, "text-normalization", PATIENCE)
        await pilot.press("j", "enter")
        await see(pilot, "1 agentspecs", PATIENCE)
        await pilot.press("enter")
        page = await see(pilot, "1 chosen")
        assert "base_url" in page or "execution_target" in page
        await pilot.press("escape")
        await see(pilot, "compose a plan")


async def test_hostile_names_are_shown_as_they_are(make_app: Make, tmp_path: Path) -> None:
    hostile = [text for text in (*MARKUP, *COMMANDS) if "\ud800" not in text]  # half a pair is a fault of the file
    spec = {
        "name": f"evil {MARKUP[7]} {COMMANDS[0]}",
        "metadata": {"agentspec_ids": [f"a{text}" for text in hostile]},
        "cases": [{"name": text, "inputs": {"prompt": text}, "expected_output": text} for text in hostile],
    }
    (tmp_path / "evil.evalset.json").write_text(json.dumps(spec))
    app = make_app()
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await form_of(pilot, "evil")
        assert f"launch evil {MARKUP[7]}" in screen_text(app)
        for count, text in enumerate(hostile, 1):
            if text in MARKUP:
                await see(pilot, f"a{text}")
            await pilot.press("space")  # marks it, and goes on to the next one
            assert "\x1b" not in await see(pilot, f"{count} chosen")
        await pilot.press("ctrl+o")
        await checked(pilot)
        assert "\x1b" not in screen_text(app)


# -- without a screen --


def test_what_is_left_empty_is_not_written_into_the_plan(tmp_path: Path) -> None:
    path = evalset_in(tmp_path)
    plan = launch_plan(load_evalset(path), ["a", "b"], {}, tmp_path)
    assert plan["datalayer"] == {"execution_target": "local", "grading": "strict"}
    assert plan["defaults"]["dataset"] == {"path": path.name, "format": "evalset"}
    assert [request["name"] for request in plan["requests"]] == ["a", "b"]


def test_everything_that_is_filled_in_stands_in_the_plan(tmp_path: Path) -> None:
    path = evalset_in(tmp_path)
    data: dict[str, Any] = {
        "grading": "compat",
        "n_repeat": 3,
        "task_concurrency": 7,
        "attempt_timeout_seconds": 5,
        "idle_timeout_seconds": 2,
        "base_url": "http://127.0.0.1:1",
        "start_server": "always",
        "server_command": ["serve", "{port}"],
        "report": True,
        "evalset_name": "e",
        "report_folder": "out",
    }
    assert not list(launch_faults(load_evalset(path), data, {"DATALAYER_API_KEY": "k"}))
    plan = launch_plan(load_evalset(path), ["a"], data, tmp_path)
    assert plan["datalayer"]["server"] == {
        "base_url": "http://127.0.0.1:1",
        "start": "always",
        "command": ["serve", "{port}"],
    }
    assert plan["task_concurrency"] == 7
    assert plan["defaults"]["execution"] == {"n_repeat": 3, "attempt_timeout_seconds": 5, "idle_timeout_seconds": 2}
    assert plan["defaults"]["evaluators"][0]["grading"] == "compat"
    loaded = load_plan(plan, folder=tmp_path)
    assert loaded.platforms["datalayer"].options.report_folder == "out"


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"execution_target": "moon"}, "execution_target"),
        ({"execution_target": "cloud"}, "execution_target"),
        ({"report": True}, "report"),
        ({"base_url": "not an address"}, "base_url"),
        ({"n_repeat": 0}, "n_repeat"),
        ({"attempt_timeout_seconds": -1}, "attempt_timeout_seconds"),
        ({"server_command": []}, "server_command"),
        ({"check_output_schema": True}, "check_output_schema"),
    ],
)
def test_each_wrong_setting_is_a_fault_of_its_field(data: dict[str, Any], field: str) -> None:
    evalset = load_evalset({"name": "e", "cases": [{"name": "c"}]})
    assert {fault.path for fault in launch_faults(evalset, data, {})} == {field}


def test_settings_of_a_local_server_are_refused_for_the_cloud() -> None:
    evalset = load_evalset(BATCH)
    data = {"execution_target": "cloud", "base_url": "http://127.0.0.1:1", "server_command": list(SERVER_COMMAND)}
    faults = list(launch_faults(evalset, data, {"DATALAYER_API_KEY": "k"}))
    assert {fault.path for fault in faults} == {"base_url", "server_command"}


def test_the_plan_lies_in_the_workspace_or_beside_an_evalset_from_elsewhere(tmp_path: Path) -> None:
    assert base_folder(tmp_path / "a" / "x.evalset.json", tmp_path) == tmp_path
    assert base_folder(Path("/elsewhere/x.evalset.json"), tmp_path) == Path("/elsewhere")


def test_typed_agentspecs_are_taken_apart_at_commas() -> None:
    assert shown.agentspecs_typed(" a, b ,,a") == ["a", "b"]
    assert shown.wrong_agentspecs(" , ")
    assert shown.wrong_agentspecs("a\x1bb")
    assert not shown.wrong_agentspecs("datalayer/agent:0.1, [/b]")


def test_where_a_run_is_seen_on_the_platform_is_one_line() -> None:
    records = [
        (PlatformRecord(1, 1, "datalayer", told={"view_url": "https://x.example/benchmarks/1"}), ReportCounts()),
        (PlatformRecord(1, 2, "datalayer", told={"view_url": "https://x.example/benchmarks/1"}), ReportCounts()),
    ]
    (cells,) = shown.view_lines(records)
    assert "".join(cell.text for cell in cells) == "see it on https://x.example/benchmarks/1"
    assert shown.view_lines([]) == []


def test_tool_calls_are_told_with_what_came_of_each() -> None:
    calls = [
        {"id": "1", "name": "search", "input": {"q": "x"}, "output": [1]},
        {"id": "2", "name": "[/b]", "input": None, "error": "no such\ntool"},
        {"id": "3", "name": "rm", "denied": True},
        {"id": "4", "name": "slow"},
    ]
    text = "".join(part for part, _ in agent_steps({"reasoning": "hm", "tool_calls": calls}, lambda text: text))
    assert "Reasoning  not part of the output\nhm" in text
    for words in ("search", "→ [1]", "! no such", "! denied", "… no result came", "[/b]", "4 calls"):
        assert words in text
    assert not "".join(part for part, _ in agent_steps({}, lambda text: text))
