"""The comparison of two runs, by keyboard only."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.detailed import Told, write_told
from tests.support.histories import many_tasks, run_record
from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text, see
from tui_eval.analysis.changes import Group
from tui_eval.domain import Outcome
from tui_eval.reports.comparison import compare_stored
from tui_eval.store.reader import History
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.projections import comparison as rows

Make = Callable[..., TuiEvalApp]

BEFORE = [
    Told("got-worse", Outcome.PASSED, output="The capital is Canberra."),
    Told("got-better", Outcome.FAILED, output="Sydney", message="exact: not equal"),
    Told("broke", Outcome.PASSED),
    Told("reworded", Outcome.PASSED, output="It is Canberra"),
    Told("same", Outcome.PASSED, output="Canberra"),
    Told("gone", Outcome.PASSED),
]
AFTER = [
    Told("got-worse", Outcome.FAILED, output="The capital is Sydney.", message="exact: not equal"),
    Told("got-better", Outcome.PASSED, output="Canberra"),
    Told("broke", Outcome.ERROR, answers=(None,), message="refused by the agent", output=""),
    Told("reworded", Outcome.PASSED, output="That is Canberra"),
    Told("same", Outcome.PASSED, output="Canberra"),
    Told("arrived", Outcome.PASSED),
]


async def two_runs(path: Path, before: list[Told] = BEFORE, after: list[Told] = AFTER) -> tuple[str, str]:
    left, _ = await write_told(path, before, run_record("baseline", time.time() - 60))
    right, _ = await write_told(path, after, run_record("candidate"))
    return left.run_id, right.run_id


@asynccontextmanager
async def compared(app: TuiEvalApp, folder: Path, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Pilot[Any]]:
    """The comparison of the two runs, on the screen."""
    left, right = await two_runs(folder / "history.db")
    async with app.run_test(size=size, notifications=True) as pilot:
        app.open("compare", left=left, right=right)
        await see(pilot, "6 of 6 differences")
        yield pilot


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 40)])
async def test_every_difference_stands_in_one_group_and_the_worst_comes_first(
    make_app: Make, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with compared(make_app(), tmp_path, size) as pilot:
        shown = screen_text(pilot.app)
        lines = shown.split("\n")
        order = [next(n for n, line in enumerate(lines) if case in line) for case in ("got-worse", "got-better")]
        assert order == sorted(order)
        for word in ("worse", "better", "other", "output"):
            assert word in shown
        await pilot.press("enter")
        await see(pilot, "Canberra")
        await pilot.press("escape")
        await see(pilot, "got-better")
        await pilot.press("escape")
        await see(pilot, "baseline")


async def test_a_pair_stands_side_by_side_or_word_by_word(make_app: Make, tmp_path: Path) -> None:
    left, right = await two_runs(tmp_path / "history.db")
    app = make_app()
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        app.open("compare", left=left, right=right)
        shown = await see(pilot, "The capital is Sydney.")
        assert "The capital is Canberra." in shown
        await pilot.press("d")
        await see(pilot, "The capital is [-Canberra-]{+Sydney+}.")
        await pilot.press("x")
        await see(pilot, "The capital is [-Sydney-]{+Canberra+}.")
        assert "✗ 1 worse" in screen_text(pilot.app)


async def test_groups_are_cycled_and_words_are_looked_for(make_app: Make, tmp_path: Path) -> None:
    async with compared(make_app(), tmp_path) as pilot:
        await pilot.press("f")
        shown = await see(pilot, "1 of 6 differences")
        assert "[✗ 1 worse]" in shown
        assert "got-better" not in shown
        await pilot.press("f")
        await see(pilot, "[✓ 1 better]")
        await pilot.press("slash", "ctrl+u", *"refused", "enter")
        await see(pilot, "broke")
        await see(pilot, "1 of 6 differences")
        await pilot.press("slash", "ctrl+u", *"is:nothing", "enter")
        await see(pilot, "one of worse, better")
        await pilot.press("slash", "ctrl+u", *"zzz", "enter")
        await see(pilot, "No difference matches.")
        await pilot.press("escape")
        await see(pilot, "6 of 6 differences")


async def test_the_tasks_of_both_runs_are_a_key_away(make_app: Make, tmp_path: Path) -> None:
    async with compared(make_app(), tmp_path) as pilot:
        await pilot.press("left_square_bracket")
        await see(pilot, "✓ passed  got-worse")
        await see(pilot, "1 of 5")
        await pilot.press("escape", "right_square_bracket")
        await see(pilot, "✗ failed  got-worse")
        await pilot.press("escape", "G", "right_square_bracket")
        await see(pilot, "does not have this task")


async def test_the_comparison_is_written_where_the_user_says(make_app: Make, tmp_path: Path) -> None:
    async with compared(make_app(), tmp_path) as pilot:
        await pilot.press("e")
        await see(pilot, "Markdown")
        await pilot.press("enter")
        await see(pilot, "Write to file")
        await pilot.press("enter")
        await see(pilot, "Written", seconds=20)
        (file,) = tmp_path.glob("*-to-*.md")
        assert "got-worse" in file.read_text(encoding="utf-8")


async def test_equal_runs_and_empty_ones_say_so(make_app: Make, tmp_path: Path) -> None:
    left, right = await two_runs(tmp_path / "history.db", [BEFORE[4]], [BEFORE[4]])
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        app.open("compare", left=left, right=right)
        await see(pilot, "All 1 tasks have the same outcome")
        app.open("compare", left=left, right="nonsense")
        await see(pilot, "These runs cannot be compared.")
        await pilot.press("escape", "escape")
        await see(pilot, "baseline")


async def test_hostile_texts_are_shown_character_for_character(make_app: Make, tmp_path: Path) -> None:
    texts = ["[/] [b {x}", MARKUP[8], *COMMANDS]
    before = [Told(text, Outcome.PASSED, output=f"{text} a") for text in texts]
    after = [Told(text, Outcome.FAILED, output=f"{text} b", message=text) for text in texts]
    left, right = await two_runs(tmp_path / "history.db", before, after)
    app = make_app()
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        app.open("compare", left=left, right=right)
        shown = await see(pilot, "after  ✗ failed")
        assert "[/] [b {x}" in shown
        assert MARKUP[8] in shown
        await pilot.press("d")
        for _ in texts:
            await see(pilot, "[-a-]{+b+}")
            shown = screen_text(app)
            assert not any(mark in shown for mark in ("\x1b", "\x9b", "\x07", "\u202e", "\u200b", "\x00"))
            await pilot.press("j")
        assert app.defect is None


async def test_ten_thousand_tasks_are_compared_well_under_a_second(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    left = await many_tasks(path, 10_000)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE cases SET content_hash = randomblob(16)")
        connection.commit()
    right = await many_tasks(path, 10_000)
    with closing(sqlite3.connect(path)) as connection:
        sql = "UPDATE tasks SET outcome = 'failed' WHERE run = ? AND position % 7 = 0"
        connection.execute(sql, (right.id,))
        connection.commit()
    with History(path) as history:
        started = time.process_time()
        found = compare_stored(history, left.run_id, right.run_id)
        spent = time.process_time() - started
        assert found.comparison.compared == 10_000
        assert found.counts[Group.WORSE] > 1000
        started = time.process_time()
        assert len(rows.filtered(found.changes, rows.parse("case-00007 is:worse"))) == 1
        assert time.process_time() - started < 0.2
    assert spent < 0.9


def test_runs_with_one_request_each_are_compared_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "history.db"

    async def write() -> tuple[str, str]:
        left, _ = await write_told(path, BEFORE, run_record("a", 1.0), request="old")
        right, _ = await write_told(path, AFTER, run_record("b", 2.0), request="new")
        return left.run_id, right.run_id

    left, right = asyncio.run(write())
    with History(path) as history:
        found = compare_stored(history, left, right)
    assert found.comparison.compared == 5
    assert found.unchanged == 1
    assert "request old of the earlier run is compared with new of the later one" in found.notes
    assert {group.value: count for group, count in found.counts.items()} == dict.fromkeys(Group, 1)
