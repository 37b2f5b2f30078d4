"""Launch: a plan is chosen or composed, checked, changed, saved and started, by keyboard, and nothing leaks on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text, see
from tests.tui.launching import begun, checked, ended, opened
from tui_eval.spec.loading import load_plan
from tui_eval.store.reader import History
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.screens.launch_review import ReviewScreen
from tui_eval.tui.widgets.line_table import LineTable

Make = Callable[..., TuiEvalApp]
SECRET = "hunter2-hunter2-hunter2"

PLAN = """\
# a plan with a reference
version: 1
name: greeting
task_concurrency: 2
requests:
  - name: say
    dataset: {path: data/words.jsonl}
    solution:
      type: command
      argv: [printenv, WORD]
      env: {WORD: "${LAUNCH_TEST_WORD}", ASKED: "{{ word }}"}
    evaluators:
      - {id: contains, expected: "-"}
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A plan, a dataset, a saved solution and a saved evaluator."""
    for folder in ("data", "solutions", "evaluators"):
        (tmp_path / folder).mkdir()
    (tmp_path / "data" / "words.jsonl").write_text('{"id": "a", "word": "one"}\n{"id": "b", "word": "two"}\n')
    (tmp_path / "solutions" / "echo.yaml").write_text('type: command\nargv: [echo, "{{ word }}"]\n')
    (tmp_path / "evaluators" / "same.yaml").write_text(
        "id: exact\nvariable_mapping: {expected_output: dataset.word}\nstrip: true\n"
    )
    (tmp_path / "greeting.yaml").write_text(PLAN)
    return tmp_path


# -- the whole way, by keyboard --


async def test_a_missing_variable_is_typed_masked_and_lives_in_the_runner_only(
    make_app: Make, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAUNCH_TEST_WORD", raising=False)
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("L")
        await see(pilot, "1 plan")
        await pilot.press("j", "enter")
        await checked(pilot)
        page = await see(pilot, "1 missing variable")
        assert "LAUNCH_TEST_WORD is not set" in page
        assert "2 tasks" in page, "what the plan would do is known without the value"
        await pilot.press("r")
        await see(pilot, "Type a value for LAUNCH_TEST_WORD first")
        await pilot.press("enter", *SECRET)
        assert "•••" in await see(pilot, "for this launch only")
        assert SECRET not in screen_text(app)
        await pilot.press("enter")
        await checked(pilot)
        await see(pilot, "ready to start")
        await pilot.press("r")
        page = await see(pilot, "Start greeting.yaml?")
        assert "makes 2 calls" in page
        assert "printenv" in page
        await pilot.press("y")
        run_id = await begun(workspace / "history.db")
        assert await ended(workspace / "history.db", run_id) == "completed"
        assert SECRET not in screen_text(app)
    with History(workspace / "history.db") as history:
        run = history.run(run_id)
        assert history.requests(run)[0].counters.total == 2
    for file in workspace.rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes(), file


async def test_a_plan_is_composed_saved_and_can_be_run_from_its_file(make_app: Make, workspace: Path) -> None:
    app = make_app()
    async with app.run_test(size=(110, 30), notifications=True) as pilot:
        await pilot.press("L", "b")
        await see(pilot, "words")
        await see(pilot, "same")
        await pilot.press("c")
        await see(pilot, "Mark at least one dataset")
        await pilot.press("enter", "space", "enter", "space")
        page = await see(pilot, "1 request, judged by 1 evaluator")
        assert "1 datasets: 1 marked" in page, "the only one there is is marked from the start"
        await pilot.press("c")
        await checked(pilot)
        page = await see(pilot, "ready to start")
        assert "words-echo" in page
        assert "not saved" in page
        await pilot.press("w", "enter")
        await see(pilot, "Saved as")
        await checked(pilot)
        await pilot.press("w", "enter")
        await see(pilot, "Replace this file?")
        await pilot.press("n")
    saved = workspace / "composed.yaml"
    loaded = load_plan(saved)
    assert [request.name for request in loaded.requests] == ["words-echo"]
    assert "use: solutions/echo.yaml" in saved.read_text()
    assert "tui-eval run composed.yaml" in saved.read_text()


async def test_settings_are_changed_in_a_form_and_shown_as_a_difference(
    make_app: Make, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAUNCH_TEST_WORD", "a-word")
    app = make_app()
    async with app.run_test(size=(110, 40), notifications=True) as pilot:
        await opened(pilot, workspace / "greeting.yaml")
        await pilot.press("a")
        await see(pilot, "cleanup_grace")
        await pilot.press("end", "ctrl+u", "7", "down", "3", "ctrl+o")
        screen = await checked(pilot)
        page = await see(pilot, "task_concurrency: 2 → 7")
        assert "requests.*.execution.n_repeat: default → 3" in page
        assert "6 tasks" in page
        assert screen.draft.overrides() == ("task_concurrency=7", "requests.*.execution.n_repeat=3")
        await pilot.press("g", "x")
        await checked(pilot)
        assert "task_concurrency:" not in screen_text(app)
        await pilot.press("i", *"requests.0.execution.max_retries=4", "enter")
        await checked(pilot)
        assert "at most 30 calls" in await see(pilot, "requests.say.execution.max_retries: default → 4")
        await pilot.press("i", *"nonsense", "enter")
        await see(pilot, "write path=value")
        await pilot.press("escape", "escape")
    assert (workspace / "greeting.yaml").read_text() == PLAN, "a launch never changes the file"


async def test_every_fault_is_listed_with_its_line_and_stops_the_start(make_app: Make, workspace: Path) -> None:
    plan = workspace / "broken.yaml"
    plan.write_text(PLAN.replace("name: greeting", "name: broken\nconcurency: 3").replace("words.jsonl", "none.jsonl"))
    app = make_app()
    async with app.run_test(size=(110, 30), notifications=True) as pilot:
        await opened(pilot, plan)
        page = await see(pilot, "cannot start")
        assert "broken.yaml:4" in page
        assert "concurency" in page
        assert "none.jsonl" in page
        await pilot.press("r")
        await see(pilot, "must be mended first")
        await pilot.press("e")
        await see(pilot, "cannot be read yet")
        plan.write_text(PLAN.replace("${LAUNCH_TEST_WORD}", "word"))
        await pilot.press("ctrl+r")
        await checked(pilot)
        await see(pilot, "ready to start")


async def test_tags_and_note_belong_to_the_run(make_app: Make, workspace: Path) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await opened(pilot, workspace / "greeting.yaml")
        await pilot.press("t", *"nightly, [/b]", "enter")
        await see(pilot, "tags: nightly, [/b]")
        await pilot.press("n", *"why", "enter")
        await see(pilot, "note: why")
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        job = screen.draft.job(workspace / "history.db", "id")
        assert (job.tags, job.note, job.plan) == (("nightly", "[/b]"), "why", str(workspace / "greeting.yaml"))


async def test_a_solution_of_this_launch_only_is_filled_in(make_app: Make, workspace: Path) -> None:
    app = make_app()
    async with app.run_test(size=(110, 40), notifications=True) as pilot:
        await pilot.press("L", "b")
        await see(pilot, "same")
        await pilot.press("2", "a")
        await see(pilot, "Which kind of solution?")
        await pilot.press("j", "j", "enter")
        await see(pilot, "Name of the solution")
        await pilot.press("end", "ctrl+u", *"mine", "enter")
        await see(pilot, "ctrl+o accepts")
        await pilot.press(*"true", "ctrl+o")
        page = await see(pilot, "added here")
        assert "mine" in page
        assert "1 request" in page
        await pilot.press("c")
        screen = await checked(pilot)
        plan = screen.draft.source()
        assert isinstance(plan, dict)
        assert plan["requests"][0]["solution"] == {"type": "command", "argv": ["true"]}


async def test_a_sample_chosen_on_the_datasets_screen_is_taken_over(make_app: Make, workspace: Path) -> None:
    app = make_app()
    app.chosen_samples[workspace / "data" / "words.jsonl"] = {"limit": 1, "seed": 7}
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await pilot.press("L", "b")
        await see(pilot, "limit 1, seed 7")


# -- hostile texts, empty places, small screens --


@pytest.mark.parametrize("size", [(60, 18), (120, 40)])
async def test_hostile_names_are_shown_as_they_are_everywhere(
    make_app: Make, tmp_path: Path, size: tuple[int, int]
) -> None:
    usable = [text for text in (*MARKUP, *COMMANDS) if "/" not in text and "\x00" not in text and "\ud800" not in text]
    for place, text in enumerate(usable):
        (tmp_path / f"{text}.jsonl").write_text('{"id": 1}\n')
        (tmp_path / f"s{place}{text}.yaml").write_text("type: command\nargv: [echo]\n")
    for place, text in enumerate(MARKUP):
        name = text.replace("\\", "\\\\").replace('"', '\\"')
        (tmp_path / f"p{place}.yaml").write_text(
            f'version: 1\nname: "{name}"\nrequests:\n  - name: "{name}"\n    dataset: {{cases: [{{id: "1"}}]}}\n'
            f'    solution: {{type: command, argv: ["/no/{name}"]}}\n    unknown: "{name}"\n'
        )
    app = make_app()
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.press("L")
        page = await see(pilot, f"{len(MARKUP)} plans")
        assert "[/]" in page
        await pilot.press("j", "enter")
        await checked(pilot)
        assert "cannot start" in screen_text(app)
        await pilot.press("enter", "escape", "escape", "b")
        await see(pilot, "Mark at least")
        for table in app.screen.query(LineTable):
            table.focus()
            await pilot.press("G", "space", "v")
        assert "\x1b" not in screen_text(app)
        assert "\u202e" not in screen_text(app)


async def test_an_empty_workspace_says_what_to_do(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("L")
        page = await see(pilot, "There is no plan below")
        assert "+ compose a plan" in page
        await pilot.press("enter")
        page = await see(pilot, "No dataset found.")
        assert "Press a to" in page
        await pilot.press("escape", "escape")
        await see(pilot, "There is no run")


async def test_leaving_in_the_middle_of_a_check_ends_its_process(make_app: Make, workspace: Path) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        app.open("launch", plan=workspace / "greeting.yaml")
        await see(pilot, "checking the plan")
        await pilot.press("escape")
        await see(pilot, "1 plan")


@pytest.mark.parametrize("kind", ["missing", "folder", "bytes"])
async def test_a_file_that_is_no_plan_is_a_fault_and_no_defect(make_app: Make, tmp_path: Path, kind: str) -> None:
    plan = tmp_path / "odd.yaml"
    if kind == "folder":
        plan.mkdir()
    elif kind == "bytes":
        plan.write_bytes(b"\x00\xff\xfe[/]" * 50)
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await opened(pilot, plan)
        assert "1 fault" in await see(pilot, "cannot start")


async def test_a_sample_chosen_for_a_dataset_is_offered_to_a_plan(
    make_app: Make, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAUNCH_TEST_WORD", "a-word")
    app = make_app()
    app.chosen_samples[workspace / "data" / "words.jsonl"] = {"limit": 1}
    async with app.run_test(size=(110, 30), notifications=True) as pilot:
        await opened(pilot, workspace / "greeting.yaml")
        await see(pilot, "enter takes the sample chosen for data/words.jsonl")
        await pilot.press("G", "enter")
        await checked(pilot)
        page = await see(pilot, "requests.say.dataset.sample: default →")
        assert "1 task," in page
        assert "1/2" in page


async def test_keys_that_outrun_the_screens_end_nothing(make_app: Make, workspace: Path) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        for pressed in ("b", "escape", "b", "a", "escape", "escape"):
            app.open("launch")
            await pilot.press(pressed, "escape")
        app.open("launch", plan=workspace / "greeting.yaml")
        await opened(pilot, workspace / "greeting.yaml")
        for _ in range(3):
            await pilot.press("a")
            await see(pilot, "ctrl+o accepts")
            await pilot.press("9", "ctrl+o")
            await see(pilot, "what to know")
            await pilot.press("ctrl+r")
        await checked(pilot)
