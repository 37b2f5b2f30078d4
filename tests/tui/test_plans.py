"""The plans of a workspace: found, checked beside the keys, looked at, edited; nothing is run by looking."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.histories import run_record, write_run
from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text, until
from tui_eval.tui import editing, plan_reading, sample_plans
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.background import Stopped, away
from tui_eval.tui.last_runs import LastRuns
from tui_eval.tui.plan_reading import PlanShelf, check_file, read_source
from tui_eval.tui.projections import plans as rows
from tui_eval.tui.screens.full_text import FullTextScreen
from tui_eval.tui.screens.launch_review import ReviewScreen
from tui_eval.tui.screens.plans import PlansScreen
from tui_eval.tui.widgets.source_view import SourceView

MakeApp = Callable[..., TuiEvalApp]
GOOD = """\
version: 1
name: good
requests:
  - name: first
    dataset: {cases: [{id: a, question: hello}]}
    solution: {type: http, url: "http://127.0.0.1:9/invoke", body: {input: "{{ question }}"}}
    evaluators: [{id: contains, variable_mapping: {expected_output: dataset.question}}]
    execution: {n_repeat: 3, max_retries: 1}
  - name: second
    dataset: {path: data/cases.jsonl, sample: {limit: 20, seed: 7}}
    solution: {type: command, argv: [cat, "{{ question }}"]}
    evaluators: [{id: exact, variable_mapping: {expected_output: dataset.question}}]
"""
BROKEN = """\
version: 1
name: broken
task_concurency: 4
requests:
  - name: a
    dataset: {path: data/cases.jsonl}
    solution: {type: htp, url: "http://127.0.0.1:9"}
"""
ORCHESTRATION = """\
version: 1
name: compass
requests:
  - benchmark: {id: gsm8k}
    harness: {id: react}
    model: {id: gpt, api_key: sk-abcdefgh12345678}
"""
EVALSET = '{"name": "evals", "cases": [{"input": "x"}], "evalset_evaluators": []}'


def toasts(app: TuiEvalApp) -> str:
    return "\n".join(toast.message for toast in app._notifications)


@asynccontextmanager
async def opened(app: TuiEvalApp, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Pilot[Any]]:
    """The application on its plans, all of them checked."""
    async with app.run_test(size=size) as pilot:
        await pilot.press("P")
        await until(pilot, lambda: isinstance(app.screen, PlansScreen) and app.screen._looked)
        yield pilot


def screen_of(app: TuiEvalApp) -> PlansScreen:
    assert isinstance(app.screen, PlansScreen)
    return app.screen


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "broken.yaml").write_text(BROKEN)
    (tmp_path / "compass.yaml").write_text(ORCHESTRATION)
    (tmp_path / "x.evalset.json").write_text(EVALSET)
    return tmp_path


# -- reading --


def test_every_fault_of_a_plan_is_told_with_its_place(workspace: Path) -> None:
    checked = check_file(workspace / "broken.yaml", {})
    places = [(fault.line, fault.column) for fault in checked.faults]
    assert places == [(3, 1), (7, 16)]
    assert [request.name for request in checked.requests] == ["a"]


def test_a_plan_without_its_variables_can_still_be_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(GOOD.replace("http://127.0.0.1:9/invoke", "${AGENT_URL}/invoke"))
    checked = check_file(path, {})
    assert "AGENT_URL" in checked.faults[0].message
    assert [request.name for request in checked.requests] == ["first", "second"]
    assert [request.line for request in checked.requests] == [4, 9]
    assert check_file(path, {"AGENT_URL": "http://127.0.0.1:9"}).valid


def test_what_the_neighbours_wrote_is_found_and_shown_as_far_as_it_is_understood(workspace: Path) -> None:
    checked = check_file(workspace / "compass.yaml", {})
    assert any("AgentCompass 1.0.1 has no benchmark `gsm8k`" in fault.message for fault in checked.faults)
    (request,) = checked.requests
    assert rows.solution_text(request.data) == "react × gpt"
    assert rows.dataset_text(request.data) == "gsm8k"
    assert "sk-abcdefgh12345678" not in rows.request_text(request)


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"requests: 5", b"requests: [1, null, {name: [x]}]", b"[1]"])
def test_no_file_is_too_broken_to_be_listed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "plan.yaml"
    path.write_bytes(content)
    checked = check_file(path, {})
    assert checked.faults
    for request in checked.requests:
        assert rows.request_row(request)
    read_source(path)


def test_a_file_that_is_gone_is_a_fault(tmp_path: Path) -> None:
    checked = check_file(tmp_path / "gone.yaml", {})
    assert "No such file" in checked.faults[0].message
    assert checked.stamp is None


def test_a_plan_is_read_again_only_when_its_file_has_changed(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def counted(path: Path, environment: object) -> plan_reading.CheckedPlan:
        read.append(path)
        return check_file(path, {})

    monkeypatch.setattr(plan_reading, "check_file", counted)
    shelf, path = PlanShelf(), workspace / "good.yaml"
    shelf.check(path)
    shelf.check(path)
    assert len(read) == 1
    path.write_text(GOOD + "# more\n")
    assert shelf.check(path).valid
    assert len(read) == 2
    shelf.check(path, again=True)
    assert len(read) == 3


def test_requests_are_told_in_a_line(workspace: Path) -> None:
    first, second = check_file(workspace / "good.yaml", {}).requests
    assert rows.solution_text(first.data) == "http POST http://127.0.0.1:9/invoke"
    assert rows.dataset_text(first.data) == "1 case in the plan"
    assert rows.execution_text(first.data["execution"]).startswith("3× each, 1 retry, ")
    assert rows.solution_text(second.data) == "command cat {{ question }}"
    assert rows.dataset_text(second.data) == "data/cases.jsonl, 20 at random (seed 7)"
    assert rows.evaluators_text(second.data) == "exact"


def test_line_ends_of_other_systems_do_not_move_the_lines_of_faults(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_bytes(BROKEN.replace("\n", "\r\n").encode())
    assert read_source(path) == BROKEN
    assert check_file(path, {}).faults[0].line == 3


async def test_the_newest_run_of_each_plan_is_found_however_many_came_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from tui_eval.store.reader import History
    from tui_eval.tui import last_runs

    monkeypatch.setattr(last_runs, "PAGE", 2)
    plans = ["old.yaml", "a.yaml", "a.yaml", "b.yaml", "a.yaml"]
    made = []
    for place, name in enumerate(plans):
        run = replace(run_record(name, 1000.0 + place), plan_path=str(tmp_path / name), folder=str(tmp_path))
        made.append((await write_run(tmp_path / "h.db", run, requests=("x",))).run_id)
    with History(tmp_path / "h.db") as history:
        found = LastRuns()(history)
    newest = {Path(path).name: overview.run.run_id for path, overview in found.items()}
    assert newest == {"old.yaml": made[0], "b.yaml": made[3], "a.yaml": made[4]}


# -- work beside the screen --


async def test_work_beside_the_screen_gives_its_result_or_its_error() -> None:
    assert await away(lambda: 5) == 5
    with pytest.raises(Stopped):
        await away(_stop)


def _stop() -> None:
    raise Stopped


# -- samples --


@pytest.mark.parametrize("name", [name for name, _ in sample_plans.samples()])
def test_a_plan_made_from_any_sample_is_valid_where_it_was_copied(tmp_path: Path, name: str) -> None:
    sample_plans.copy(name, tmp_path / "new" / "mine.yaml")
    text = "\n".join(path.read_text() for path in (tmp_path / "new").rglob("*.yaml"))
    environment = dict.fromkeys(re.findall(r"\$\{(\w+)\}", text), "http://127.0.0.1:9")
    checked = check_file(tmp_path / "new" / "mine.yaml", environment)
    assert checked.valid, checked.faults
    for request in checked.requests:
        if path := request.data["dataset"].get("path"):
            assert (tmp_path / "new" / path).is_file()


def test_a_new_plan_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("mine")
    with pytest.raises(Exception, match="is there already"):
        sample_plans.copy("quickstart.yaml", tmp_path / "mine.yaml")
    assert (tmp_path / "mine.yaml").read_text() == "mine"
    assert sample_plans.name_fault("mine.yaml", tmp_path)
    assert sample_plans.name_fault("", tmp_path)
    assert sample_plans.name_fault("plan.txt", tmp_path)
    assert sample_plans.name_fault("a\x1b.yaml", tmp_path)
    assert not sample_plans.name_fault("new.yaml", tmp_path)


# -- the editor --


def test_the_editor_is_the_users_own() -> None:
    assert editing.editor({"VISUAL": "code --wait", "EDITOR": "vi"}) == ["code", "--wait"]
    assert editing.editor({"VISUAL": "", "EDITOR": "'/my tools/ed' -x"}) == ["/my tools/ed", "-x"]
    assert editing.editor({"PATH": "/nowhere"}) == []
    with pytest.raises(ValueError, match="quot"):
        editing.editor({"EDITOR": "vi '"})


def test_editors_that_can_are_opened_at_the_line() -> None:
    path = Path("/x/plan.yaml")
    assert editing.command_line(["vim"], path, 7) == ["vim", "+7", "/x/plan.yaml"]
    assert editing.command_line(["/usr/bin/code", "-w"], path, 7)[-2:] == ["--goto", "/x/plan.yaml:7"]
    assert editing.command_line(["hx"], path, 7) == ["hx", "/x/plan.yaml:7"]
    assert editing.command_line(["cat"], path, 7) == ["cat", "/x/plan.yaml"]
    assert editing.command_line(["vim"], path, 0) == ["vim", "/x/plan.yaml"]


# -- the screen --


async def test_all_plans_are_listed_with_their_faults_and_nothing_was_run(workspace: Path, make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app):
        shown = screen_text(app)
        assert "4 plans, 3 with faults" in shown
        for text in ("✓ valid", "✗ 2 faults", "orchestration", "evalset", "never run"):
            assert text in shown
    assert not (workspace / "history.db").exists()


ASKING = """\
version: 1
name: asking
requests:
  - name: a
    dataset: {path: data/cases.jsonl}
    solution: {type: http, url: "${AGENT_URL}", headers: {authorization: "Bearer ${AGENT_KEY}", x-again: "${AGENT_KEY}"}}
"""


def test_a_variable_that_is_missing_is_asked_for_and_no_fault_of_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "asking.yaml"
    path.write_text(ASKING)
    checked = check_file(path, {"AGENT_URL": "http://127.0.0.1:9"})
    assert rows.validity(checked).text == "? 1 variable"
    assert rows.faults_title(checked) == "Variables 1"
    checked = check_file(path, {"AGENT_KEY": " "})
    assert rows.validity(checked).text == "? 2 variables"
    assert "L asks for it" in rows.fault_text(checked.faults[0])
    path.write_text(ASKING.replace("headers:", "haeders:"))
    checked = check_file(path, {})
    assert rows.validity(checked).text == "✗ 1 fault"
    assert rows.faults_title(checked).startswith("Faults")


async def test_a_plan_that_asks_for_a_variable_shows_its_requests_first(workspace: Path, make_app: MakeApp) -> None:
    (workspace / "asking.yaml").write_text(ASKING)
    app = make_app()
    async with opened(app, (80, 24)) as pilot:
        assert "5 plans, 3 with faults" in screen_text(app)
        await pilot.press("slash", *"asking", "enter")
        await until(pilot, lambda: "Requests 1 · asking.yaml" in screen_text(app))
        await pilot.press("3")
        await until(pilot, lambda: "? 6:" in screen_text(app))


async def test_a_fault_is_gone_to_in_the_file_by_keys_alone(workspace: Path, make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app, (80, 24)) as pilot:
        await pilot.press("enter", "j", "enter")  # broken.yaml comes first; its second fault
        view = app.screen.query_one(SourceView)
        await until(pilot, lambda: view.line_here == 7)
        assert app.focused is view
        assert "✗7" in screen_text(app)
        assert "htp" in screen_text(app)
        await pilot.press("escape")
        assert app.focused is screen_of(app).files
        await pilot.press("escape")
        assert not isinstance(app.screen, PlansScreen)


async def test_enter_on_a_plan_shows_its_requests_and_enter_on_one_all_of_it(
    workspace: Path, make_app: MakeApp
) -> None:
    app = make_app()
    async with opened(app) as pilot:
        await pilot.press("slash", *"good", "enter", "enter")
        await pilot.pause()
        assert app.focused is screen_of(app).table("requests")
        assert "http POST http://" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FullTextScreen))
        assert "n_repeat: 3" in screen_text(app)


async def test_a_change_made_elsewhere_is_seen_and_r_validates_at_once(workspace: Path, make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app) as pilot:
        (workspace / "broken.yaml").write_text(BROKEN.replace("task_concurency", "task_concurrency"))
        await pilot.press("r")
        await until(pilot, lambda: "✗ 1 fault " in screen_text(app))
        (workspace / "broken.yaml").write_text(GOOD)
        screen_of(app)._look_at_current()
        await until(pilot, lambda: "2 with faults" in screen_text(app))


async def test_the_editor_gets_the_terminal_and_the_plan_is_validated_on_return(
    workspace: Path, make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = workspace / "mend.py"
    script.write_text(
        "import pathlib, sys\npath = pathlib.Path(sys.argv[-1])\n"
        "path.write_text(path.read_text().replace('concurency', 'concurrency').replace('htp', 'http'))\n"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    app = make_app()

    @contextmanager
    def suspended() -> Any:
        yield

    monkeypatch.setattr(app, "suspend", suspended)
    async with opened(app) as pilot:
        await pilot.press("e")
        await until(pilot, lambda: "2 with faults" in screen_text(app))


async def test_an_editor_that_cannot_start_is_told(
    workspace: Path, make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "/nowhere/at-all")
    app = make_app()

    @contextmanager
    def suspended() -> Any:
        yield

    monkeypatch.setattr(app, "suspend", suspended)
    async with opened(app) as pilot:
        await pilot.press("e")
        await until(pilot, lambda: "cannot be started" in toasts(app))


async def test_the_whole_check_reads_the_datasets_too(workspace: Path, make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app) as pilot:
        await pilot.press("slash", *"good", "enter")
        await pilot.press("c")
        await until(pilot, lambda: "cases.jsonl: no such file" in screen_text(app))


async def test_a_new_plan_is_made_from_a_sample(workspace: Path, make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: "made from which sample" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "Its name" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: (workspace / "quickstart.yaml").exists())
        await until(pilot, lambda: "5 plans" in screen_text(app))
        await until(pilot, lambda: screen_of(app).path == workspace / "quickstart.yaml")


async def test_launching_opens_the_page_of_this_plan_and_esc_comes_back(workspace: Path, make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app) as pilot:
        await pilot.press("L")
        await pilot.pause()
        assert isinstance(app.screen, ReviewScreen)
        assert app.screen.draft.path == workspace / "broken.yaml"
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, PlansScreen)


async def test_the_last_run_of_a_plan_stands_beside_it(workspace: Path, make_app: MakeApp) -> None:
    from dataclasses import replace

    run = replace(run_record("good"), plan_path=str(workspace / "good.yaml"), folder=str(workspace))
    await write_run(workspace / "history.db", run)
    app = make_app()
    async with opened(app) as pilot:
        await until(pilot, lambda: "✓6" in screen_text(app))


async def test_an_empty_workspace_says_what_to_do(make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app):
        assert "No plans in" in screen_text(app)
        assert "Press n" in screen_text(app)


@pytest.mark.parametrize("size", [(60, 18), (80, 24)])
async def test_every_panel_is_reached_at_any_size(workspace: Path, make_app: MakeApp, size: tuple[int, int]) -> None:
    app = make_app()
    async with opened(app, size) as pilot:
        for number, name in enumerate(PlansScreen.NAMES, 1):
            await pilot.press(str(number))
            await pilot.pause()
            assert app.focused is app.screen.query_one(f"#{name}"), name
            assert app.focused.region.height > 2
        await pilot.press("tab")
        await pilot.pause()
        assert app.focused is screen_of(app).files


async def test_whatever_stands_in_plans_is_shown_as_it_is(tmp_path: Path, make_app: MakeApp) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in (*MARKUP, *COMMANDS)]
    requests = [{"name": text, "solution": {"type": text}, "dataset": {"path": text}} for text in texts]
    for name in ("[b]", "[[/x]", "a\u202eb"):
        plan = {"version": 1, "name": name, **dict.fromkeys(texts, 1), "requests": requests}
        (tmp_path / f"{name.replace('/', '')}.json").write_text(json.dumps(plan))
    app = make_app()
    async with opened(app) as pilot:
        for keys in (["3"], ["enter"], ["1", "j", "4"], ["1", "j", "2"], ["j", "enter"]):
            await pilot.press(*keys)
            await pilot.pause()
            assert "\x1b" not in screen_text(app)
            assert "\u202e" not in screen_text(app)


async def test_keys_answer_while_a_large_plan_is_checked(tmp_path: Path, make_app: MakeApp) -> None:
    request = '  - {name: "r%d", solution: {type: http, url: "http://x"}, dataset: {path: a.jsonl}}\n'
    (tmp_path / "big.yaml").write_text(
        "version: 1\nname: big\nrequests:\n" + "".join(request % place for place in range(6000))
    )
    (tmp_path / "good.yaml").write_text(GOOD)
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("P")
        await until(pilot, lambda: "good.yaml" in screen_text(app))
        assert "checking" in screen_text(app)
        table = screen_of(app).files
        started = time.monotonic()
        app.simulate_key("j")
        await until(pilot, lambda: table.cursor == 1)
        assert time.monotonic() - started < 1.0
        assert "checking" in screen_text(app)
