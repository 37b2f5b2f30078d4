"""Solutions: found wherever they stand, edited in forms, tried only when the user says so, saved never unasked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text, see
from tests.tui.saved_solutions import cut_lines, http, open_solutions, workspace, write
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.part_reading import find_parts
from tui_eval.tui.part_saving import with_references
from tui_eval.tui.projections.parts import part_row, where
from tui_eval.tui.screens.part_form import PartFormScreen

MakeApp = Callable[..., TuiEvalApp]


# -- what is found --


def test_saved_ones_come_first_and_inline_ones_are_named_by_plan_and_request(tmp_path: Path) -> None:
    workspace(tmp_path)
    found = find_parts(tmp_path, "solution").parts
    assert [where(part, tmp_path) for part in found] == [
        "solutions/prod.yaml",
        "plan.yaml › inline",
        "plan.yaml › changed",
    ]
    assert found[2].section["method"] == "PUT"
    assert found[2].section["url"] == "http://127.0.0.1:9/ask"


def test_broken_files_are_listed_with_their_faults_and_broken_plans_counted(tmp_path: Path) -> None:
    write(tmp_path / "solutions" / "wrong.yaml", {"type": "http", "url": "no address", "methd": "GET"})
    cut_lines(tmp_path / "solutions", "broken.yaml", "type: http\nurl: [\n")
    write(tmp_path / "plan.yaml", {"version": 1, "name": "p", "requests": [{"name": "x"}]})
    found = find_parts(tmp_path, "solution")
    assert found.broken == 1
    by_name = {part.name: part for part in found.parts}
    assert {fault.path for fault in by_name["wrong"].faults} == {"url", "methd"}
    assert by_name["broken"].faults


def test_typed_credentials_are_not_in_the_list(tmp_path: Path) -> None:
    write(tmp_path / "solutions" / "a.yaml", http("https://ada:s3cretpass@example.com/x?api_key=abcdefgh"))
    (part,) = find_parts(tmp_path, "solution").parts
    assert "s3cretpass" not in str(part_row(part, tmp_path))
    assert "abcdefgh" not in str(part_row(part, tmp_path))
    assert "s3cretpass" not in repr(part)


def test_an_empty_workspace_has_no_parts(tmp_path: Path) -> None:
    assert find_parts(tmp_path / "nowhere", "solution").parts == ()


@pytest.mark.parametrize(
    ("section", "expected", "names"),
    [
        ({"headers": {"authorization": "Bearer abcdef123"}}, "Bearer ${PROD_AUTHORIZATION}", ["PROD_AUTHORIZATION"]),
        ({"headers": {"x-api-key": "abcdef123"}}, "${PROD_X_API_KEY}", ["PROD_X_API_KEY"]),
        ({"api_key": "sk-abcdef"}, "${PROD_API_KEY}", ["PROD_API_KEY"]),
        (
            {"url": "https://a:pw12345@h/?token=tk123456&x=1"},
            "https://a:${PROD_URL}@h/?token=${PROD_URL_2}&x=1",
            ["PROD_URL", "PROD_URL_2"],
        ),
        (
            {"argv": ["run", "--token=abc123", "--api-key", "def456"]},
            "--token=${PROD_ARGV}",
            ["PROD_ARGV", "PROD_ARGV_2"],
        ),
        ({"env": {"PASSWORD": 12345}}, "${PROD_PASSWORD}", ["PROD_PASSWORD"]),
    ],
)
def test_a_typed_credential_becomes_a_reference(section: dict[str, Any], expected: str, names: list[str]) -> None:
    changed, found = with_references(section, "prod")
    assert found == names
    assert json.dumps(expected)[1:-1] in json.dumps(changed)
    assert section != changed


# -- the screen, by keyboard --


async def test_the_first_thing_in_an_empty_workspace_is_what_to_do(make_app: MakeApp) -> None:
    async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("O")
        shown = await see(pilot, "Press n")
        assert "No solutions" in shown


async def test_a_new_solution_is_filled_in_and_saved(make_app: MakeApp, tmp_path: Path) -> None:
    workspace(tmp_path)
    async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
        await open_solutions(pilot)
        await pilot.press("n")
        await see(pilot, "of which kind?")
        await pilot.press("enter")
        await see(pilot, "url *")
        await pilot.press("ctrl+o")
        await see(pilot, "`url` is missing")
        await pilot.press(*"http://agent.example.com/", "ctrl+o")
        await see(pilot, "Save as")
        await pilot.press("ctrl+u", *"mine", "enter")
        await see(pilot, "Saved")
    saved = tmp_path / "solutions" / "mine.yaml"
    assert yaml.safe_load(saved.read_text()) == {"type": "http", "url": "http://agent.example.com/"}


async def test_a_saved_one_is_replaced_only_after_a_question(make_app: MakeApp, tmp_path: Path) -> None:
    workspace(tmp_path)
    path = tmp_path / "solutions" / "prod.yaml"
    before = path.read_text()
    async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
        await open_solutions(pilot)
        await pilot.press("enter")
        await see(pilot, "url *")
        await pilot.press("end", *"/v2", "ctrl+o")
        await see(pilot, "Save as")
        await pilot.press("enter")
        await see(pilot, "Replace this file?")
        await pilot.press("n")
        await pilot.pause(0.1)
        assert path.read_text() == before
        await pilot.press("ctrl+o")
        await see(pilot, "Save as")
        await pilot.press("enter")
        await see(pilot, "Replace this file?")
        await pilot.press("y")
        await see(pilot, "Saved")
    assert yaml.safe_load(path.read_text())["url"] == "http://127.0.0.1:9/ask/v2"


async def test_a_typed_credential_is_not_written_unasked(make_app: MakeApp, tmp_path: Path) -> None:
    workspace(tmp_path)
    write(tmp_path / "solutions" / "prod.yaml", http("http://a/", headers={"authorization": "Bearer abcdef123"}))
    async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
        await open_solutions(pilot)
        assert "abcdef123" not in screen_text(pilot.app)
        await pilot.press("enter")
        await see(pilot, "url *")
        await pilot.press("ctrl+o")
        await see(pilot, "Save as")
        await pilot.press("ctrl+u", *"new", "enter")
        await see(pilot, "${NEW_AUTHORIZATION}")
        await pilot.press("enter")
        await see(pilot, "Saved")
        await see(pilot, "Bearer ${NEW_AUTHORIZATION}")
    saved = yaml.safe_load((tmp_path / "solutions" / "new.yaml").read_text())
    assert saved["headers"] == {"authorization": "Bearer ${NEW_AUTHORIZATION}"}


async def test_what_was_typed_is_not_thrown_away_unasked(make_app: MakeApp, tmp_path: Path) -> None:
    workspace(tmp_path)
    async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
        await open_solutions(pilot)
        await pilot.press("enter")
        await see(pilot, "url *")
        await pilot.press("x", "escape")
        await see(pilot, "Leave the form?")
        await pilot.press("n")
        await pilot.pause()
        assert isinstance(pilot.app.screen, PartFormScreen)
        await pilot.press("backspace", "escape")
        await pilot.pause()
        assert not isinstance(pilot.app.screen, PartFormScreen)


@pytest.mark.parametrize("size", [(60, 18)])
async def test_hostile_texts_are_shown_everywhere_and_obey_nothing(
    make_app: MakeApp, tmp_path: Path, size: tuple[int, int]
) -> None:
    texts = [*MARKUP, *(text for text in COMMANDS if "\ud800" not in text and "\0" not in text)]
    one = "".join(texts)
    workspace(tmp_path)
    headers = {"x-a": one.replace("\n", " ")}
    write(
        tmp_path / "solutions" / "prod.yaml",
        http(
            "http://127.0.0.1:9/",
            headers=headers,
        ),
    )
    write(tmp_path / "solutions" / "[b]x[.yaml", {"type": "command", "argv": ["printf", one, "{{ q }}"]})
    async with make_app().run_test(size=size, notifications=True) as pilot:
        await open_solutions(pilot)
        for keys in ((), ("enter",), ("escape",), ("t",), ("escape", "G", "t")):
            await pilot.press(*keys)
            await pilot.pause(0.2)
            shown = screen_text(pilot.app)
            assert not any(sign in shown for sign in ("\x1b", "\x07", "\x9b", "\u202e", "\u200b"))


@pytest.mark.parametrize("size", [(60, 18), (120, 40)])
async def test_the_essential_is_visible_at_every_size(make_app: MakeApp, tmp_path: Path, size: tuple[int, int]) -> None:
    workspace(tmp_path)
    async with make_app().run_test(size=size, notifications=True) as pilot:
        await open_solutions(pilot)
        assert "prod" in screen_text(pilot.app)
        await pilot.press("enter")
        shown = await see(pilot, "url *")
        assert "http://127.0.0.1:9/ask" in shown
        await pilot.press("ctrl+t")
        await see(pilot, "would be sent to")
