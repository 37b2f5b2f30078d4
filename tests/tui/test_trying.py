"""Trying a solution: what would be sent is shown, and sent once and only when the user says so."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.player import play
from tests.support.screen_text import see
from tests.tui.saved_solutions import http, open_solutions, reply, workspace, write
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.projections import trying

MakeApp = Callable[..., TuiEvalApp]


def test_a_report_that_lacks_everything_can_be_shown() -> None:
    for report in ({}, {"sent": True}, {"error": {"kind": "usage", "message": "x"}}, {"sent": True, "answer": None}):
        for place in range(len(trying.SECTIONS)):
            assert isinstance(trying.section(report, place, raw=False), list)
        assert trying.copies(report) is not None
        assert trying.notes(report)


async def test_trying_shows_what_is_sent_and_sends_it_once_after_a_question(make_app: MakeApp, tmp_path: Path) -> None:
    async with play({"paths": {"/ask": reply('{"output": "the answer [/b]"}')}}) as agent:
        workspace(tmp_path, agent.url("/ask"))
        async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
            await open_solutions(pilot)
            await pilot.press("t")
            await see(pilot, "This would be sent to")
            await pilot.press("i", "end", "backspace", "backspace", *"why?", "escape")
            await see(pilot, '"q": "why?"')
            assert agent.requests == []
            await pilot.press("s")
            shown = await see(pilot, "Call the agent, once?")
            assert f"host {agent.base_url.removeprefix('http://')}" in shown
            assert "This makes 1 call." in shown
            await pilot.press("n")
            await pilot.pause(0.2)
            assert agent.requests == []
            await pilot.press("s")
            await see(pilot, "Call the agent, once?")
            await pilot.press("y")
            await see(pilot, "the answer [/b]")
            assert len(agent.requests) == 1
            assert json.loads(agent.requests[0].body) == {"q": "why?"}
            await pilot.press("5")
            await see(pilot, "agent-7")
            await pilot.press("1")
            await see(pilot, "This was sent to")
            await pilot.press("y")
            await see(pilot, "Request as curl")
            await pilot.press("escape", "escape")
            await see(pilot, "solutions/prod")
    assert not (tmp_path / "history.db").exists()


async def test_events_are_shown_with_their_times(make_app: MakeApp, tmp_path: Path) -> None:
    head = {"text": "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"}
    steps = [head, {"text": 'data: {"t": "a"}\n\n'}, {"sleep": 0.05}, {"text": 'event: end\ndata: {"t": "b"}\n\n'}]
    async with play({"paths": {"/ask": steps}}) as agent:
        workspace(tmp_path)
        path = tmp_path / "solutions" / "prod.yaml"
        write(path, {"type": "http", "url": agent.url("/ask"), "response": "sse", "chunk_extractor": "t"})
        async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
            await open_solutions(pilot)
            await pilot.press("t")
            await see(pilot, "This would be sent to")
            await pilot.press("s")
            await see(pilot, "Call the agent, once?")
            await pilot.press("y")
            await see(pilot, "2 Answer ✓")
            await pilot.press("3")
            shown = await see(pilot, '{"t": "b"}')
            assert " s  +0.0" in shown
            assert "end" in shown


async def test_a_case_is_chosen_from_a_dataset(make_app: MakeApp, tmp_path: Path) -> None:
    workspace(tmp_path)
    rows = "".join(json.dumps({"id": f"c{place}", "question": f"number {place}?"}) + "\n" for place in range(300))
    (tmp_path / "data.jsonl").write_text(rows)
    async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
        await open_solutions(pilot)
        await pilot.press("t")
        await see(pilot, "This would be sent to")
        await pilot.press("c")
        await see(pilot, "Which dataset?")
        await pilot.press("enter")
        await see(pilot, "Which case of data?")
        await pilot.press(*"299", "enter")
        await see(pilot, '"q": "number 299?"')


async def test_an_inline_one_is_tried_on_the_first_case_of_its_request(make_app: MakeApp, tmp_path: Path) -> None:
    workspace(tmp_path)
    async with make_app().run_test(size=(120, 40), notifications=True) as pilot:
        await open_solutions(pilot)
        await pilot.press("j", "t")
        shown = await see(pilot, "This would be sent to")
        assert "first?" in shown
        await pilot.press("s")
        await see(pilot, "command cat")
        await pilot.press("y")
        await see(pilot, "2 Answer ✓")
        await see(pilot, '"question": "first?"')


async def test_a_call_that_hangs_can_be_cancelled(make_app: MakeApp, tmp_path: Path) -> None:
    workspace(tmp_path)
    mark = tmp_path / "child.pid"
    script = f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 60"
    write(tmp_path / "solutions" / "prod.yaml", {"type": "command", "shell": True, "command": script})
    async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
        await open_solutions(pilot)
        await pilot.press("t")
        await see(pilot, "This would be sent to")
        await pilot.press("s")
        await see(pilot, "Call the agent, once?")
        await pilot.press("y")
        await see(pilot, "calling…")
        end = time.monotonic() + 8
        while not mark.exists() and time.monotonic() < end:
            await asyncio.sleep(0.05)
        await pilot.press("x")
        await see(pilot, "Cancelled")
        child = int(mark.read_text())
        while os.path.exists(f"/proc/{child}") and time.monotonic() < end:
            await asyncio.sleep(0.05)
        assert not os.path.exists(f"/proc/{child}")


async def test_a_variable_that_is_not_set_is_typed_on_the_page_and_kept_nowhere(
    make_app: MakeApp, tmp_path: Path
) -> None:
    async with play({"paths": {"/ask": reply('{"output": "the answer"}')}}) as agent:
        workspace(tmp_path)
        write(tmp_path / "solutions" / "prod.yaml", http("${NOT_SET_ANYWHERE}/ask"))
        async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
            await open_solutions(pilot)
            await pilot.press("t")
            shown = await see(pilot, "NOT_SET_ANYWHERE` is not set")
            assert "s asks for it" in shown
            await pilot.press("s")
            await see(pilot, "Value of NOT_SET_ANYWHERE, for this page only")
            await pilot.press("escape")
            await see(pilot, "Not started: NOT_SET_ANYWHERE is not set")
            await pilot.press("s")
            await see(pilot, "Value of NOT_SET_ANYWHERE")
            await pilot.press(*agent.base_url, "enter")
            await see(pilot, "Call the agent, once?")
            await pilot.press("y")
            await see(pilot, "the answer")
            assert len(agent.requests) == 1
    assert "NOT_SET_ANYWHERE" not in os.environ
    assert agent.base_url not in (tmp_path / "solutions" / "prod.yaml").read_text()


async def test_what_is_wrong_is_said_instead_of_sent(make_app: MakeApp, tmp_path: Path) -> None:
    workspace(tmp_path)
    write(tmp_path / "solutions" / "prod.yaml", http("http://a/{{ question.part.of_it }}"))
    async with make_app().run_test(size=(80, 24), notifications=True) as pilot:
        await open_solutions(pilot)
        await pilot.press("t")
        await see(pilot, "cannot be sent")
        await pilot.press("s")
        await see(pilot, "This cannot be sent")
        await pilot.press("i", "ctrl+k", *"[1", "escape")
        await see(pilot, "not valid YAML")
