"""Evaluators: found wherever they stand, tried on a typed output or a stored answer, saved in files of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.support.histories import run_record, write_run
from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text, see
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.part_reading import faults_of, find_parts, kind_options
from tui_eval.tui.projections.parts import where
from tui_eval.tui.screens.try_evaluator import TryEvaluatorScreen

MakeApp = Callable[..., TuiEvalApp]
CONTAINS = {"id": "contains", "name": "has it", "variable_mapping": {"expected_output": "dataset.answer"}}


def write(path: Path, data: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(data))
    return path


def workspace(folder: Path) -> None:
    write(folder / "evaluators" / "has.yaml", CONTAINS)
    request = {
        "dataset": {"cases": [{"answer": "x"}]},
        "solution": {"type": "command", "argv": ["cat"]},
        "evaluators": [{"use": "evaluators/has.yaml"}, {"id": "exact", "expected": "x"}],
    }
    write(folder / "plan.yaml", {"version": 1, "name": "p", "requests": [{"name": "one", **request}]})


# -- what is found --


def test_saved_and_inline_evaluators_are_found(tmp_path: Path) -> None:
    workspace(tmp_path)
    found = find_parts(tmp_path, "evaluator").parts
    assert [(part.name, where(part, tmp_path)) for part in found] == [
        ("has", "evaluators/has.yaml"),
        ("exact", "plan.yaml › one"),
    ]
    assert found[0].calls == "expected_output ← dataset.answer"


def test_every_kind_is_offered_with_what_it_does() -> None:
    for of in ("solution", "evaluator"):
        options = dict(kind_options(of))
        assert options
        assert all(options.values())


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ({"id": "exact"}, ""),
        ({"id": "regex", "pattern": "("}, "pattern"),
        ({"id": "json", "schema": {"type": "no such"}}, "schema"),
        ({"id": "contains", "expected": "x", "variable_mapping": {"output": "nowhere"}}, "variable_mapping.output"),
        ({"id": "nothing"}, "id"),
    ],
)
def test_faults_name_the_field(section: dict[str, object], path: str, tmp_path: Path) -> None:
    assert [fault.path for fault in faults_of("evaluator", section, tmp_path)] == [path]


# -- the screen, by keyboard --


async def test_an_evaluator_is_tried_on_a_typed_output(make_app: MakeApp, tmp_path: Path) -> None:
    workspace(tmp_path)
    async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("E")
        await see(pilot, "expected_output ←")
        await pilot.press("t")
        await see(pilot, "Nothing was judged yet")
        await pilot.press(*"It is Rome", "tab", "tab", *"Paris", "f9")
        await see(pilot, "✗ failed")
        await pilot.press("i", "end", *" or Paris", "escape", "s")
        await see(pilot, "✓ passed")


async def test_an_evaluator_is_tried_on_a_stored_answer(make_app: MakeApp, tmp_path: Path) -> None:
    workspace(tmp_path)
    write(tmp_path / "evaluators" / "has.yaml", {"id": "regex", "pattern": "^Can"})
    await write_run(tmp_path / "history.db", run_record())
    async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("E")
        await see(pilot, "pattern: ^Can")
        await pilot.press("t", "escape")
        await see(pilot, "Nothing was judged yet")
        await pilot.press("c")
        await see(pilot, "Which run?")
        await pilot.press("enter")
        await see(pilot, "Which answer of")
        await pilot.press(*"capital-001", "enter")
        await see(pilot, "Press s to judge it")
        assert "Canberra" in screen_text(pilot.app)
        await pilot.press("s")
        await see(pilot, "✓ passed")


async def test_a_program_is_run_only_after_a_question(make_app: MakeApp, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    argv = ["sh", "-c", f"touch {mark}; cat > /dev/null; echo '{{\"passed\": true}}'"]
    write(tmp_path / "evaluators" / "program.yaml", {"id": "command", "argv": argv})
    async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("E")
        await see(pilot, "program")
        await pilot.press("t", "escape")
        await see(pilot, "Nothing was judged yet")
        await pilot.press("s")
        await see(pilot, "Judge this output?")
        await pilot.press("n")
        await pilot.pause(0.2)
        assert not mark.exists()
        await pilot.press("s")
        await see(pilot, "Judge this output?")
        await pilot.press("y")
        await see(pilot, "✓ passed")
        assert mark.exists()


async def test_a_new_evaluator_is_made_and_saved(make_app: MakeApp, tmp_path: Path) -> None:
    async with make_app().run_test(size=(60, 18), notifications=True) as pilot:
        await pilot.press("E")
        await see(pilot, "No evaluators")
        await pilot.press("n")
        await see(pilot, "of which kind?")
        await pilot.press("enter")
        await see(pilot, "variable_mapping")
        await pilot.press("ctrl+o")
        await see(pilot, "give either expected")
        await pilot.press("tab", "tab", "tab", *"42", "ctrl+o")
        await see(pilot, "Save as")
        await pilot.press("enter")
        await see(pilot, "Saved")
    assert yaml.safe_load((tmp_path / "evaluators" / "exact.yaml").read_text()) == {"id": "exact", "expected": 42}


async def test_hostile_texts_are_shown_and_obey_nothing(make_app: MakeApp, tmp_path: Path) -> None:
    texts = [text for text in (*MARKUP, *COMMANDS) if "\ud800" not in text and "\0" not in text]
    one = "".join(texts)
    write(tmp_path / "evaluators" / "a.yaml", {"id": "exact", "expected": one, "name": "[/b]"})
    async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("E")
        await see(pilot, "exact")
        await pilot.press("t", "escape")
        screen = pilot.app.screen
        assert isinstance(screen, TryEvaluatorScreen)
        screen.report = {
            "outcome": "failed",
            "scores": [
                {
                    "evaluator": one,
                    "passed": False,
                    "reason": one,
                    "value": 0.0,
                    "error": "",
                    "detail": {one: json.dumps(texts)},
                }
            ],
        }
        screen.show_section()
        await pilot.pause(0.1)
        shown = screen_text(pilot.app)
        assert "✗ failed" in shown
        for key in ("1", "2", "escape"):
            assert not any(sign in shown for sign in ("\x1b", "\x07", "\x9b", "\u202e", "\u200b"))
            await pilot.press(key)
            shown = screen_text(pilot.app)
