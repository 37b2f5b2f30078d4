"""The screen of a run, live or past, by keyboard."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.histories import many_tasks, run_record, write_run
from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text, see
from tui_eval.display import one_line
from tui_eval.store.command_box import KINDS
from tui_eval.store.records import RunState
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.projections.tasks import has_repeats
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.panels import fitting_titles

Make = Callable[..., TuiEvalApp]


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 40)])
async def test_every_panel_is_reached_by_its_number_at_any_size(
    make_app: Make, tmp_path: Path, size: tuple[int, int]
) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app("last")
    async with app.run_test(size=size, notifications=True) as pilot:
        await see(pilot, "capital-000")
        for key, text in (("1", "prod"), ("3", "HTTP 502"), ("5", "the run began"), ("2", "capital-003")):
            await pilot.press(key)
            await see(pilot, text)
            focused = app.focused
            assert isinstance(focused, LineTable)
            assert focused.region.height > 1
        await pilot.press("tab")
        await see(pilot, "HTTP 502")


async def test_the_head_keeps_errors_apart_from_verdicts(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app("last")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        shown = await see(pilot, "14 of 14")
        for part in (
            "✓ 6 passed",
            "✗ 2 failed",
            "! 2 error",
            "? 2 unscored",
            "- 2 cancelled",
            "pass rate 75.0%",
            "of 8 decided",
        ):
            assert part in shown


async def test_a_failure_leads_to_its_tasks_and_esc_back_to_all(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app("last")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await see(pilot, "capital-000")
        await pilot.press("3")
        await see(pilot, "HTTP 502")
        await pilot.press("j", "enter")
        await see(pilot, "Tasks 2 filtered")
        assert isinstance(app.focused, LineTable)
        assert app.focused.id == "tasks"
        await pilot.press("escape")
        await see(pilot, "Tasks 14 ")
        await pilot.press("f")
        await see(pilot, "Tasks 4 filtered")
        await pilot.press("slash", "ctrl+u", *"capital-003", "enter")
        await see(pilot, "Tasks 2 filtered")
        await pilot.press("escape", "s", "S")
        await see(pilot, "outcome▼")


async def test_a_live_run_shows_what_runs_and_obeys(
    make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_eval.tui.run_commands.ANSWER_SECONDS", 0.1)
    path = tmp_path / "history.db"
    await write_run(path, run_record(), end=None, running=2)
    app = make_app("last")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await see(pilot, "streaming")
        await see(pilot, "running")
        await pilot.press("p")
        await pilot.press("X")
        await see(pilot, "Let running tasks finish")
        await pilot.press("enter")
        await pilot.press("c")
        await see(pilot, "Tasks in flight at once")
        await pilot.press("backspace", "0", "enter")
        await see(pilot, "a whole number")
        await pilot.press("backspace", "3", "enter")
        await pilot.press("4", "x")
        for _ in range(100):
            await asyncio.sleep(0.05)
            with closing(sqlite3.connect(path)) as connection:
                given = connection.execute("SELECT kind, arguments FROM commands ORDER BY id").fetchall()
            if len(given) == 4:
                break
        assert {kind for kind, _ in given} == {"pause", "cancel_run", "set_concurrency", "cancel_task"}
        assert {kind for kind, _ in given} <= set(KINDS)
        assert ("cancel_run", '{"drain":true}') in given
        assert ("set_concurrency", '{"value":3}') in given


async def test_a_run_without_its_runner_offers_to_finish_it_and_runs_nothing(make_app: Make, tmp_path: Path) -> None:
    run = run_record()
    run.host, run.pid, run.pid_started, run.heartbeat_at = "elsewhere", 1, "x/1", time.time() - 3600
    path = tmp_path / "history.db"
    await write_run(path, run, end=None, running=1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE runs SET heartbeat_at = 1")
        connection.commit()
    app = make_app("last")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        shown = await see(pilot, "The runner is gone. Press C")
        assert "▸" not in shown
        await pilot.press("C")
        await see(pilot, "This makes 4 calls")
        await pilot.press("escape")


async def test_a_rerun_says_how_many_calls_it_makes(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app("last")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await see(pilot, "capital-000")
        await pilot.press("R")
        shown = await see(pilot, "Failed and errors")
        assert "6 calls, 2 judged anew" in shown
        await pilot.press("G", "enter")
        await see(pilot, "This makes 14 calls")
        await pilot.press("n", "2", "space", "r")
        await see(pilot, "1 chosen case?")
        assert "This makes 4 calls" in screen_text(app)
        assert "2 of the calls are for tasks that were cancelled or never finished." in screen_text(app)
        await pilot.press("escape")


async def test_only_where_the_cursor_is_on_a_task_is_that_task_offered_to_be_run_again(
    make_app: Make, tmp_path: Path
) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app("last")
    async with app.run_test(size=(100, 24), notifications=True) as pilot:
        assert "r re-run this" in await see(pilot, "capital-000")
        for panel, text in (("1", "prod"), ("3", "how many"), ("5", "the run began")):
            await pilot.press(panel)
            await see(pilot, text)
            await pilot.press("r")
            await see(pilot, "R re-run failed…  /")
            assert "chosen case" not in screen_text(app)
        await pilot.press("2", "r")
        await see(pilot, "1 chosen case?")


async def test_relatives_are_opened(make_app: Make, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    parent = await write_run(path, run_record("parent", time.time() - 60))
    child = run_record("child")
    child.parent_run_id = parent.run_id
    await write_run(path, child)
    app = make_app("last")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await see(pilot, "child")
        await see(pilot, "capital-000")
        await pilot.press("left_square_bracket")
        await see(pilot, f"parent {parent.run_id}")
        await pilot.press("right_square_bracket")
        await see(pilot, f"child {child.run_id}")


async def test_a_run_is_exported_to_a_file(make_app: Make, tmp_path: Path) -> None:
    run = await write_run(tmp_path / "history.db", run_record())
    app = make_app("last")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await see(pilot, "capital-000")
        await pilot.press("e")
        await see(pilot, "Markdown")
        await pilot.press("enter")
        await see(pilot, "Write to file")
        await pilot.press("enter")
        await see(pilot, "Written", 30)
    assert "capital-003" in (tmp_path / f"{run.run_id}.md").read_text()


async def test_hostile_texts_are_shown_as_they_are(make_app: Make, tmp_path: Path) -> None:
    texts = (*MARKUP, *COMMANDS)
    run = run_record(texts[0])
    run.note = texts[1]
    from tests.support.histories import Outcome

    await write_run(
        tmp_path / "history.db", run, requests=("[/b] \x1b[31m",), texts=texts, outcomes=[Outcome.FAILED] * len(texts)
    )
    app = make_app("last")
    async with app.run_test(size=(200, 80), notifications=True) as pilot:
        await see(pilot, f"Failures {len(texts)}")
        shown = await see(pilot, f"{one_line(texts[-1])[:16]}")
        for text in texts:
            stored = text.encode("utf-8", "backslashreplace").decode()
            assert one_line(stored)[:16] in shown
        assert "\x1b" not in shown


async def test_a_hundred_thousand_tasks_are_paged_anywhere(make_app: Make, tmp_path: Path) -> None:
    await many_tasks(tmp_path / "history.db", 100_000)
    app = make_app("last")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await see(pilot, "case-000000", 20)
        await pilot.press("G")
        await see(pilot, "case-099999")
        await pilot.press("s", "s", "s", "S")
        await see(pilot, "took▼")
        await pilot.press("g")
        await see(pilot, "9.8 s")
        await pilot.press("slash", *"case-054321", "enter")
        await see(pilot, "Tasks 1 filtered")


async def test_a_run_that_is_deleted_meanwhile_ends_nothing(make_app: Make, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    run = await write_run(path, run_record(), end=RunState.COMPLETED)
    app = make_app("last")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await see(pilot, "capital-000")
        from tui_eval.store.upkeep import delete_run

        delete_run(path, run.run_id)
        shown = await see(pilot, "Not in the history any more")
        assert "cannot be read" not in shown
        await pilot.press("r", "R", "escape", "escape", "escape")
        assert app.is_running


async def test_a_failure_shows_exactly_its_tasks_and_says_so_until_esc(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app("last")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "capital-000")
        await pilot.press("3", "G", "enter")
        shown = await see(pilot, "esc shows all · only ? unscored: judge: the judge did not answer")
        assert "2 Tasks 2 filtered" in shown
        assert "capital-005" in shown
        assert "capital-000" not in shown
        await pilot.press("escape")
        await see(pilot, "2 Tasks 14 ")
        await pilot.press("1", "j", "enter")
        await see(pilot, "only request candidate")


async def test_patterns_and_exclusions_filter_the_tasks(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app("last")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "capital-000")
        await pilot.press("slash", *r"502.*com \d{4}", "enter")
        await see(pilot, "0 tasks")
        await pilot.press("escape", "slash", *"!canberra", "enter")
        shown = await see(pilot, "4 tasks")
        assert "HTTP 502" in shown
        await pilot.press("escape", "f")
        await see(pilot, "/ outcome:failed,error")
        await see(pilot, "4 tasks")
        await pilot.press("f")
        await see(pilot, "No task matches.")


async def test_a_live_run_opens_with_its_requests_in_focus_and_its_failures_below(
    make_app: Make, tmp_path: Path
) -> None:
    await write_run(tmp_path / "history.db", run_record(), end=None, running=1)
    app = make_app("last")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "HTTP 502")
        assert app.focused is not None
        assert app.focused.id == "requests"
        await pilot.press("j", "enter")
        await see(pilot, "only request candidate")


async def test_what_a_rerun_lacks_is_asked_for_unseen(
    make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_record()
    run.plan["requests"] = [{"name": "prod", "solution": {"url": "${R2_AGENT}/x", "headers": {"a": "${R2_TOKEN}"}}}]
    await write_run(tmp_path / "history.db", run)
    monkeypatch.delenv("R2_AGENT", raising=False)
    monkeypatch.setenv("R2_TOKEN", "")
    jobs: list[tuple[object, object]] = []
    monkeypatch.setattr("tui_eval.runner.start_detached", lambda job, environment: jobs.append((job, environment)))
    app = make_app("last")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "capital-000")
        await pilot.press("R")
        await see(pilot, "Failed and errors")
        await pilot.press("enter", "y")
        await see(pilot, "Value of R2_AGENT, for this re-run only")
        await pilot.press(*"secret-1", "enter")
        await see(pilot, "Value of R2_TOKEN")
        assert "secret-1" not in screen_text(app)
        await pilot.press(*"two", "enter")
        await pilot.pause(0.3)
        assert [environment for _, environment in jobs] == [{"R2_AGENT": "secret-1", "R2_TOKEN": "two"}]


async def test_a_run_that_is_not_in_the_history_says_so(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app("20200101-000000-0000")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        shown = await see(pilot, "This run is not in the history")
        assert "cannot be read" not in shown


async def test_a_paused_run_goes_on_with_the_same_key_and_promises_no_end(make_app: Make, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    run = await write_run(path, run_record(), end=None, running=2)
    app = make_app("last")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "left")
        assert "p pause" in screen_text(app)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE runs SET state = 'paused' WHERE run_id = ?", (run.run_id,))
        shown = await see(pilot, "p resume")
        assert "about" not in shown


async def test_enter_on_a_line_of_the_log_shows_all_of_it(make_app: Make, tmp_path: Path) -> None:
    await write_run(tmp_path / "history.db", run_record())
    app = make_app("last")
    async with app.run_test(size=(60, 18), notifications=True) as pilot:
        await see(pilot, "capital-000")
        await pilot.press("5")
        await see(pilot, "the run began")
        await pilot.press("enter")
        await see(pilot, "characters")


@pytest.mark.parametrize("width", [58, 78])
@pytest.mark.parametrize("tasks", ["Tasks 24", "Tasks 100,000 filtered, 3 marked"])
def test_every_tab_of_a_run_has_room(width: int, tasks: str) -> None:
    titles = ("Requests 3", tasks, "Failures 31,204", "Running 128", "Log")
    for current in range(len(titles)):
        shown, gap = fitting_titles(titles, current, width)
        assert len(gap.join(f"{place + 1} {title}" for place, title in enumerate(shown))) <= width
        assert shown[current] in (titles[current], "Tasks")
        assert [title.split()[0] for title in shown] == ["Requests", "Tasks", "Failures", "Running", "Log"]


async def test_repeats_of_a_case_are_told_apart_however_narrow_it_is(make_app: Make, tmp_path: Path) -> None:
    run = run_record()
    run.plan["requests"] = [{"name": "prod", "execution": {"n_repeat": 3}}]
    await write_run(tmp_path / "history.db", run, requests=("prod",))
    with closing(sqlite3.connect(tmp_path / "history.db")) as connection, connection:
        connection.execute("UPDATE tasks SET case_id = 'a-case-with-a-name-longer-than-its-column', repeat = position")
    app = make_app("last")
    async with app.run_test(size=(60, 18)) as pilot:
        shown = await see(pilot, "a-case-with")
        assert "  #" in shown
        assert re.search(r"✓ passed +a-case-with\S*…  +3 ", shown)


def test_a_run_has_repeats_where_any_of_its_requests_has() -> None:
    assert has_repeats({"requests": [{}, {"execution": {"n_repeat": 2}}]})
    assert has_repeats({"defaults": {"execution": {"n_repeat": 2}}, "requests": [{}]})
    assert not has_repeats({"requests": [{"execution": {"n_repeat": 1}}, {"execution": {}}]})
    assert not has_repeats({})
