"""With the real package: ``pytest -m agentcompass``, with the path of its Python in ``TUI_EVAL_AGENTCOMPASS_PYTHON``."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.platforms.agentcompass.files import RECORDED
from tests.platforms.agentcompass.processes import bridge_pid
from tests.support.product import Product
from tests.support.screen_text import screen_text
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.settings import Settings
from tui_eval.tui.terminal import Terminal

pytestmark = [pytest.mark.agentcompass, pytest.mark.timeout(900)]

KEY = {"MOCK_API_KEY": "key-of-the-mock-model"}


@pytest.fixture
def product(tmp_path: Path) -> Product:
    assert os.environ.get("TUI_EVAL_AGENTCOMPASS_PYTHON"), "set TUI_EVAL_AGENTCOMPASS_PYTHON (see CONTRIBUTING.md)"
    shutil.copytree(RECORDED / "data", tmp_path / "data")
    return Product(tmp_path)


@pytest.fixture
def model() -> Iterator[int]:
    command = [sys.executable, str(Path(__file__).parent / "model.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


def asked(model: int) -> list[str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{model}/stats") as reply:
        found: list[str] = json.load(reply)["asked"]
    return found


def two_requests(product: Product, model: int) -> Path:
    text = (RECORDED / "plans" / "two_requests.yaml").read_text(encoding="utf-8")
    return product.write_plan(text.replace("18765", str(model)), "two.yaml")


def states_on_disk(product: Product, run_id: str) -> dict[str, str]:
    """What AgentCompass's own files say of each task: the folder it lies in."""
    found = {}
    for path in product.folder.glob(f"results/*/{run_id}/details/*/*/task.json"):
        found[json.loads(path.read_text())["task_id"]] = path.parents[1].name
    return found


def test_two_requests_end_as_agentcompass_says_and_failures_are_run_again_alone(product: Product, model: int) -> None:
    done = product.run("run", str(two_requests(product, model)), "--run-id", "one", environment=KEY, timeout=300)
    assert done.returncode == 1, done.stderr
    assert product.query("SELECT name, state FROM requests ORDER BY position") == [
        ("good", "completed"),
        ("mixed", "failed"),
    ]
    ours = {case: outcome for (_, case, _), outcome in product.outcomes("one").items()}
    theirs = states_on_disk(product, "one")
    assert ours.keys() == theirs.keys()
    assert {case for case, outcome in ours.items() if outcome == "error"} == {
        case for case, state in theirs.items() if state in ("error", "fatal")
    }
    assert all(outcome == "passed" for case, outcome in ours.items() if theirs[case] == "normal")
    cases: list[Any] = product.query(
        "SELECT data FROM cases JOIN tasks ON case_key = cases.id WHERE tasks.case_id = 'greet_mixed_1'"
    )
    assert b"FAIL500 please" in cases[0][0]  # what a fatal task was asked is in none of AgentCompass's files
    before = len(asked(model))
    again = product.run("rerun", "one", "--failed", "--run-id", "two", environment=KEY, timeout=300)
    assert again.returncode == 1, again.stderr
    texts = asked(model)[before:]
    assert texts
    assert all(word in " ".join(texts) for word in ("FAIL500", "FAIL400", "EMPTY"))
    assert not any("hello" in text for text in texts)
    for file in (product.folder / "history").rglob("*"):
        assert file.is_dir() or KEY["MOCK_API_KEY"].encode() not in file.read_bytes(), file


def test_a_killed_agentcompass_is_resumed_without_calling_again_what_had_finished(product: Product, model: int) -> None:
    path = two_requests(product, model)
    text = (
        path.read_text().replace("task_concurrency: 4", "task_concurrency: 2").replace("version: good", "version: slow")
    )
    path.write_text(text)
    slow = product.folder / "data" / "slow.jsonl"
    slow.write_text(slow.read_text().replace("SLOW8000", "SLOW1500"))
    with product.start("run", str(path), "--run-id", "one", "--progress", "none", environment=KEY) as running:
        product.wait_for("SELECT 1 FROM requests WHERE passed >= 2", seconds=200)
        os.kill(bridge_pid(product, "one"), signal.SIGKILL)
        running.communicate(timeout=60)
    assert product.query("SELECT state FROM runs") == [("interrupted",)]
    finished = product.query("SELECT count(*) FROM tasks WHERE outcome = 'passed'")[0][0]
    before = len(asked(model))
    done = product.run("resume", "one", environment=KEY, timeout=300)
    assert done.returncode == 1, done.stderr  # the other request has failures
    assert len([text for text in asked(model)[before:] if "SLOW" in text]) == 6 - finished
    assert product.query("SELECT passed FROM requests ORDER BY position")[0] == (6,)


def test_a_cancelled_run_ends_in_the_way_of_agentcompass(product: Product, model: int) -> None:
    path = two_requests(product, model)
    path.write_text(path.read_text().replace("version: good", "version: slow"))
    with product.start("run", str(path), "--run-id", "one", "--progress", "none", environment=KEY) as running:
        product.wait_for("SELECT 1 FROM activity WHERE phase = 'run_harness'", seconds=200)
        product.run("cancel", "one")
        running.communicate(timeout=60)
    assert product.query("SELECT state FROM runs") == [("cancelled",)]
    info = json.loads((product.folder / "results" / "good" / "one" / "run_info.json").read_text())
    assert info["status"] == "cancelled"


# -- by keyboard --


async def see(pilot: Pilot[Any], text: str, seconds: float = 200.0) -> str:
    """Wait until a text stands on the screen: AgentCompass alone takes half a minute to begin."""
    end = time.monotonic() + seconds
    while text not in (shown := screen_text(pilot.app)):
        assert time.monotonic() < end, f"{text!r} did not come:\n{shown}"
        await asyncio.sleep(0.1)
        await pilot.pause()
    return shown


@pytest.fixture
def app(product: Product, monkeypatch: pytest.MonkeyPatch) -> TuiEvalApp:
    for name, value in {**product.environment(KEY), "XDG_CONFIG_HOME": str(product.folder / "none")}.items():
        monkeypatch.setenv(name, value)
    place = product.folder
    terminal = Terminal(refresh_hz=4.0)
    return TuiEvalApp(product.history, place, terminal=terminal, settings=Settings(), config=place / "config.yaml")


async def start(pilot: Pilot[Any]) -> None:
    await pilot.press("L")
    await see(pilot, "two.yaml", 30)
    await pilot.press("G", "enter")
    await see(pilot, "ready to start", 30)
    await pilot.press("r")
    await see(pilot, "AgentCompass works through 2 requests", 30)
    await pilot.press("y")


async def test_by_keyboard_two_requests_are_launched_watched_and_their_failures_run_again(
    product: Product, model: int, app: TuiEvalApp
) -> None:
    two_requests(product, model)
    async with app.run_test(size=(140, 45), notifications=True) as pilot:
        await pilot.press("L")
        await see(pilot, "two.yaml", 30)
        await pilot.press("G", "enter")
        await see(pilot, "ready to start", 30)
        await pilot.press("d")
        shown = await see(pilot, "answered after")
        assert "requests:" in shown
        assert KEY["MOCK_API_KEY"] not in shown
        await pilot.press("escape", "escape", "escape")
        await start(pilot)
        shown = await see(pilot, "partly failed")
        assert "no official figure" in shown
        assert product.query("SELECT name, state FROM requests ORDER BY position") == [
            ("good", "completed"),
            ("mixed", "failed"),
        ]
        before = len(asked(model))
        await pilot.press("R")
        await see(pilot, "Failed and errors", 30)
        await pilot.press("enter")
        await see(pilot, "This makes 3 calls.", 30)
        await pilot.press("y")
        await see(pilot, "reused")
        await see(pilot, "partly failed")
    texts = asked(model)[before:]
    assert texts
    assert all(word in " ".join(texts) for word in ("FAIL500", "FAIL400", "EMPTY"))
    assert not any("hello" in text for text in texts)


async def test_by_keyboard_a_run_is_cancelled_in_its_middle(product: Product, model: int, app: TuiEvalApp) -> None:
    path = two_requests(product, model)
    path.write_text(path.read_text().replace("version: good", "version: slow"))
    async with app.run_test(size=(140, 45), notifications=True) as pilot:
        await start(pilot)
        await see(pilot, "run_harness")
        await pilot.press("X")
        await see(pilot, "Stop at once", 30)
        await pilot.press("j", "enter")
        await see(pilot, "- cancelled")
    (info,) = product.folder.glob("results/good/*/run_info.json")
    assert json.loads(info.read_text())["status"] == "cancelled"
