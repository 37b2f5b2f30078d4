"""The first minute of a newcomer, in a real terminal: the application opens, the demo runs live, a failure is read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pty import Terminal


def program(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tui_eval", *arguments]


@pytest.fixture
def place(tmp_path: Path) -> dict[str, str | None]:
    return {
        "TUI_EVAL_HISTORY": str(tmp_path / "history.db"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "HOME": str(tmp_path),
    }


def test_without_a_command_the_application_opens_and_q_leaves_it(place: dict[str, str | None]) -> None:
    with Terminal(program(), cols=80, rows=24, environment=place) as terminal:
        terminal.wait_for("There is no run in the history yet")
        terminal.send("q")
        assert terminal.wait(10) == 0


def test_without_a_terminal_it_says_how_to_begin(tmp_path: Path) -> None:
    ended = subprocess.run(program(), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert ended.returncode == 0
    assert "tui-eval demo" in ended.stdout


def test_a_dumb_terminal_is_told_about_the_commands(place: dict[str, str | None]) -> None:
    with Terminal(program(), environment=place | {"TERM": "dumb"}) as terminal:
        assert terminal.wait(10) == 2
        assert b"tui-eval runs" in terminal.raw
        assert b"\x1b[?1049h" not in terminal.raw


@pytest.mark.long
def test_the_demo_is_watched_live_and_what_failed_is_run_again(place: dict[str, str | None], tmp_path: Path) -> None:
    with Terminal(program("demo"), cols=120, rows=40, environment=place) as terminal:
        terminal.wait_for("▸ running", 20)
        terminal.wait_for("Canberra", 30)
        terminal.wait_for("62 passed", 150)
        terminal.send("R")
        terminal.wait_for("Failed and errors", 10)
        terminal.send("\r")
        terminal.wait_for("10 calls", 10)
        terminal.send("y")
        terminal.wait_for("62 reused", 30)
        for _ in range(3):  # from the new run to the old one, home, out
            terminal.send("q")
            terminal.pump(0.5)
        assert terminal.wait(10) == 0
