"""Which evaluators the platform judges with: chosen, filled in, checked, and changed there after a question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.platforms.agentloop.fake import EVALUATOR, Answer, Asked, FakePlatform
from tests.platforms.agentloop.plans import plan_text
from tests.support.hostile import MARKUP
from tests.support.screen_text import screen_text, see
from tests.tui.agentloop.steps import PATIENCE, Make, choose_evaluator, page_of, plans_of_the_platform
from tests.tui.launching import checked
from tui_eval.spec.loading import load_plan
from tui_eval.tui.agentloop_judging import evaluator_faults, evaluator_section
from tui_eval.tui.agentloop_reading import Where
from tui_eval.tui.projections.agentloop import change_lines
from tui_eval.tui.screens.launch_review import ReviewScreen

pytestmark = pytest.mark.usefixtures("credentials")
WHOLE = {"input": "experiment_input", "output": "experiment_output", "expected_output": "dataset.expected_output"}


async def test_a_plan_of_the_platform_is_given_an_evaluator_after_a_question_that_says_what_changes(
    make_app: Make, fake: FakePlatform, space: Where
) -> None:
    fake.evaluators = [{"name": "house_style", "type": "LLM_AS_JUDGE"}]
    app = make_app()
    async with plans_of_the_platform(app) as pilot:
        page = await choose_evaluator(pilot)
        assert "output: experiment_output" in page
        await pilot.press("ctrl+o")
        page = await see(pilot, "Change the plan plan-demo on the platform?", PATIENCE)
        assert "judged now with house_style: stays as it is" in page
        assert "+ Builtin.agent_correctness gives correctness" in page
        assert fake.ops("UpdateExperimentPlan") == []
        await pilot.press("n")
        await see(pilot, "ask again", PATIENCE)
        assert fake.ops("UpdateExperimentPlan") == []
        await choose_evaluator(pilot)
        await pilot.press("ctrl+o")
        await see(pilot, "Change the plan plan-demo on the platform?", PATIENCE)
        await pilot.press("y")
        await see(pilot, "the platform judges with", PATIENCE)
        assert [one.get("evaluatorRef") or one["name"] for one in fake.evaluators] == [
            "house_style",
            "Builtin.agent_correctness",
        ]
        assert fake.evaluators[1]["variableMapping"] == WHOLE


async def test_only_offline_plans_are_given_evaluators(make_app: Make, fake: FakePlatform, space: Where) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("B")
        await see(pilot, "Runs 0", PATIENCE)
        assert "p evaluator" in screen_text(app)
        await pilot.press("j", "p")
        await see(pilot, "Only offline plans", PATIENCE)
        await pilot.press("2")
        await see(pilot, "ask again", PATIENCE)
        assert "p evaluator" not in screen_text(app)
    assert fake.ops("GetEvaluator") == []


async def test_a_mapping_that_does_not_fit_is_told_in_the_form(
    make_app: Make, fake: FakePlatform, space: Where
) -> None:
    fake.evaluators = []
    app = make_app()
    async with plans_of_the_platform(app) as pilot:
        await choose_evaluator(pilot)
        await pilot.press(*["down"] * 5, *"x", "ctrl+o")
        await see(pilot, "the variable `input` of Builtin.agent_correctness is not mapped", PATIENCE)
    assert fake.ops("UpdateExperimentPlan") == []


async def test_a_plan_that_someone_else_changed_meanwhile_is_left_alone(
    make_app: Make, tmp_path: Path, fake: FakePlatform
) -> None:
    fake.evaluators = []
    file = tmp_path / "plan.yaml"
    section = f"evaluators:\n  - {{evaluator_ref: Builtin.agent_correctness, variable_mapping: {_flow(WHOLE)}}}"
    file.write_text(plan_text(fake, section=section))
    app = make_app()
    async with page_of(app, file) as pilot:
        await pilot.press("p")
        await see(pilot, "judged now with no evaluator", PATIENCE)
        fake.evaluators = [{"name": "theirs"}]
        await pilot.press("y")
        await see(pilot, "meanwhile: look at them again", PATIENCE)
    assert fake.evaluators == [{"name": "theirs"}]


async def test_the_section_of_a_plan_is_a_form_and_its_evaluators_reach_the_platform_from_the_pre_flight_page(
    make_app: Make, tmp_path: Path, fake: FakePlatform
) -> None:
    fake.evaluators = []
    file = tmp_path / "plan.yaml"
    file.write_text(plan_text(fake))
    app = make_app()
    async with page_of(app, file, (120, 48)) as pilot:
        await pilot.press("p")
        await see(pilot, "The section names no evaluators", PATIENCE)
        await pilot.press("b")
        page = await see(pilot, "ground_truth_field", PATIENCE)
        assert "cn-hangzhou" in page
        await pilot.press(*["down"] * 6, *"3", "ctrl+t")
        await see(pilot, "Which evaluator of the platform?", PATIENCE)
        await pilot.press("enter")
        await see(pilot, "variable_mapping", PATIENCE)
        await pilot.press("ctrl+o")
        await see(pilot, "was added to evaluators", PATIENCE)
        await pilot.press("ctrl+o")
        await see(pilot, "3 tasks", PATIENCE)
        await checked(pilot)
        page = await see(pilot, "the platform judges with the evaluators of its plan", PATIENCE)
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        loaded = load_plan(file, overrides=screen.draft.overrides(), environment={})
        options: Any = loaded.platforms["agentloop"].options
        assert options.max_rows == 3
        assert [one.variable_mapping for one in options.evaluators] == [WHOLE]
        await pilot.press("p")
        await see(pilot, "Change the plan plan-demo on the platform?", PATIENCE)
        await pilot.press("y")
        await see(pilot, "Changed: the plan plan-demo", PATIENCE)
        await checked(pilot)
        assert "the platform judges with the evaluators of its plan" not in screen_text(app)
    assert [one["evaluatorRef"] for one in fake.evaluators] == ["Builtin.agent_correctness"]


async def test_a_platform_that_refuses_the_change_is_told_and_nothing_else_happens(
    make_app: Make, tmp_path: Path, fake: FakePlatform
) -> None:
    fake.evaluators = []

    def no(asked: Asked) -> Answer | None:
        refused = (403, {"code": "NoPermission", "message": f"not {MARKUP[0]} you"})
        return refused if asked.op == "UpdateExperimentPlan" else None

    fake.intercept = no
    file = tmp_path / "plan.yaml"
    section = f"evaluators:\n  - {{evaluator_ref: Builtin.agent_correctness, variable_mapping: {_flow(WHOLE)}}}"
    file.write_text(plan_text(fake, section=section))
    app = make_app()
    async with page_of(app, file) as pilot:
        await pilot.press("p")
        await see(pilot, "Change the plan plan-demo", PATIENCE)
        await pilot.press("y")
        await see(pilot, "NoPermission", PATIENCE)
    assert fake.evaluators == []


async def test_a_plan_without_the_section_has_no_keys_for_it(make_app: Make, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    solution = "{type: command, argv: [echo, x]}"
    file.write_text(
        f"version: 1\nname: p\nrequests:\n- {{name: a, dataset: {{cases: [{{q: x}}]}}, solution: {solution}}}\n"
    )
    app = make_app()
    async with page_of(app, file, (120, 30)) as pilot:
        assert "AgentLoop" not in screen_text(app)
        await pilot.press("b", "p")
        assert isinstance(app.screen, ReviewScreen)


# -- the parts --


def test_a_form_begins_with_what_the_names_of_the_variables_say() -> None:
    columns = ["id", "input", "reference", "tone"]
    section = evaluator_section("E", ["input", "output", "expected_output", "tone", "other"], columns)
    assert section["variable_mapping"] == {
        "input": "experiment_input",
        "output": "experiment_output",
        "expected_output": "dataset.reference",
        "tone": "dataset.tone",
    }
    assert evaluator_section("E", [], columns) == {"evaluator_ref": "E"}


def test_an_evaluator_is_checked_with_its_variables_and_the_columns() -> None:
    good = {"evaluator_ref": "E", "variable_mapping": {"a": "dataset.x"}}
    assert list(evaluator_faults(good, ["a"], ["x"])) == []
    missing, extra, column = evaluator_faults(
        {"evaluator_ref": "E", "variable_mapping": {"b": "dataset.y"}}, ["a"], ["x"]
    )
    assert "`a` of E is not mapped" in missing.message
    assert (extra.path, "no variable `b`" in extra.message) == ("variable_mapping.b", True)
    assert "`y` is not a column" in column.message
    assert list(evaluator_faults({"name": "mine", "variable_mapping": {"b": "dataset.x"}}, None, ["x"])) == []
    assert list(evaluator_faults({}, None, []))


def test_a_change_is_told_line_by_line_whatever_the_names_are() -> None:
    lines = change_lines([EVALUATOR], [{"name": MARKUP[0], "variableMapping": {"a": "dataset.x"}, "config": {"k": 1}}])
    assert lines[0] == "judged now with Builtin.agent_correctness: stays as it is"
    assert MARKUP[0] in lines[1]
    assert lines[2].strip() == "a is dataset.x"
    assert '"k"' in lines[3] or "k" in lines[3]
    assert not any("\n" in line for line in lines)


def _flow(mapping: dict[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in mapping.items()) + "}"
