"""Running one program to its end: fed, read, limited, and never left behind."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tui_eval.errors import StartError
from tui_eval.processes.process import Process
from tui_eval.processes.start import start

STDERR_KEPT = 65536
"""Bytes of stderr that are kept: the last ones, where a program says why it failed."""

THROTTLE_SECONDS = 0.005
"""Pause after each block of output that nobody needs any more, so that a flood costs little CPU."""

Stop: TypeAlias = Literal["total", "idle", "flood"]


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a program ended and what it wrote.

    ``exit_code`` is None when a signal ended it; then ``signal_name`` says which (``SIGSEGV``). ``stopped`` says that
    *we* ended it, and why: a time limit, silence, or more output than allowed. ``stderr`` holds its last bytes.
    ``leftovers``: it left processes behind, which were ended. ``seconds`` is from start to end.
    """

    exit_code: int | None
    signal_name: str | None
    stdout: bytes
    stderr: bytes
    stdout_truncated: bool
    stderr_truncated: bool
    leftovers: bool
    stopped: Stop | None
    seconds: float
    pid: int


class Head:
    """The first ``limit`` bytes of an output."""

    __slots__ = ("data", "full", "limit", "on_data")

    def __init__(self, limit: int, on_data: Callable[[], None] | None) -> None:
        self.data = bytearray()
        self.limit = limit
        self.full = False
        self.on_data = on_data

    def __call__(self, chunk: bytes) -> float:
        if self.full:
            return THROTTLE_SECONDS
        self.data += chunk
        if self.on_data is not None:
            self.on_data()
        if len(self.data) > self.limit:
            del self.data[self.limit :]
            self.full = True
            return THROTTLE_SECONDS
        return 0.0


class Tail:
    """The last ``limit`` bytes of an output; beyond ``free`` bytes in all, reading slows down."""

    __slots__ = ("_data", "free", "limit", "total")

    def __init__(self, limit: int, free: int) -> None:
        self._data = bytearray()
        self.limit = limit
        self.free = free
        self.total = 0

    def __call__(self, chunk: bytes) -> float:
        self._data += chunk
        self.total += len(chunk)
        if len(self._data) > 4 * self.limit:
            del self._data[: -self.limit]
        return THROTTLE_SECONDS if self.total > self.free else 0.0

    @property
    def data(self) -> bytes:
        return bytes(self._data[-self.limit :])

    @property
    def truncated(self) -> bool:
        return self.total > self.limit


async def run_child(
    argv: Sequence[str] | None,
    *,
    shell: str | None = None,
    stdin: bytes | None,
    env: Mapping[str, str],
    cwd: Path,
    total: float | None,
    idle: float | None,
    grace: float,
    drain: float,
    max_output: int,
    on_output: Callable[[], None] | None = None,
    whole_stderr: bool = False,
) -> ChildResult:
    """Run a program (``argv``, or ``shell`` text with /bin/sh) in a session of its own, and wait for its end.

    All times are in seconds. ``total`` counts from the start, ``idle`` from the last output on either stream (or the
    start); at either limit, and above ``max_output`` bytes of stdout, the whole family is ended: TERM, ``grace``,
    KILL. When the program ended but its pipes are still open somewhere, they are read for ``drain`` more seconds, then
    what holds them is killed. ``stdin`` None means empty (never ours). ``on_output`` is called for each piece of stdout.
    ``whole_stderr`` keeps stderr from its beginning, with the same limit as stdout, instead of its last 64 KiB.

    Cancelled, it ends the family first (a second cancellation cuts the grace short). Raises
    :class:`~tui_eval.errors.StartError`.
    """
    begun = time.monotonic()
    popen = start(argv, shell, env, cwd, with_stdin=stdin is not None)
    out = Head(max_output, on_output)
    err = Head(max_output, None) if whole_stderr else Tail(STDERR_KEPT, max_output)
    try:
        process = Process(popen, grace=grace, stdout=out, stderr=err, mark=popen.mark)
    except OSError as error:
        raise StartError("start", f"the process could not be watched: {error}", passing=True) from error
    leftovers = False
    try:
        if stdin is not None:
            process.write(stdin, close=True)
        stopped = await _wait(process, lambda: out.full or (isinstance(err, Head) and err.full), total, idle, drain)
    except BaseException:
        await process.end(grace)
        raise
    if stopped is None:
        leftovers = process.settle()
    else:
        await process.end(grace)
    code = process.returncode
    return ChildResult(
        exit_code=code if code >= 0 else None,
        signal_name=signal_name(-code) if code < 0 else None,
        stdout=bytes(out.data),
        stderr=bytes(err.data),
        stdout_truncated=out.full,
        stderr_truncated=err.full if isinstance(err, Head) else err.truncated,
        leftovers=leftovers,
        stopped=stopped,
        seconds=time.monotonic() - begun,
        pid=process.pid,
    )


async def _wait(
    process: Process, flooded: Callable[[], bool], total: float | None, idle: float | None, drain: float
) -> Stop | None:
    """Wait until the program ended and its pipes are closed (or drained); the limit's name when one was reached."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while True:
        now = loop.time()
        if flooded():
            return "flood"
        if process.ended:
            if process.open_pipes:
                process.read_now()
            if flooded():
                continue
            if not process.open_pipes or now >= process.ended_at + drain:
                return None
            await process.changed(process.ended_at + drain - now)
            continue
        ends: dict[Stop, float] = {}
        if total is not None:
            ends["total"] = begun + total
        if idle is not None:
            ends["idle"] = process.last_output + idle
        which = min(ends, key=lambda name: ends[name], default=None)
        if which is not None and now >= ends[which]:
            return which
        await process.changed(None if which is None else ends[which] - now)


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11; ``signal 40`` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def last_lines(text: str, lines: int = 5, characters: int = 500) -> str:
    """The last non-empty lines of ``text``, cut at the front, on one line each: what a program said before it failed."""
    kept = [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]
    joined = "\n".join(kept)
    return joined if len(joined) <= characters else "…" + joined[-characters:]
