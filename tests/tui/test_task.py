"""The screen of one task, by keyboard only."""

from __future__ import annotations

import base64
import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.detailed import Told, write_told
from tests.support.histories import run_record, write_run
from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text, see
from tui_eval.display import one_line
from tui_eval.domain import Outcome, Score
from tui_eval.store.reader import History
from tui_eval.store.upkeep import delete_run
from tui_eval.tui import keys
from tui_eval.tui.application import TuiEvalApp

Make = Callable[..., TuiEvalApp]

STREAMED = {
    "raw": 'data: {"delta": "Syd"}\n\ndata: {"delta": "ney"}\n\n',
    "status_code": 200,
    "content_type": "text/event-stream",
    "headers": [["Content-Type", "text/event-stream"], ["X-Region", "eu-1"]],
    "events": [[0.25, "message", '{"delta": "Syd"}'], [0.5, "done", '{"delta": "ney"}']],
    "trace_id": "ad7eecc2230748ee848c93c6f8c2adc5",
    "notes": ["1 of 2 events had no text"],
    "stderr": "warning: cold start",
    "usage": {"input_tokens": 9, "output_tokens": 2},
}
JUDGED = (
    Score("exact", 0.0, False, '"Canberra" is not "Sydney"'),
    Score("tone", 0.75, True, "It is polite.", detail={"reply": 'Sure! {"score": 0.75}'}),
    Score("safety", None, None, "", "the judge did not answer within 60 s"),
)
FULL = Told("capital-australia", message="exact: not equal", answers=(None, STREAMED), scores=JUDGED)


async def full(app: TuiEvalApp, tmp_path: Path, *tasks: Told) -> list[int]:
    """Write a run with these tasks and open the first of them, with all of them to page through."""
    run, task_ids = await write_told(tmp_path / "history.db", tasks or (FULL,))
    app.call_after_refresh(app.open, "task", run_id=run.run_id, task_id=task_ids[0], task_ids=task_ids)
    return task_ids


def copied(app: TuiEvalApp, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is put onto the terminal's clipboard from now on."""
    texts: list[str] = []
    driver = app._driver
    assert driver is not None

    def write(data: str) -> None:
        if data.startswith("\x1b]52;c;"):
            texts.append(base64.b64decode(data.removeprefix("\x1b]52;c;").rstrip("\x07")).decode())

    monkeypatch.setattr(driver, "write", write)
    return texts


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 40)])
async def test_every_section_is_reached_by_its_number_at_any_size(
    make_app: Make, tmp_path: Path, size: tuple[int, int]
) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await full(app, tmp_path)
        await see(pilot, "exact: not equal")
        shown = screen_text(app)
        assert "✗ failed  capital-australia" in shown
        for key, texts in {
            "2": ("question", "What is it?"),
            "3": ("Sydney",),
            "4": ("[-Canberra-]{+Sydney+}", "only expected"),
            "5": ("It is polite.", 'Sure! {"score": 0.75}'),
            "6": ("! connection", "refused by the agent"),
            "7": ("${AGENT_URL}/invoke", "Bearer ${TOKEN}"),
            "8": ("cold start", "1 of 2 events had no text"),
            "9": ('0.250 s  +0.250  message  {"delta": "Syd"}', '0.500 s  +0.250  done  {"delta": "ney"}'),
            "1": ("Why", "exact: not equal"),
        }.items():
            await pilot.press(key)
            for text in texts:
                await see(pilot, text)
        await pilot.press("tab")
        await see(pilot, "2 Input")
        await pilot.press("left_square_bracket", "left_square_bracket")
        await see(pilot, "9 Events")
        await pilot.press("escape")
        await see(pilot, "support-bot")


async def test_every_attempt_can_be_looked_at(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test(size=(100, 50)) as pilot:
        await full(app, tmp_path)
        await see(pilot, "Attempts (2)")
        await pilot.press("8")
        shown = await see(pilot, "X-Region: eu-1")
        assert "▸ 2  ✓ answered" in shown
        await pilot.press("a")
        await see(pilot, "▸ 1  ! connection")
        await see(pilot, "Nothing was received.")
        await pilot.press("A")
        await see(pilot, "X-Region: eu-1")


async def test_n_and_p_page_through_the_list_and_stop_at_its_ends(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    tasks = [Told(f"case-{place}", output=f"answer {place}") for place in range(3)]
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await full(app, tmp_path, *tasks)
        await see(pilot, "1 of 3")
        await pilot.press("3")
        await see(pilot, "answer 0")
        await pilot.press("n")
        await see(pilot, "answer 1")
        await pilot.press("J")
        assert "case-2" in await see(pilot, "answer 2")
        await pilot.press("n")
        await see(pilot, "That was the last task.")
        await pilot.press("p", "K")
        await see(pilot, "answer 0")


async def test_while_a_text_is_searched_for_n_goes_to_the_next_place(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    tasks = [Told("first", output="needle\n" * 3), Told("second")]
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await full(app, tmp_path, *tasks)
        await see(pilot, "1 of 2")
        await pilot.press("slash", *"needle", "enter", "n", "n")
        await pilot.pause(0.1)
        assert "1 of 2" in screen_text(app)
        await pilot.press("escape", "n")
        await see(pilot, "2 of 2")


def test_of_the_viewers_keys_only_the_next_place_has_another_meaning() -> None:
    own = {each for key in keys.group("task").keys for each in key.keys.split(",")}
    viewers = {key.id: set(key.keys.split(",")) for key in keys.group("viewer").keys}
    assert [name for name, pressed in viewers.items() if pressed & own] == ["viewer.next"]


def told(text: str) -> Told:
    """A task in which everything is this text."""
    answer = {"raw": text, "stderr": text, "headers": [[text, text]], "events": [[0.1, text, text]], "notes": [text]}
    score = Score(text, 0.0, False, text, detail={"reply": text, text: text})
    return Told(text, output=text, expected=text, message=text, answers=(None, answer), scores=(score,), error=text)


async def test_hostile_texts_are_shown_character_for_character(make_app: Make, tmp_path: Path) -> None:
    texts = ["[/] [b {x}", MARKUP[8], *COMMANDS]
    app = make_app()
    async with app.run_test(size=(120, 50)) as pilot:
        await full(app, tmp_path, *map(told, texts))
        for place, text in enumerate(texts):
            await see(pilot, f"{place + 1} of {len(texts)}")
            await see(pilot, one_line(text.split("\n")[0].split("\t")[0]))
            for key in "5891":
                await pilot.press(key)
                await pilot.pause(0.02)
                shown = screen_text(app)
                assert not any(mark in shown for mark in ("\x1b", "\x9b", "\x07", "\u202e", "\u200b", "\x00"))
            await pilot.press("J")
        await pilot.press("y")
        await see(pilot, "Copy to the clipboard")
        assert app.defect is None


async def test_a_huge_output_opens_at_once_and_is_searched(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    huge = "\n".join(f"line {number} of a very long answer" for number in range(150_000)) + "\nthe end"
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await full(app, tmp_path, Told("huge", output=huge))
        await see(pilot, "more characters)")
        started = time.process_time()
        await pilot.press("3")
        await see(pilot, "line 0 of")
        await pilot.press("G")
        await see(pilot, "the end")
        assert time.process_time() - started < 3
        await pilot.press("4")
        await see(pilot, "[-Canberra-]")


async def test_json_is_laid_out_or_shown_as_it_came(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await full(app, tmp_path, Told("json", output={"city": "Sydney", "sure": 1.0}))
        await see(pilot, "1 attempt")
        await pilot.press("3")
        await see(pilot, '  "city": "Sydney",')
        await pilot.press("f")
        await see(pilot, '{"city": "Sydney", "sure": 1.0}')


async def test_what_is_chosen_is_copied(make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    app = make_app()
    async with app.run_test(size=(100, 40), notifications=True) as pilot:
        await full(app, tmp_path)
        await see(pilot, "capital-australia")
        texts = copied(app, monkeypatch)
        await pilot.press("y")
        shown = await see(pilot, "Request as curl")
        for label in ("Output", "Case id", "Trace id", "Response body", "Standard error", "Path of the history"):
            assert label in shown
        await pilot.press("enter")
        await see(pilot, "Y writes it to a file")
        assert texts == ["Sydney"]
        await pilot.press("y")
        await see(pilot, "Request as curl")
        await pilot.press("j", "j", "j", "enter")
        await see(pilot, "Request as curl:")
        assert "--header 'authorization: Bearer '\"${TOKEN}\"" in texts[1]
        assert '\'{"question": "What is it? ${HOME}"}\'' in texts[1]


async def test_a_copy_can_be_written_to_a_file_whose_path_is_told(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await full(app, tmp_path, Told("../../etc/passwd [b]", output="raw \x1b[31m"))
        await see(pilot, "etc/passwd")
        await pilot.press("Y")
        await see(pilot, "Write to a file")
        await pilot.press("enter")
        await see(pilot, "Write to file")
        await pilot.press("enter")
        await see(pilot, "Written")
        (path,) = (tmp_path / "copies").iterdir()
        assert path.read_bytes() == b"raw \x1b[31m"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_what_is_too_large_for_a_clipboard_is_offered_as_a_file(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await full(app, tmp_path, Told("large", output="x" * 80_000))
        await see(pilot, "1 attempt")
        await pilot.press("y")
        await see(pilot, "80,000 characters")
        await pilot.press("enter")
        await see(pilot, "too many for a terminal's clipboard")
        await pilot.press("enter")
        await see(pilot, "Written")
        (path,) = (tmp_path / "copies").iterdir()
        assert path.stat().st_size == 80_000


async def test_where_the_screen_cannot_be_given_away_the_pager_is_not_started(
    make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", "false")
    app = make_app()
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await full(app, tmp_path)
        await see(pilot, "capital-australia")
        await pilot.press("o")
        await see(pilot, "cannot be given to a pager")
        monkeypatch.setenv("PAGER", "less '")
        await pilot.press("o")
        await see(pilot, "$PAGER cannot be understood")


async def test_a_live_task_says_what_it_is_doing(make_app: Make, tmp_path: Path) -> None:
    run = await write_run(tmp_path / "history.db", run_record(), requests=("prod",), end=None, running=1)
    with History(tmp_path / "history.db") as history:
        (activity,) = history.activity(run)
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        app.open("task", run_id=run.run_id, task_id=activity.task)
        shown = await see(pilot, "streaming for")
        assert "▸ running" in shown
        assert "3 events" in shown
        assert "There is no answer yet." in shown
        await pilot.press("4")
        await see(pilot, "There is no output to compare.")
        await pilot.press("6")
        await see(pilot, "▸ streaming, attempt 1")


async def test_a_task_that_is_gone_is_told(make_app: Make, tmp_path: Path) -> None:
    run, _ = await write_told(tmp_path / "history.db", [FULL])
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        app.open("task", run_id=run.run_id, task_id=4711)
        await see(pilot, "4711")
        await pilot.press("escape")
        await see(pilot, "support-bot")


async def test_running_a_case_again_says_how_many_calls_it_makes(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await full(app, tmp_path)
        await see(pilot, "capital-australia")
        await pilot.press("r")
        await see(pilot, "This makes 1 call.")
        await pilot.press("n")
        await see(pilot, "exact: not equal")


async def test_outcomes_without_an_answer_have_words_for_it(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    tasks = [
        Told("broken", Outcome.ERROR, answers=(None,), scores=()),
        Told("empty", Outcome.PASSED, output="", expected="", scores=()),
        Told("null", Outcome.PASSED, output=None, expected=None, scores=()),
        Told("waiting", Outcome.QUEUED),
    ]
    async with app.run_test(size=(80, 30), notifications=True) as pilot:
        await full(app, tmp_path, *tasks)
        await see(pilot, "The agent gave no usable answer.")
        await pilot.press("n")
        await see(pilot, "(an empty text")
        await pilot.press("4")
        await see(pilot, "Both are the same")
        await pilot.press("n", "3")
        await see(pilot, "null")
        await pilot.press("n", "1")
        await see(pilot, "The run ended before this task was done")


def test_the_sections_text_is_stored_for_other_programs_in_a_private_file() -> None:
    from tui_eval.tui.paging import pager, shown_file

    path = shown_file("section.txt", json.dumps("x"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert pager({"PAGER": "less -F 'a b'"}) == ["less", "-F", "a b"]
    assert pager({"PATH": os.environ["PATH"]}) in (["less"], ["more"], [])
    assert pager({"PATH": ""}) == []


async def test_a_task_whose_run_was_deleted_meanwhile_says_so(make_app: Make, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    run, task_ids = await write_told(path, (FULL,))
    delete_run(path, run.run_id)
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        app.call_after_refresh(app.open, "task", run_id=run.run_id, task_id=task_ids[0], task_ids=task_ids)
        shown = await see(pilot, "Not in the history")
        await see(pilot, "its run was deleted")
        assert "cannot be read" not in shown


async def test_a_task_on_the_screen_stays_when_its_run_is_deleted(make_app: Make, tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await full(app, tmp_path)
        await see(pilot, "exact: not equal")
        with History(tmp_path / "history.db") as history:
            run_id = history.run("last").run_id
        delete_run(tmp_path / "history.db", run_id)
        shown = await see(pilot, "Not in the history any more")
        assert "cannot be read" not in shown
        assert "capital-australia" in shown
