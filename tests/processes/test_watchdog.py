"""When our process is killed, what it started goes too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tui_eval.processes import groups
from tui_eval.processes.watchdog import Watchdog

ROOT = str(Path(__file__).parents[2])

RUNNER = """
import asyncio, os, sys
from pathlib import Path
from tui_eval.processes.child import run_child
from tui_eval.processes.workers import WorkerPool

async def main():
    folder = Path(sys.argv[1])
    (folder / "hang.py").write_text("import os, time\\ndef hang(x):\\n    print(os.getpid(), flush=True)\\n    time.sleep(300)\\n")
    def shown(line): print(line, flush=True)
    pool = WorkerPool(size=1, folder=folder, environment=dict(os.environ), log=shown)
    command = "trap '' TERM; setsid sleep 300 & sleep 300 & echo $$ $!; while :; do sleep 0.05; done"
    marker = folder / "pids"
    await asyncio.gather(
        pool.call("hang:hang", 1, timeout=None),
        run_child(["sh", "-c", command + "", ], stdin=None, env=dict(os.environ), cwd=folder, total=None, idle=None,
                  grace=0.3, drain=0.1, max_output=10000),
    )
asyncio.run(main())
"""


def alive(pid: int) -> bool:
    line = groups.entry(pid)
    return line is not None and line.living


def gone_within(seconds: float, pids: list[int]) -> list[int]:
    deadline = time.monotonic() + seconds
    while (left := [pid for pid in pids if alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def descendants(root: int) -> list[int]:
    lines = groups.table()
    found = {root}
    while more := {line.pid for line in lines if line.parent in found} - found:
        found |= more
    return sorted(found - {root})


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_no_child_outlives_a_runner_that_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": ROOT},
        start_new_session=True,
    )
    assert runner.stdout is not None
    try:
        runner.stdout.readline()  # the worker is in its call
        time.sleep(0.2)
        pids = descendants(runner.pid)
        assert len(pids) >= 5  # watchdog, worker, shell and its two sleeps
        runner.send_signal(number)
        runner.wait(5)
        assert gone_within(3.0, pids) == []
    finally:
        runner.kill()
        runner.wait()
        runner.stdout.close()


def test_a_watchdog_that_was_killed_is_started_again_and_told_everything() -> None:
    watchdog = Watchdog()
    sleeper = subprocess.Popen(["sleep", "300"], start_new_session=True)
    other = subprocess.Popen(["sleep", "300"], start_new_session=True)
    try:
        watchdog.start()
        watchdog.add(sleeper.pid, 0.2)
        os.kill(watchdog._pid, signal.SIGKILL)
        assert gone_within(2.0, [watchdog._pid]) == []
        watchdog.add(other.pid, 0.2)
        watchdog.remove(other.pid)
        second = watchdog._pid
        os.close(watchdog._pipe)  # what happens when we die
        assert sleeper.wait(3) == -signal.SIGTERM
        assert other.poll() is None
        os.waitpid(second, 0)
    finally:
        for process in (sleeper, other):
            process.kill()
            process.wait()


def test_a_watchdog_that_is_stopped_does_not_block_us() -> None:
    watchdog = Watchdog()
    watchdog.start()
    first = watchdog._pid
    os.kill(first, signal.SIGSTOP)
    try:
        for _ in range(20_000):
            watchdog.add(999_999_999, 0.0)
            watchdog.remove(999_999_999)
        assert watchdog._pid != first
    finally:
        os.close(watchdog._pipe)
        os.kill(first, signal.SIGCONT)
        os.waitpid(first, 0)
        os.waitpid(watchdog._pid, 0)


def test_a_name_with_spaces_and_parentheses_does_not_confuse_the_process_table(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(program), "60"], start_new_session=True)
    try:
        time.sleep(0.05)
        line = groups.entry(process.pid)
        assert line is not None
        assert (line.parent, line.group, line.session) == (os.getpid(), process.pid, process.pid)
    finally:
        process.kill()
        process.wait()


def test_a_process_id_in_use_again_is_not_signalled() -> None:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        line = groups.entry(process.pid)
        assert line is not None
        line.started += 1  # the one we knew was another
        assert not groups.signal_one(line, signal.SIGKILL)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
