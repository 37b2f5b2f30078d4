"""A child that outlived its runner and the watchdog is found by the mark that it carries."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tui_eval.processes.start import start
from tui_eval.processes.strays import CHILD, MARK, mark, strays
from tui_eval.runner import _environment

RUNNER = """
import os, sys, time
from pathlib import Path
from tui_eval.processes.start import start
from tui_eval.processes.watchdog import WATCHDOG
child = start(["sleep", "60"], None, dict(os.environ), Path("/"), with_stdin=False)
print(child.pid, WATCHDOG._pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_child_whose_runner_and_watchdog_are_gone_is_found() -> None:
    runner = subprocess.Popen([sys.executable, "-c", RUNNER], stdout=subprocess.PIPE, text=True)
    assert runner.stdout is not None
    child, watchdog = map(int, runner.stdout.readline().split())
    try:
        assert child not in {stray.pid for stray in strays()}, "its runner lives"
        os.kill(watchdog, signal.SIGKILL)
        runner.kill()
        runner.communicate()
        (stray,) = [one for one in strays() if one.pid == child]
        assert stray.program == "sleep"
        assert stray.runner == runner.pid
    finally:
        os.kill(child, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while any(one.pid == child for one in strays()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_another_process_with_the_number_of_the_runner_does_not_hide_a_stray() -> None:
    started = int(mark().partition("-")[2]) - 1
    child = subprocess.Popen(["sleep", "60"], env={MARK: f"{os.getpid()}-{started}"})
    try:
        while not any(stray.pid == child.pid for stray in strays()):
            assert child.poll() is None
            time.sleep(0.01)
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("value", ["", "-", "x-y", "1", "1-", "٣-٤", "9" * 5000 + "-1"])
def test_a_mark_that_means_nothing_is_passed_over(value: str) -> None:
    child = subprocess.Popen(["sleep", "60"], env={MARK: value})
    try:
        time.sleep(0.05)
        assert child.pid not in {stray.pid for stray in strays()}
    finally:
        child.kill()
        child.wait()


def test_each_child_has_a_mark_of_its_own_and_a_detached_run_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = []
    for _ in range(2):
        child = start(["sh", "-c", f"echo ${CHILD}"], None, dict(os.environ), Path("/"), with_stdin=False)
        told = child.communicate()[0].decode().strip()
        assert told == child.mark
        marks.append(told)
    assert len(set(marks)) == 2
    assert all(told.startswith(f"{mark()}-") for told in marks)
    monkeypatch.setenv(CHILD, marks[0])
    monkeypatch.setenv(MARK, mark())
    assert not {CHILD, MARK} & set(_environment({})), "a limit of the command that started it must not end it"
