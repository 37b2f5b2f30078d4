"""`tui-eval demo`: one command, no network, no key, and the result is known beforehand."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tui_eval.cli.demo import differences
from tui_eval.demo.knowledge import expected_counts
from tui_eval.demo.live import embedded_agent
from tui_eval.domain import Outcome
from tui_eval.store.records import Counters, RequestRecord, RequestState


def demo(history: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "DEMO_AGENT_URL"}
    if path is not None:
        environment["PATH"] = path
    return subprocess.run(
        [sys.executable, "-m", "tui_eval", "demo", "--history", str(history), *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        env=environment,
        check=False,
    )


def test_the_demo_goes_as_designed_and_shows_its_result(tmp_path: Path) -> None:
    done = demo(tmp_path / "history.db")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "went as designed" in done.stdout
    for request in ("json", "sse", "command"):
        counts = expected_counts(request)
        row = next(line.split() for line in done.stdout.splitlines() if line.startswith(f"{request} "))
        assert row[1:5] == [
            "24",
            *(str(counts[word]) for word in Outcome if word in ("passed", "failed", "error")),
        ]
    assert "\x1b" not in done.stdout


def test_the_demo_needs_nothing_on_the_path_and_tells_machines_the_same(tmp_path: Path) -> None:
    done = demo(tmp_path / "history.db", "--json", "--headless", path="/nonexistent")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["as_designed"] is True


def test_a_result_that_is_not_as_designed_is_told() -> None:
    record = RequestRecord(1, 0, "json", RequestState.COMPLETED, "http", counters=Counters(total=24, passed=24))
    assert differences([record]) == [
        "request json: 24 passed, not 20",
        "request json: 0 failed, not 3",
        "request json: 0 error, not 1",
    ]


def test_the_agent_of_the_demo_is_gone_afterwards() -> None:
    with embedded_agent() as address:
        port = int(address.rpartition(":")[2])
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_samples_are_copied_once_and_never_over_something(tmp_path: Path) -> None:
    target = tmp_path / "mine"
    assert demo(tmp_path / "h.db", "--copy-samples", str(target)).returncode == 0
    assert (target / "quickstart.yaml").is_file()
    assert (target / "data" / "quickstart.jsonl").is_file()
    assert (target / "README.md").is_file()
    again = demo(tmp_path / "h.db", "--copy-samples", str(target))
    assert again.returncode == 2
    assert "not empty" in again.stderr


def test_a_port_in_use_is_told_in_words(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = demo(tmp_path / "h.db", "--serve", "--port", str(port))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"port {port} is in use; name another one" in done.stderr


def test_what_to_type_next_can_be_typed(tmp_path: Path) -> None:
    """Who has not activated the environment is told the path of the program, who has its name; paths are quoted."""
    program = Path(sys.executable).parent / "tui-eval"
    target = tmp_path / "mes évals"
    for path, name in (("/usr/bin:/bin", str(program)), (f"{program.parent}:/usr/bin:/bin", "tui-eval")):
        told = subprocess.run(
            [str(program), "demo", "--copy-samples", str(target / name.replace("/", "_"))],
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            env={**os.environ, "PATH": path, "LANG": "C.UTF-8"},
            check=True,
        )
        serve, run = told.stdout.splitlines()[-2:]
        assert shlex.split(serve) == [name, "demo", "--serve", "--port", "8799"]
        assert Path(shlex.split(run)[-1]).is_file()
