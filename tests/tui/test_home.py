"""Home: every run of the history, found, marked, changed and deleted by keyboard."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.support.histories import finished_history, many_runs, run_record, write_run
from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text, see
from tui_eval.display import one_line
from tui_eval.store.reader import History
from tui_eval.store.records import RunState
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.projections import run_filter
from tui_eval.tui.widgets.line_table import LineTable

Make = Callable[..., TuiEvalApp]


async def test_the_first_run_page_offers_the_demo_and_gives_way_to_the_first_run(
    make_app: Make, tmp_path: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        shown = await see(pilot, "There is no run")
        assert "run the demo" in shown
        await write_run(tmp_path / "history.db", run_record("first"))
        assert "There is no run" not in await see(pilot, "completed")


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 40), (200, 50)])
async def test_state_plan_and_counts_are_there_at_any_usual_size(
    make_app: Make, tmp_path: Path, size: tuple[int, int]
) -> None:
    await write_run(tmp_path / "history.db", run_record("support-bot"))
    app = make_app()
    async with app.run_test(size=size, notifications=True) as pilot:
        shown = await see(pilot, "✓ completed")
        row = next(line for line in shown.split("\n") if "✓ completed" in line)
        for part in ("support-bot", "75.0%", "✗"):
            assert part in row
        assert "? help" in shown


async def test_a_live_run_stands_on_top_and_moves(make_app: Make, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    await write_run(path, run_record("old and live", time.time() - 5000), end=None, running=2)
    await write_run(path, run_record("newer"))
    app = make_app()
    async with app.run_test(size=(100, 24), notifications=True) as pilot:
        shown = await see(pilot, "running")
        assert shown.index("old and live") < shown.index("newer")
        assert "1 live, 2 runs" in shown
        await write_run(path, run_record("newest"))
        shown = await see(pilot, "1 live, 3 runs")
        assert shown.index("old and live") < shown.index("newest")


async def test_the_filter_is_typed_applied_and_cleared(make_app: Make, tmp_path: Path) -> None:
    for name in ("alpha", "beta", "gamma"):
        await write_run(tmp_path / "history.db", run_record(name))
    app = make_app()
    async with app.run_test(size=(100, 24), notifications=True) as pilot:
        await see(pilot, "gamma")
        await pilot.press(*"/bet", "enter")
        assert "alpha" not in await see(pilot, "1 run")
        assert isinstance(app.focused, LineTable)
        await pilot.press("slash", "ctrl+u", *"state:xyz")
        await see(pilot, "no state begins with")
        await pilot.press("escape")
        await see(pilot, "3 runs")
        assert not isinstance(app.focused, Input)
        await pilot.press("f")
        await see(pilot, "No run matches")


async def test_tags_and_a_note_are_written_into_the_history(make_app: Make, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    await write_run(path, run_record("plan"))
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await see(pilot, "completed")
        await pilot.press("t", *"a, b ,a", "enter")
        await pilot.press("n")
        await see(pilot, "Note on")
        await pilot.press(*"[/b]!", "enter")
        await see(pilot, "[/b]!")
    with History(path) as history:
        run = history.run("last")
    assert (run.tags, run.note) == (["a", "b"], "[/b]!")


async def test_a_text_longer_than_its_line_is_seen_while_it_is_edited(make_app: Make, tmp_path: Path) -> None:
    run = run_record("plan")
    run.note = "the first words, " + "and more of them, " * 8 + "the last words"
    await write_run(tmp_path / "history.db", run)
    app = make_app()
    async with app.run_test(size=(100, 18)) as pilot:
        await see(pilot, "completed")
        await pilot.press("n")
        await see(pilot, "Note on")
        await see(pilot, "the last words")
        await pilot.press("home")
        await see(pilot, "the first words")


async def test_deleting_asks_says_what_is_freed_and_passes_over_live_runs(make_app: Make, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    await write_run(path, run_record("goes"))
    await write_run(path, run_record("lives"), end=None)
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await see(pilot, "2 runs")
        await pilot.press("v", "G", "v", "d")
        assert "frees about" in await see(pilot, "Delete 2 runs?")
        await pilot.press("enter")  # no is where the cursor stands
        await pilot.press("d")
        await see(pilot, "Delete 2 runs?")
        await pilot.press("y")
        await see(pilot, "cancel it before")
        await see(pilot, "1 run")
    with History(path) as history:
        assert [each.run.name for each in history.runs()] == ["lives"]


async def test_comparing_needs_two_marked_runs(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record("one"))
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await see(pilot, "completed")
        await pilot.press("c")
        await see(pilot, "Mark two runs")


async def test_runs_that_are_marked_but_not_listed_are_not_touched_and_that_is_said(
    make_app: Make, tmp_path: Path
) -> None:
    for name in ("alpha", "beta"):
        await write_run(tmp_path / "history.db", run_record(name))
    app = make_app()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await see(pilot, "alpha")
        await pilot.press("v", "G", "v", "slash", *"gamma", "enter")
        await see(pilot, "No run matches")
        for key in ("d", "c", "t"):
            await pilot.press(key)
            await see(pilot, "What is marked is not listed now")
            app.clear_notifications()
        await pilot.press("escape", "d")
        await see(pilot, "Delete 2 runs?")


async def test_a_history_that_cannot_be_read_is_told_for_as_long_as_it_is_so(make_app: Make, tmp_path: Path) -> None:
    (tmp_path / "history.db").write_bytes(b"no database at all" * 100)
    app = make_app()
    async with app.run_test(size=(60, 18), notifications=True) as pilot:
        await see(pilot, "cannot be read")
        app.clear_notifications()
        shown = await see(pilot, "The history cannot be read.")
        assert "damaged" in shown
        assert "Reading the history" not in shown


async def test_hostile_names_tags_and_notes_are_shown_as_they_are(make_app: Make, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    for text in (*MARKUP, *COMMANDS):
        run = run_record(text)
        run.tags, run.note, run.plan_path, run.error = [text], text, text, text
        await write_run(path, run, requests=(), outcomes=())
    app = make_app()
    async with app.run_test(size=(160, 50), notifications=True) as pilot:
        await see(pilot, f"{len(MARKUP) + len(COMMANDS)} runs")
        shown = screen_text(app)
        for text in (*MARKUP, *COMMANDS):
            stored = text.encode("utf-8", "backslashreplace").decode()
            assert one_line(stored)[:20] in shown
        for _ in range(len(MARKUP) + len(COMMANDS)):
            await pilot.press("j")
        await pilot.press("d")
        await see(pilot, "Delete 1 run?")
        await pilot.press("escape", "t")
        await see(pilot, "Tags of")
        await pilot.press("escape")


async def test_ten_thousand_runs_open_like_a_page_and_are_all_reached(make_app: Make, tmp_path: Path) -> None:
    many_runs(tmp_path / "history.db", 10_000)
    app = make_app()
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await see(pilot, "200+ runs")
        table = app.screen.query_one(LineTable)
        await pilot.press(*["pagedown"] * 6)
        await see(pilot, "1,200+ runs")
        await pilot.press("s")
        await see(pilot, "10,000 runs", 20)
        assert table.source.count() == 10_000


def test_the_history_of_a_loop_less_test_is_the_same(tmp_path: Path) -> None:
    runs = finished_history(tmp_path / "history.db", ["a", "b"])
    with History(tmp_path / "history.db") as history:
        assert [each.run.run_id for each in history.runs()] == [run.run_id for run in reversed(runs)]


async def test_runs_are_found_by_what_their_tasks_gave(make_app: Make, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    for name, texts in (("first", ["Canberra"]), ("second", ["x" * 400 + " far away"])):
        await write_run(path, run_record(name), texts=texts)
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "second")
        await pilot.press("slash", *'text:"far away"', "enter")
        shown = await see(pilot, "1 run ")
        assert "second" in shown
        assert "first" not in shown
        await pilot.press("escape", "slash", *"!text:far", "enter")
        shown = await see(pilot, "1 run ")
        assert "first" in shown
        await pilot.press("escape", "slash", *"text:nowhere", "enter")
        await see(pilot, "No run matches.")
        await pilot.press("escape", "slash", *"!^f.rst", "enter")
        shown = await see(pilot, "1 run ")
        assert "second" in shown


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        ("", ""),
        ("state:nope", "no state begins"),
        ("since:never", "is no day"),
        ("tag:", "needs a value"),
        ("!since:today", "cannot be turned around"),
    ],
)
def test_a_filter_says_what_is_wrong_with_it(typed: str, wrong: str) -> None:
    found = run_filter.parse(typed, datetime(2026, 11, 29, tzinfo=UTC))
    assert wrong in found.wrong
    assert bool(found.wrong) is bool(wrong)
    assert found.everything


def test_a_filter_is_read_word_by_word() -> None:
    text = 'support !smoke tag:nightly !tag:old !state:completed since:2d plan:bot text:a !text:"b c"'
    found = run_filter.parse(text, datetime(2026, 11, 29, 12, tzinfo=UTC))
    assert [(term.folded, term.excluded) for term in found.words.terms] == [
        ("support", False),
        ("smoke", True),
        ("bot", False),
    ]
    assert (found.tag, found.without_tags) == ("nightly", {"old"})
    assert RunState.COMPLETED not in found.states
    assert RunState.RUNNING in found.states
    assert found.since == datetime(2026, 11, 27, tzinfo=UTC).timestamp()
    assert [(word.text, word.excluded) for word in found.texts] == [("a", False), ("b c", True)]


async def test_the_last_run_of_a_long_history_is_one_key_away(make_app: Make, tmp_path: Path) -> None:
    many_runs(tmp_path / "history.db", 2_500)
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "200+ runs")
        await pilot.press("G")
        await see(pilot, "2,500 runs")
        table = app.screen.query_one(LineTable)
        for _ in range(100):
            if table.cursor == 2_499:
                break
            await pilot.pause(0.05)
        assert table.cursor == 2_499


async def test_while_a_filter_is_typed_the_line_of_keys_says_how_to_keep_and_clear_it(
    make_app: Make, tmp_path: Path
) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app()
    async with app.run_test(size=(60, 18), notifications=True) as pilot:
        await see(pilot, "completed")
        await pilot.press("slash")
        shown = await see(pilot, "enter keep it")
        assert "esc clear it" in shown
        assert "/ filter" not in shown
        await pilot.press("escape")
        await see(pilot, "/ filter")
