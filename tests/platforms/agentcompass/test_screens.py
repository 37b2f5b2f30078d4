"""Runs of AgentCompass on the screens, with its stand-in: launched, watched, cancelled, run again."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time

from tests.platforms.agentcompass.conftest import Compass
from tests.platforms.agentcompass.processes import bridge_pid
from tests.platforms.agentcompass.steps import PATIENCE, launch_page, page, start
from tests.support.screen_text import screen_text, see, until
from tui_eval.tui.application import TuiEvalApp


async def test_a_launched_orchestration_is_watched_and_its_failures_are_run_again(
    app: TuiEvalApp, compass: Compass
) -> None:
    compass.orchestration(good="ok ok", mixed="ok fatal wrong")
    async with app.run_test(size=(140, 45), notifications=True) as pilot:
        await pilot.press("P")
        await see(pilot, "orchestration.yaml", PATIENCE)
        await pilot.press("L")
        await page(pilot)
        await start(pilot)
        shown = await see(pilot, "partly failed", PATIENCE)
        assert "HTTP 500: exploded" in shown
        assert "no official figure (1 task with a fatal issue); measured 0.5000" in shown
        before = len(compass.calls)
        await pilot.press("R")
        await see(pilot, "Failed and errors")
        await pilot.press("enter")
        await see(pilot, "This makes 2 calls.")
        await pilot.press("y")
        await see(pilot, "3 reused", PATIENCE)
        await see(pilot, "partly failed", PATIENCE)
    assert compass.calls[before:] == ["mixed_1", "mixed_2"]


async def test_a_run_is_cancelled_in_its_middle(app: TuiEvalApp, compass: Compass) -> None:
    compass.orchestration(first="ok hang", second="ok")
    async with app.run_test(size=(140, 45), notifications=True) as pilot:
        await launch_page(pilot)
        await start(pilot)
        shown = await see(pilot, "run_harness", PATIENCE)  # the phase, beside the task
        assert "first_1" in shown
        await pilot.press("X")
        await see(pilot, "Stop at once")
        await pilot.press("j", "enter")
        await see(pilot, "- cancelled", PATIENCE)
        await see(pilot, "C continue", PATIENCE)
    assert compass.query("SELECT state FROM runs") == [("cancelled",)]
    assert compass.calls == ["first_0", "first_1"]


async def test_what_a_killed_agentcompass_left_is_finished_from_the_screen(app: TuiEvalApp, compass: Compass) -> None:
    compass.orchestration(first=" ".join(["ok", *["slow"] * 15]))
    async with app.run_test(size=(140, 45), notifications=True) as pilot:
        await launch_page(pilot)
        await start(pilot)
        await see(pilot, "run_harness", PATIENCE)
        await until(pilot, lambda: compass.query("SELECT 1 FROM requests WHERE passed >= 2"), PATIENCE)
        os.kill(bridge_pid(compass, "the only one"), signal.SIGKILL)
        await see(pilot, "C continue", PATIENCE)
        assert "SIGKILL" in "".join(str(row) for row in compass.query("SELECT error FROM runs"))
        await pilot.press("C")
        await see(pilot, "Finish run")
        await pilot.press("y")
        await see(pilot, "✓ completed", PATIENCE)
    assert compass.calls.count("first_0") == 1
    assert set(compass.outcomes(compass.query("SELECT run_id FROM runs")[0][0]).values()) == {"passed"}


async def test_what_agentcompass_writes_stands_on_the_screen_within_a_second(app: TuiEvalApp, compass: Compass) -> None:
    """From the time in the event to the row of the task; the stand-in finishes one every 0.3 seconds."""
    compass.orchestration(first="slow slow slow slow slow slow")
    seen: list[float] = []  # when each end of a task stood on the screen
    async with app.run_test(size=(120, 40)) as pilot:
        await launch_page(pilot)
        await start(pilot)
        end = time.monotonic() + PATIENCE
        turned, held = time.monotonic(), 0.0  # how long a loaded machine kept this loop itself waiting
        while len(seen) < 6:
            assert time.monotonic() < end, screen_text(app)
            await asyncio.sleep(0.02)
            turned, held = time.monotonic(), max(held, time.monotonic() - turned)
            done = re.search(r"(\d)/6", screen_text(app))
            seen += [time.time()] * ((int(done.group(1)) if done else 0) - len(seen))
    (events,) = compass.folder.glob("results/first/*/progress.jsonl")
    written = [json.loads(line) for line in events.read_text().splitlines()]
    ends = [event["timestamp"] for event in written if event["event"] == "task_finished"]
    late = sorted(at - end for at, end in zip(seen, ends, strict=True))
    print(f"from the event to the screen: {', '.join(f'{each:.2f}' for each in late)} s, held {held:.2f} s")
    assert late[len(late) // 2] < 1.0 + held, (late, held)
