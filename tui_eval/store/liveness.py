"""Is the runner of a run still there? Answered from its row, its heartbeat and the process table."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tui_eval.store.records import RunRecord, RunState

HEARTBEAT_SECONDS = 2.0
"""How often a runner writes its heartbeat."""
STALE_SECONDS = 10.0
"""A runner whose process is there but may not be looked at counts as gone after this long without a heartbeat."""
STALE_ELSEWHERE_SECONDS = 30.0
"""A runner on another machine counts as gone after this long without a heartbeat (clocks may differ a little)."""


@dataclass(frozen=True, slots=True)
class Runner:
    """Who executes a run: host name, process id and the start of that process (see :func:`pid_start`)."""

    host: str
    pid: int
    pid_started: str


def this_runner() -> Runner:
    """The identity of the calling process."""
    return Runner(socket.gethostname(), os.getpid(), pid_start(os.getpid()))


def pid_start(pid: int) -> str:
    """``machine/start`` of a process, "" when there is none (or only its zombie), ``machine/?`` when it is hidden.

    The start tells a process from a later one with the same number: on Linux field 22 of ``/proc/PID/stat`` in clock
    ticks since boot, elsewhere what ``ps`` says. The machine is the boot id and the pid namespace, so that two
    containers with one host name are not taken for each other.
    """
    if pid <= 0:
        return ""
    return _start_from_proc(pid) if Path("/proc/self/stat").exists() else _start_from_ps(pid)


def _start_from_proc(pid: int) -> str:
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return f"{machine()}/?" if _exists(pid) else ""
    fields = line.rpartition(")")[2].split()  # the name, in parentheses, may hold anything
    return "" if fields[0] in "ZX" else f"{machine()}/{fields[19]}"


def _start_from_ps(pid: int) -> str:
    done = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    start = " ".join(done.stdout.split())
    return f"{machine()}/{start}" if start else ""


def _exists(pid: int) -> bool:
    """Whether there is a process ``pid``, also where /proc hides those of other users."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


@cache
def machine() -> str:
    """Boot id and pid namespace of this machine as far as the system tells them; "-" otherwise."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}:{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return "-"


def runner_is_alive(run: RunRecord, now: float, host: str, pid_start_of: Callable[[int], str], here: str = "") -> bool:
    """Whether the process that owns a run still works on it.

    On this machine (same host name, same machine in ``pid_started``; ``here`` is ours, "" for any) the process table
    decides; a process that stands still, after SIGSTOP or a closed lid, is alive. Elsewhere only the heartbeat can
    tell, see :data:`STALE_ELSEWHERE_SECONDS`.
    """
    machine_of_run = run.pid_started.rpartition("/")[0]
    if run.pid is not None and run.pid_started and run.host == host and here in ("", machine_of_run):
        start = pid_start_of(run.pid)
        if not start.endswith("/?"):
            return start == run.pid_started
        return _fresh(run, now, STALE_SECONDS)
    return _fresh(run, now, STALE_ELSEWHERE_SECONDS)


def _fresh(run: RunRecord, now: float, seconds: float) -> bool:
    return run.heartbeat_at is not None and now - run.heartbeat_at < seconds


def effective_state(
    run: RunRecord, now: float, host: str, pid_start_of: Callable[[int], str], here: str = ""
) -> RunState:
    """The state to show: a live state whose runner is gone is ``interrupted``. ``now`` is seconds since the epoch."""
    if not run.state.live or runner_is_alive(run, now, host, pid_start_of, here):
        return run.state
    return RunState.INTERRUPTED


def state_now(run: RunRecord) -> RunState:
    """:func:`effective_state` as of now, on this machine."""
    return effective_state(run, time.time(), socket.gethostname(), pid_start, machine())
