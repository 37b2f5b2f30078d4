"""AgentLoop by keyboard: from the agent space over a plan to a run whose results and scores agree with the platform's."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.platforms.agentloop.fake import KEY, SECRET, Answer, Asked, FakePlatform
from tests.support.hostile import MARKUP
from tests.support.screen_text import screen_text, see
from tests.tui.agentloop.steps import PATIENCE, Make, place_of, plans_of_the_platform
from tests.tui.launching import begun, checked, ended
from tui_eval.errors import HistoryError
from tui_eval.spec.loading import load_plan
from tui_eval.store.platform_records import PlatformRecord, ReportCounts, reported
from tui_eval.store.reader import History
from tui_eval.tui.agentloop_reading import Place, Where, ask, draft_of, first_where, keep_where
from tui_eval.tui.launch_parts import own_choice
from tui_eval.tui.projections.agentloop import detail_parts, record_lines
from tui_eval.tui.screens.agentloop import AgentLoopScreen


async def _scored(path: Path, run_id: str) -> tuple[PlatformRecord, ReportCounts]:
    """What is known of the record of a run once the platform's scores are there."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(HistoryError), History(path) as history:
            for record, counts in reported(path, history.run(run_id).id):
                if record.evaluation.get("done"):
                    return record, counts
        await asyncio.sleep(0.05)
    raise AssertionError("no scores came")


# -- the whole way, by keyboard --


async def test_a_plan_of_the_platform_is_picked_run_with_a_new_agent_and_reported(
    make_app: Make, tmp_path: Path, fake: FakePlatform, credentials: None
) -> None:
    keep_where(tmp_path / "history.db", Where(place_of(fake)))
    app = make_app()
    async with plans_of_the_platform(app, (120, 36), "no agent space is chosen: press a") as pilot:
        await pilot.press("a")
        await see(pilot, "space-0")
        await pilot.press(*"demo", "enter")
        page = await see(pilot, "Runs 0")
        assert "Plans 2" in page
        assert "agent space demo-space, as of just now" in page
        assert "no: online" in page
        await pilot.press("j", "enter")
        await see(pilot, "This plan cannot be run here: it is of type online")
        await pilot.press("k", "enter")
        await see(pilot, "Which solution answers the rows of Demo plan?")
        await pilot.press("enter")
        await see(pilot, "solution http")
        await pilot.press(*f"{fake.url}/agent/sse", "ctrl+o")
        await checked(pilot)
        page = await see(pilot, "ready to start")
        assert "4 tasks" in page
        await pilot.press("r")
        await see(pilot, "makes 4 calls")
        await pilot.press("y")
        run_id = await begun(tmp_path / "history.db")
        await ended(tmp_path / "history.db", run_id)
        record, counts = await _scored(tmp_path / "history.db", run_id)
        assert (counts.total, counts.sent, counts.doubtful) == (4, 4, 0)
        await see(pilot, "4 of 4 reported, 4 scored (completed)")
        await pilot.press("B", "4", "ctrl+r")
        await see(pilot, "Runs 1")
        await pilot.press("i")
        await see(pilot, "4 scores, mean 1")
    with History(tmp_path / "history.db") as history:
        run = history.run(run_id)
        tasks = history.tasks_of(history.task_keys(run)).values()
        ours = {task.case_id: task.output for task in tasks}
        scores = [score.value for task in tasks for score in history.scores(task.id)]
    theirs = {log["dataset.id"]: log["experiment_output"] for log in fake.details(record.record_id)}
    assert ours == theirs
    assert len(ours) == 4
    assert scores == [1.0] * 4
    assert fake.status_of(record.record_id) == "completed"
    assert fake.twice() == []


async def test_a_saved_solution_is_taken_and_the_composed_plan_saved_as_a_file(
    make_app: Make, tmp_path: Path, fake: FakePlatform, space: Where, credentials: None
) -> None:
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "mine.yaml").write_text(f"type: http\nurl: {fake.agent}\nbody: {{input: x}}\n")
    app = make_app()
    async with plans_of_the_platform(app, (110, 32)) as pilot:
        await pilot.press("enter")
        await see(pilot, "solutions/mine.yaml")
        await pilot.press(*"mine", "enter")
        await checked(pilot)
        await see(pilot, "ready to start")
        await pilot.press("w", "enter")
        await see(pilot, "Saved")
    (file,) = [path for path in tmp_path.glob("*.yaml") if path.name != "config.yaml"]
    loaded = load_plan(file, environment={})
    assert loaded.platforms["agentloop"].options.experiment_plan_id == "plan-demo"
    assert loaded.resolved["requests"][0]["solution"]["url"] == fake.agent
    assert not fake.ops("agent")
    assert not fake.ops("CreateExperimentRun")


async def test_details_are_asked_for_by_a_key_and_kept(
    make_app: Make, fake: FakePlatform, space: Where, credentials: None
) -> None:
    app = make_app()
    async with app.run_test(size=(110, 40), notifications=True) as pilot:
        await pilot.press("B")
        await see(pilot, "Runs 0")
        assert not fake.ops("GetExperimentPlan"), "nothing is asked about a row before one wants it"
        await pilot.press("i")
        page = await see(pilot, "the platform judges with")
        assert "dataset.expected_output" in page
        await pilot.press("2", "enter")
        page = await see(pilot, "What is 0 + 0?")
        assert "category" in page
        await pilot.press("3", "enter")
        await see(pilot, "variables  input, output, expected_output")
    asked = len(fake.asked)
    app = make_app()
    async with plans_of_the_platform(app, first="Plans 2") as pilot:
        await pilot.press("2")
        await see(pilot, "What is 0 + 0?")
    assert len(fake.asked) == asked, "what is known already is not asked for again"


async def test_without_an_access_key_it_says_what_is_missing(make_app: Make, fake: FakePlatform) -> None:
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("B")
        page = await see(pilot, "there is no access key for AgentLoop")
        assert "AGENTLOOP_AK" in page
        assert "press o to name it" in page
        await pilot.press("a")
        await see(pilot, "Name the region first")
    assert fake.asked == []


async def test_the_platform_is_named_in_a_form_and_the_space_typed_where_they_cannot_be_listed(
    make_app: Make, tmp_path: Path, fake: FakePlatform, credentials: None
) -> None:
    def no_list(asked: Asked) -> Answer | None:
        return (403, {"code": "NoPermission", "message": "no"}) if asked.op == "ListAgentSpaces" else None

    fake.intercept = no_list
    app = make_app()
    async with plans_of_the_platform(app, (110, 32), "the region is not known: press o") as pilot:
        await pilot.press("o")
        await see(pilot, "custom_sls_endpoint")
        await pilot.press(*"cn-hangzhou", "down", "down", *fake.url, "down", *fake.url, "ctrl+o")
        await see(pilot, "Name of the agent space")
        await pilot.press(*"demo-space", "enter")
        await see(pilot, "Runs 0")
    assert first_where(tmp_path / "history.db", {}) == Where(place_of(fake), "demo-space")


async def test_what_was_listed_before_is_shown_without_an_access_key(
    make_app: Make, tmp_path: Path, fake: FakePlatform
) -> None:
    where = Where(place_of(fake), "demo-space")
    keep_where(tmp_path / "history.db", where)
    environment = {"AGENTLOOP_AK": KEY, "AGENTLOOP_SK": SECRET}
    await asyncio.to_thread(ask, tmp_path / "history.db", "plans", where, environment)
    asked = len(fake.asked)
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("B")
        page = await see(pilot, "Plans 2")
        assert "there is no access key for AgentLoop" in page
        assert "as of just now" in page
        await pilot.press("2")
        await see(pilot, "Nothing can be asked yet")
    assert len(fake.asked) == asked


async def test_a_platform_that_is_down_leaves_the_old_lists_with_their_age(
    make_app: Make, fake: FakePlatform, space: Where, credentials: None
) -> None:
    app = make_app()
    async with plans_of_the_platform(app, (100, 30), "Runs 0") as pilot:

        def forbidden(asked: Asked) -> Answer:
            return 403, {"code": "NoPermission", "message": f"not for you {MARKUP[0]}"}

        fake.intercept = forbidden
        await pilot.press("ctrl+r")
        page = await see(pilot, "NoPermission")
        assert "Plans 2" in page
        screen = app.screen
        assert isinstance(screen, AgentLoopScreen)
        await pilot.press("a")
        await see(pilot, "Name of the agent space")
        await pilot.press("escape", "i")
        await see(pilot, "Not known")


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (200, 50)])
async def test_every_panel_is_reached_on_every_terminal(
    make_app: Make, fake: FakePlatform, space: Where, credentials: None, size: tuple[int, int]
) -> None:
    app = make_app()
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.press("B")
        await see(pilot, "Demo plan")
        for key, focused in zip("123451", ("plans", "datasets", "evaluators", "runs", "details", "plans"), strict=True):
            await pilot.press(key)
            assert app.focused is not None
            assert app.focused.id == focused
        for focused in ("datasets", "evaluators", "runs", "details", "plans"):
            await pilot.press("tab")
            assert app.focused is not None
            assert app.focused.id == focused
        await pilot.press("i")
        await see(pilot, "the platform judges with")
        await pilot.press("5", "escape")
        assert isinstance(app.screen, AgentLoopScreen)
        await pilot.press("escape")
        assert "AgentLoop" not in screen_text(app).splitlines()[0]


# -- the parts --


def test_the_environment_decides_where_the_platform_is(tmp_path: Path) -> None:
    history = tmp_path / "history.db"
    assert first_where(history, {}) == Where()
    keep_where(history, Where(Place(region_id="cn-hangzhou"), "mine"))
    assert first_where(history, {}) == Where(Place(region_id="cn-hangzhou"), "mine")
    elsewhere = {"TUI_EVAL_AGENTLOOP_REGION": "cn-beijing", "TUI_EVAL_AGENTLOOP_SPACE": "theirs"}
    assert first_where(history, elsewhere) == Where(Place(region_id="cn-beijing"), "theirs")


def test_a_composed_plan_can_be_loaded_and_names_of_the_platform_are_no_references(tmp_path: Path) -> None:
    where = Where(Place(region_id="cn-hangzhou", vpc=True), "space ${HOME}")
    solution = own_choice("solution", "command", "echo", {"argv": ["echo", "x"]})
    draft = draft_of(where, "plan ${X}", "A plan\n[/b]", "rows", solution, tmp_path)
    source = draft.source()
    assert isinstance(source, dict)
    loaded = load_plan(source, environment={}, folder=tmp_path)
    section = loaded.platforms["agentloop"].options
    assert section.agent_space == "space ${HOME}"
    assert section.experiment_plan_id == "plan ${X}"
    assert section.vpc


def test_records_with_trouble_come_first_and_the_rest_is_counted() -> None:
    good = [
        (PlatformRecord(1, n, "agentloop", record_id=f"rec-{n}", status="completed"), ReportCounts(9, 9, 0, 9))
        for n in range(4)
    ]
    bad = (PlatformRecord(1, 9, "agentloop", error=f"403 {MARKUP[0]}\nno"), ReportCounts(9, 5, 0, 2, 1))
    lines = ["".join(cell.text for cell in line) for line in record_lines([*good, bad], {9: "the bad one"}, 3)]
    assert len(lines) == 3
    assert lines[0].startswith("agentloop the bad one: no record yet, 2 of 9 reported, 1 doubtful; 403")
    assert lines[2].endswith("(and 2 more records)")
    assert "\n" not in "".join(lines)
    assert record_lines([], {}, 3) == []


def test_details_show_whatever_the_platform_says() -> None:
    data = {"evaluators": [{"name": "x", "variableMapping": "odd"}], "scores": {"c": {"count": 2, "mean": None}}}
    text = "".join(part for part, _ in detail_parts({**data, "columns": {MARKUP[0]: "text"}, "description": ""}, 3.0))
    assert "2 scores" in text
    assert MARKUP[0] in text
    assert "description" not in text
