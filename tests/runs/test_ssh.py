"""People launch over SSH and close the lid. The run goes on, and they find its result when they connect again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.product import Product
from tests.support.pty import Terminal
from tests.support.ssh import Server, ssh_server

PLAN = """
version: 1
name: over-ssh
task_concurrency: 2
requests:
  - name: one
    dataset: {path: cases.jsonl}
    solution: {type: command, argv: [sh, -c, "sleep 0.4; echo done"]}
    evaluators: [{id: contains, expected: done}]
"""
TASKS = 24


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with ssh_server(tmp_path / "ssh") as running:
        yield running


def application(product: Product, server: Server, *arguments: str) -> list[str]:
    """The client that opens the application there, over the history and the plans of ``product``."""
    environment = {
        "TUI_EVAL_HISTORY": str(product.history),
        "XDG_CONFIG_HOME": str(product.folder / "config"),
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
    }
    program = [sys.executable, "-m", "tui_eval", "open", *arguments, "--workspace", str(product.folder)]
    return server.command(program, environment)


def processes_with(words: tuple[str, ...]) -> list[int]:
    """Process ids of those that have all these words on their command line, the clients left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            except OSError:
                continue
            if all(word in line for word in words) and line[0] != "ssh":
                found.append(int(entry.name))
    return found


def launch(terminal: Terminal) -> None:
    """From the home screen: choose the plan, look at what will be done, start it, and see it run."""
    terminal.wait_for("There is no run in the history yet", 30)
    terminal.send("L")
    terminal.wait_for("over-ssh", 20)
    terminal.send("j")
    terminal.pump(0.5)
    terminal.send("\r")
    terminal.wait_for("ready to start", 30)
    terminal.send("r")
    terminal.wait_for("Start plan.yaml?", 10)
    terminal.pump(0.5)
    terminal.send("y")
    terminal.wait_for("running", 20)


def find_the_result(product: Product, server: Server) -> None:
    run_id = product.query("SELECT run_id FROM runs")[0][0]
    with Terminal(application(product, server, "last")) as again:
        again.wait_for("completed", 30)
        again.wait_for(f"{TASKS} passed", 10)
        again.send("\x11")
        assert again.wait(20) == 0
    assert Counter(product.outcomes(run_id).values()) == {"passed": TASKS}
    assert product.query("SELECT state, error FROM runs") == [("completed", "")]
    assert product.query("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize(
    ("victim", "number"),
    [
        ("client", signal.SIGKILL),
        pytest.param("application", signal.SIGHUP, marks=pytest.mark.long),
        pytest.param("application", signal.SIGKILL, marks=pytest.mark.long),
    ],
)
def test_a_run_launched_over_ssh_outlives_the_connection(
    product: Product, server: Server, victim: str, number: signal.Signals
) -> None:
    product.write_plan(PLAN)
    product.write_cases([{"id": f"c{number}"} for number in range(TASKS)])
    words = ("open", str(product.folder))
    with Terminal(application(product, server)) as terminal:
        launch(terminal)
        (screen,) = processes_with(words)
        if victim == "client":
            terminal.kill(number)
        else:
            os.kill(screen, number)
        terminal.wait(30)
    assert product.query("SELECT state FROM runs") == [("running",)], "it was cut off in the middle"
    until = time.monotonic() + 15
    while processes_with(words):
        assert time.monotonic() < until, "the application must end with its connection"
        time.sleep(0.1)
    product.wait_for("SELECT 1 FROM runs WHERE state = 'completed'", seconds=60)
    find_the_result(product, server)


def test_a_run_started_by_a_command_over_ssh_outlives_the_connection_too(product: Product, server: Server) -> None:
    plan = product.write_plan(PLAN)
    product.write_cases([{"id": f"c{number}"} for number in range(TASKS)])
    place = {"TUI_EVAL_HISTORY": str(product.history)}
    program = f"{sys.executable} -m tui_eval run {plan} --detach && exec {sys.executable} -m tui_eval watch last"
    client = subprocess.Popen(
        server.command(["sh", "-c", program], place), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert client.stdout is not None
    while "running" not in (line := client.stdout.readline()):
        assert line, "the watcher ended"
    client.kill()
    client.communicate()
    product.wait_for("SELECT 1 FROM runs WHERE state = 'completed'", seconds=60)
    seen = subprocess.run(
        server.command([sys.executable, "-m", "tui_eval", "show", "last"], place, terminal=False),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "completed" in seen.stdout
    assert Counter(product.outcomes(product.query("SELECT run_id FROM runs")[0][0]).values()) == {"passed": TASKS}
