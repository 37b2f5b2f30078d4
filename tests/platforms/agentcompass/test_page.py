"""The page of an orchestration by keyboard: composed, changed, saved, and what it says before the start."""

from __future__ import annotations

import pytest
import yaml

from tests.platforms.agentcompass.conftest import Compass
from tests.platforms.agentcompass.files import RECORDED
from tests.platforms.agentcompass.steps import PATIENCE, form, launch_page, page, save, start, typed
from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text, see, until
from tui_eval.platforms.agentcompass.loading import load_orchestration
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.screens.agentcompass import CompassScreen
from tui_eval.tui.widgets.form import Form


async def test_an_orchestration_is_composed_by_keyboard_and_saved_as_agentcompass_takes_it(
    app: TuiEvalApp, compass: Compass
) -> None:
    async with app.run_test(size=(100, 34), notifications=True) as pilot:
        await pilot.press("L")
        await see(pilot, "There is no plan below", PATIENCE)
        await pilot.press("c")
        await page(pilot)
        shown = await see(pilot, "cannot start", PATIENCE)
        assert "has no benchmark" in shown, "what is missing is told at once"
        await pilot.press("j", "enter")  # the defaults
        await pilot.press("j", "enter")  # their harness
        await form(pilot)
        await pilot.press("enter")
        await see(pilot, "openai_chat")
        await pilot.press("j", "j", "j", "j", "j", "enter")
        await see(pilot, "inject_network_restriction_no", PATIENCE)  # a parameter of that harness
        assert "openai_chat" in screen_text(app)
        await pilot.press("ctrl+o")
        await page(pilot)
        await pilot.press("j", "j", "enter")  # their model
        await form(pilot)
        await typed(pilot, "mock")
        await pilot.press("down")
        await typed(pilot, "http://127.0.0.1:9/v1")
        await pilot.press("ctrl+o")
        await page(pilot)
        await pilot.press("escape", "j", "enter", "g", "j", "enter")  # the benchmark of the first request
        await form(pilot)
        await pilot.press("enter")
        await pilot.press("G", "k", "k", "k", "k", "k", "k", "k", "k", "k", "k", "k", "k", "enter")
        await see(pilot, "dataset_dir", PATIENCE)
        await pilot.press("ctrl+o")
        await page(pilot)
        await see(pilot, "ready to start", PATIENCE)
        await save(pilot)
        await see(pilot, "Saved as", PATIENCE)
    path = compass.folder / "orchestration.yaml"
    data = yaml.safe_load(path.read_text())
    assert data["defaults"]["harness"] == {"id": "openai_chat"}
    assert data["defaults"]["model"] == {"id": "mock", "base_url": "http://127.0.0.1:9/v1"}
    (request,) = load_orchestration(path, environment={}, folder=compass.folder).requests
    assert (request.name, request.benchmark, request.harness, request.environment, request.model) == (
        "first",
        "special_pattern_check",
        "openai_chat",
        "host_process",
        "mock",
    )


async def test_every_setting_of_an_opened_file_stays_as_it_is_when_one_is_changed(
    app: TuiEvalApp, compass: Compass
) -> None:
    path = compass.write_plan((RECORDED / "plans" / "two_requests.yaml").read_text(), "orchestration.yaml")
    before = yaml.safe_load(path.read_text())
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await launch_page(pilot)
        await pilot.press("j", "enter", "j", "j", "j", "j", "enter")  # the execution of all
        await form(pilot)
        await typed(pilot, "2")
        await pilot.press("ctrl+o")
        await page(pilot)
        shown = await see(pilot, "max_retries=2", PATIENCE)
        assert "orchestration.yaml *" in shown
        await save(pilot)
        await see(pilot, "Replace this file?")
        await pilot.press("y")
        await see(pilot, "Saved as", PATIENCE)
    before["defaults"]["execution"] = {"max_retries": 2}
    assert yaml.safe_load(path.read_text()) == before


async def test_a_value_that_agentcompass_refuses_is_told_at_its_field(app: TuiEvalApp, compass: Compass) -> None:
    compass.orchestration(good="ok")
    async with app.run_test(size=(100, 34)) as pilot:
        await launch_page(pilot)
        await pilot.press("enter", "j", "enter")  # the runtime of the whole
        fields = await form(pilot)
        await pilot.press("down", "down")
        await typed(pilot, "soon")
        await see(pilot, "timeout_seconds must be a number of seconds", PATIENCE)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: fields.faults, PATIENCE)
        assert pilot.app.screen.query(Form), "the form stays as long as there is a fault"
        await pilot.press("escape")
        await page(pilot)
        await see(pilot, "ready to start", PATIENCE)


async def test_a_fault_of_the_file_is_told_with_its_line_and_leads_to_its_form(
    app: TuiEvalApp, compass: Compass
) -> None:
    path = compass.orchestration(good="ok", mixed="ok")
    text = path.read_text().replace("version: ok", "verison: ok", 1)
    path.write_text(text)
    line = text.splitlines().index("    verison: ok") + 1
    async with app.run_test(size=(120, 40)) as pilot:
        await launch_page(pilot)
        shown = await see(pilot, "cannot start: 1 fault", PATIENCE)
        assert f"orchestration.yaml:{line}" in shown
        assert "has no parameter `verison`" in shown
        await pilot.press("3", "enter")
        fields = await form(pilot)
        await until(pilot, lambda: "" in fields.faults, PATIENCE)
        await see(pilot, "benchmark of good", PATIENCE)


async def test_requests_are_added_renamed_moved_and_removed(app: TuiEvalApp, compass: Compass) -> None:
    compass.orchestration(good="ok", mixed="ok fatal")
    async with app.run_test(size=(100, 34)) as pilot:
        screen = await launch_page(pilot)

        def names() -> list[str]:
            return [request["name"] for request in screen.draft.data["requests"]]

        await pilot.press("G", "a")
        await see(pilot, "Name of a new request, like mixed")
        await typed(pilot, "good")
        await pilot.press("enter")
        await see(pilot, "another request is called that")
        await typed(pilot, "2")
        await pilot.press("enter")
        await until(pilot, lambda: names() == ["good", "mixed", "good2"], PATIENCE)
        assert screen.draft.data["requests"][2]["benchmark"] == screen.draft.data["requests"][1]["benchmark"]
        await pilot.press("K")
        await until(pilot, lambda: names() == ["good", "good2", "mixed"], PATIENCE)
        assert screen.owner == 1, "the cursor stays on the request"
        await pilot.press("enter", "g", "enter")
        await see(pilot, "Name of the request")
        await typed(pilot, "x")
        await pilot.press("enter")
        await until(pilot, lambda: names() == ["good", "x", "mixed"], PATIENCE)
        await pilot.press("escape", "x")
        await see(pilot, "Remove the request x?")
        await pilot.press("y")
        await until(pilot, lambda: names() == ["good", "mixed"], PATIENCE)
        await pilot.press("escape")  # nothing differs from the file any more
        await see(pilot, "1 plan", PATIENCE)


async def test_what_was_changed_is_not_thrown_away_without_a_question(app: TuiEvalApp, compass: Compass) -> None:
    compass.orchestration(good="ok")
    async with app.run_test(size=(80, 24)) as pilot:
        await launch_page(pilot)
        await pilot.press("a")
        await see(pilot, "Name of a new request")
        await typed(pilot, "more")
        await pilot.press("enter")
        await see(pilot, "not saved", PATIENCE)
        await pilot.press("escape")
        await see(pilot, "Leave the orchestration?")
        await pilot.press("n")
        await page(pilot)
        await pilot.press("escape")
        await see(pilot, "Leave the orchestration?")
        await pilot.press("y")
        await see(pilot, "1 plan", PATIENCE)


async def test_a_typed_key_is_saved_as_a_reference(app: TuiEvalApp, compass: Compass) -> None:
    path = compass.orchestration(good="ok")
    async with app.run_test(size=(100, 34), notifications=True) as pilot:
        await launch_page(pilot)
        assert "typed-secret-key" not in screen_text(app)
        await pilot.press("j", "enter", "j", "j", "j")
        assert "typed-secret-key" not in screen_text(app)
        await save(pilot)
        await see(pilot, "A credential is typed at defaults.model.api_key")
        await pilot.press("enter")
        await see(pilot, "Replace this file?")
        await pilot.press("y")
        await see(pilot, "API_KEY is not set", PATIENCE)
    assert yaml.safe_load(path.read_text())["defaults"]["model"]["api_key"] == "${API_KEY}"


async def test_texts_from_the_file_are_shown_and_command_nothing(app: TuiEvalApp, compass: Compass) -> None:
    names = [MARKUP[0], COMMANDS[0]]
    data = yaml.safe_load(compass.orchestration(good="ok").read_text())
    data["requests"] = [{"name": name, "benchmark": {"id": name, name: name}} for name in names]
    (compass.folder / "orchestration.yaml").write_text(yaml.safe_dump(data))
    async with app.run_test(size=(120, 40)) as pilot:
        await launch_page(pilot)
        shown = await see(pilot, "cannot start", PATIENCE)
        assert MARKUP[0][:10] in shown
        await pilot.press("G", "enter", "j", "enter")
        await form(pilot)
        assert "\x1b" not in screen_text(app)


# -- before the start --


async def test_agentcompass_itself_says_what_it_makes_of_it_without_holding_the_keys(
    app: TuiEvalApp, compass: Compass
) -> None:
    compass.orchestration(good="ok fatal")
    async with app.run_test(size=(100, 34)) as pilot:
        await launch_page(pilot)
        await pilot.press("d")
        shown = await see(pilot, "resolved by: the stand-in", PATIENCE)
        assert "version: ok fatal" in shown
        await pilot.press("escape", "d", "escape")  # asked again, and not waited for
        await page(pilot)
        await see(pilot, "ready to start", PATIENCE)


async def test_without_agentcompass_the_page_says_how_to_install_it(
    app: TuiEvalApp, compass: Compass, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUI_EVAL_AGENTCOMPASS_PYTHON", str(compass.folder / "nowhere"))
    compass.orchestration(good="ok")
    async with app.run_test(size=(200, 34), notifications=True) as pilot:
        await launch_page(pilot)
        await see(pilot, "AgentCompass is not installed", PATIENCE)
        await pilot.press("r")
        await pilot.pause()
        assert isinstance(app.screen, CompassScreen), "nothing is asked, nothing is started"
        await pilot.press("3", "enter")
        await see(pilot, "nowhere (from TUI_EVAL_AGENTCOMPASS_PYTHON)", PATIENCE)


async def test_another_version_is_asked_for_its_components_and_its_runner_checks_against_them(
    app: TuiEvalApp, compass: Compass, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_VERSION", "9.9.9")
    path = compass.orchestration(good="ok")
    path.write_text(path.read_text().replace("special_pattern_check", "brand_new"))
    async with app.run_test(size=(120, 40)) as pilot:
        await launch_page(pilot)
        await see(pilot, "ready to start", PATIENCE)  # not before it has answered
        await pilot.press("j", "j", "enter", "g", "j", "enter")
        await form(pilot)
        assert "colour" in screen_text(app)
        await pilot.press("escape")
        await page(pilot)
        await start(pilot)
        await see(pilot, "✓ completed", PATIENCE)
    assert compass.run("rerun", "last", "--all", environment={"STAND_IN_VERSION": "9.9.9"}).returncode == 0


async def test_a_missing_key_is_typed_unseen_for_this_launch_only(app: TuiEvalApp, compass: Compass) -> None:
    path = compass.orchestration(good="ok")
    path.write_text(path.read_text().replace("typed-secret-key", "${MOCK_API_KEY}"))
    async with app.run_test(size=(100, 34), notifications=True) as pilot:
        await launch_page(pilot)
        await see(pilot, "1 missing variable", PATIENCE)
        await pilot.press("r")
        await see(pilot, "Type a value for MOCK_API_KEY first")
        await pilot.press("3", "enter")
        await see(pilot, "Value of MOCK_API_KEY")
        await typed(pilot, "key-typed-here")
        assert "key-typed-here" not in screen_text(app)
        await pilot.press("enter")
        await see(pilot, "ready to start", PATIENCE)
        await pilot.press("r")
        await see(pilot, "AgentCompass works through 1 request")
        await pilot.press("y")
        await see(pilot, "✓ completed", PATIENCE)
    (answer,) = compass.folder.glob("results/good/*/details/normal/*/attempt-1/result.json")
    assert "key-typed-here" in answer.read_text(), "AgentCompass had it"
    for file in (compass.folder / "history").rglob("*"):
        assert file.is_dir() or b"key-typed-here" not in file.read_bytes(), file


async def test_reuse_is_said_in_plain_words_before_the_start(app: TuiEvalApp, compass: Compass) -> None:
    path = compass.orchestration(good="ok fatal")
    assert compass.run("run", str(path), "--run-id", "one").returncode == 1
    async with app.run_test(size=(120, 40)) as pilot:
        await launch_page(pilot)
        await pilot.press("j", "j", "enter", "g", *["j"] * 6, "enter")  # reuse, of the first request
        await form(pilot)
        await pilot.press("space", "ctrl+o")
        await page(pilot)
        shown = await see(pilot, "takes over 2 finished tasks", PATIENCE)
        assert "max_retries 0" in shown
        await pilot.press("r")
        await see(pilot, "1 fatal")
