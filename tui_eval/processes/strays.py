"""Processes that somebody's run started and that are still there although their runner is gone.

Normally the watchdog ends them (see ``watchdog``). Where it was killed too, or a child got away from everything, a mark
in the environment that every child of ours inherits tells which runner it belonged to.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count

from tui_eval.processes import groups

MARK = "TUI_EVAL_RUNNER"
"""Environment variable of every child: process id and start (clock ticks since boot) of the runner, ``4711-123456``."""

CHILD = "TUI_EVAL_CHILD"
"""Environment variable of every child: its runner's mark and a number of its own, ``4711-123456-7``. What it starts inherits it, and has it
still when it left the session and its parents are gone."""

OURS = frozenset({MARK, CHILD})
"""What a process that belongs to nobody must not inherit, although it is started below a child of somebody's run."""

_numbers = count(1)
_MARK = re.compile(rb"([0-9]{1,20})-([0-9]{1,20})")


@dataclass(frozen=True, slots=True)
class Stray:
    """A process without its runner. ``program`` is the name of its program, never its arguments."""

    pid: int
    program: str
    runner: int


def mark() -> str:
    """What children of this process get as :data:`MARK`; "" on a system without ``/proc``."""
    return _mark(os.getpid())


def child_mark() -> str:
    """What the next child gets as :data:`CHILD`; "" on a system without ``/proc``."""
    own = mark()
    return f"{own}-{next(_numbers)}" if own else ""


@cache
def _mark(pid: int) -> str:
    line = groups.entry(pid)
    return "" if line is None else f"{pid}-{line.started}"


def strays() -> list[Stray]:
    """Living processes of this user whose runner is gone, by process id. Empty on a system without ``/proc``."""
    return sorted(_strays(groups.table()), key=lambda stray: stray.pid)


def _strays(lines: list[groups.Entry]) -> Iterator[Stray]:
    alive = {(line.pid, line.started) for line in lines if line.living}
    for line in lines:
        if not line.living or (runner := _runner_of(line.pid)) is None or runner in alive:
            continue
        now = groups.entry(line.pid)
        if now is not None and now.living and now.started == line.started and _gone(*runner):
            yield Stray(line.pid, _program(line.pid), runner[0])


def _runner_of(pid: int) -> tuple[int, int] | None:
    """Process id and start of the runner that a process is marked with; None without a mark, or when it may not be
    read (another user's)."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return None
    given = next((entry for entry in variables if entry.startswith(MARK.encode() + b"=")), b"")
    found = _MARK.fullmatch(given.partition(b"=")[2])
    return (int(found[1]), int(found[2])) if found else None


def _gone(pid: int, started: int) -> bool:
    line = groups.entry(pid)
    return line is None or not line.living or line.started != started


def _program(pid: int) -> str:
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return "?"
