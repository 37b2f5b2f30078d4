"""Whether a runner is alive, told from its process here and from its heartbeat elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from tests.store.records import run_record
from tui_eval.store.liveness import (
    STALE_ELSEWHERE_SECONDS,
    STALE_SECONDS,
    effective_state,
    machine,
    pid_start,
    state_now,
    this_runner,
)
from tui_eval.store.records import RunRecord, RunState

NOW = 10_000.0


def owned(host: str = "here", start: str = "m/100", heartbeat: float | None = NOW, **changes: object) -> RunRecord:
    return run_record(host=host, pid=42, pid_started=start, heartbeat_at=heartbeat, **changes)


def alive(pid: int) -> str:
    return "m/100"


def gone(pid: int) -> str:
    return ""


def hidden(pid: int) -> str:
    return "m/?"


def test_a_process_of_this_machine_decides_at_once() -> None:
    assert effective_state(owned(), NOW, "here", alive, "m") is RunState.RUNNING
    assert effective_state(owned(), NOW, "here", gone, "m") is RunState.INTERRUPTED


def test_another_process_with_the_same_number_is_not_the_runner() -> None:
    assert effective_state(owned(start="m/99"), NOW, "here", alive, "m") is RunState.INTERRUPTED


def test_a_runner_that_stands_still_is_alive() -> None:
    assert effective_state(owned(heartbeat=NOW - 3600), NOW, "here", alive, "m") is RunState.RUNNING


def test_elsewhere_only_the_heartbeat_tells() -> None:
    for place in ({"host": "there"}, {"start": "another machine/100"}):
        fresh = owned(heartbeat=NOW - STALE_ELSEWHERE_SECONDS + 1, **place)  # type: ignore[arg-type]
        stale = owned(heartbeat=NOW - STALE_ELSEWHERE_SECONDS - 1, **place)  # type: ignore[arg-type]
        assert effective_state(fresh, NOW, "here", gone, "m") is RunState.RUNNING
        assert effective_state(stale, NOW, "here", alive, "m") is RunState.INTERRUPTED


def test_a_hidden_process_is_believed_while_its_heart_beats() -> None:
    assert effective_state(owned(heartbeat=NOW - 1), NOW, "here", hidden, "m") is RunState.RUNNING
    assert effective_state(owned(heartbeat=NOW - STALE_SECONDS - 1), NOW, "here", hidden, "m") is RunState.INTERRUPTED


def test_a_run_that_has_ended_needs_no_runner() -> None:
    for state in RunState:
        if not state.live:
            assert effective_state(owned(state=state, heartbeat=None), NOW, "here", gone, "m") is state


def test_the_start_of_a_process_is_its_own() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert pid_start(os.getpid()) == pid_start(os.getpid()) != ""
    start = pid_start(child.pid)
    assert start.startswith(machine())
    child.kill()
    deadline = time.monotonic() + 5
    while pid_start(child.pid):  # a zombie until it is waited for
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child.communicate()
    assert pid_start(child.pid) == ""
    assert pid_start(0) == pid_start(-1) == pid_start(2**40) == ""


def test_this_process_is_alive_to_itself() -> None:
    me = this_runner()
    run = run_record(host=me.host, pid=me.pid, pid_started=me.pid_started)
    assert state_now(run) is RunState.RUNNING
