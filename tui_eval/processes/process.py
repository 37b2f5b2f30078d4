"""One running child process, tied to the running event loop: its pipes, its end, and ending it with all its family.

Own code instead of ``asyncio.create_subprocess_exec``: that one starts a thread for every child on Python 3.11, ties
"the program ended" to "its pipes were closed" differently from version to version, reaps the leader before the group
is ended (so that the group's id could already be somebody else's), and can lose a child when it is cancelled while it
starts. Here a start is one synchronous step, the leader is reaped last, and cancellation waits for the end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from subprocess import Popen

from tui_eval.processes import groups
from tui_eval.processes.strays import CHILD
from tui_eval.processes.watchdog import WATCHDOG

BLOCK = 65536
"""Bytes read or written at a time: what a pipe holds."""

POLL_SECONDS = 0.02
"""How often something that sends no event (a group that empties) is looked at."""

LONGEST_POLL_SECONDS = 0.1

UNKILLABLE_SECONDS = 5.0
"""How long an end is waited for after KILL: a process stuck in the kernel (a dead network disk) may not end at all."""

Sink = Callable[[bytes], float]
"""Takes a piece of output; returns the seconds to wait before more is read. Not 0 also wakes the owner."""


class Process:
    """A child made by :func:`~tui_eval.processes.start.start`. Whoever makes one must see :meth:`end` or
    :meth:`settle` through; both leave no process of its group and no open descriptor.

    ``mark`` is what it was started with, where :meth:`end` is also to end what carries it: programs that left the
    session, closed the pipes, and whose parents are gone.
    """

    def __init__(self, popen: Popen[bytes], *, grace: float, stdout: Sink, stderr: Sink, mark: str = "") -> None:
        self._popen = popen
        self._loop = asyncio.get_running_loop()
        self._waiters: set[asyncio.Future[None]] = set()
        self._outgoing: deque[memoryview] = deque()
        self._close_stdin = False
        self._strays: list[groups.Entry] = []
        self._mark = mark
        self.pid = popen.pid
        self.ended = False
        self.ended_at = 0.0
        self.last_output = self._loop.time()
        self._sinks: dict[int, Sink] = {}
        self._pidfd = -1
        try:
            WATCHDOG.add(self.pid, grace)
        except OSError:
            groups.signal_group(self.pid, signal.SIGKILL)
            popen.wait()
            self._close_streams()
            raise
        for stream, sink in ((popen.stdout, stdout), (popen.stderr, stderr)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._sinks[stream.fileno()] = sink
            self._loop.add_reader(stream.fileno(), self._read, stream.fileno())
        self._paused: set[int] = set()
        self._watch_end()

    # --- its end

    def _watch_end(self) -> None:
        """Have :meth:`_on_end` called when it ends: through a pidfd where there is one, else by looking."""
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # not Linux, an old kernel, a sandbox
            self._look()
        else:
            self._loop.add_reader(self._pidfd, self._on_end)

    def _look(self) -> None:
        if self._popen.poll() is None:
            self._loop.call_later(POLL_SECONDS, self._look)
        else:
            self._on_end()

    def _on_end(self) -> None:
        self.ended = True
        self.ended_at = self._loop.time()
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        self._notify()

    @property
    def returncode(self) -> int:
        """Exit code, or minus the signal's number; only after :meth:`end` or :meth:`settle`."""
        code = self._popen.returncode
        return -signal.SIGKILL if code is None else code  # None: stuck in the kernel, killed but not gone

    # --- its output

    @property
    def open_pipes(self) -> bool:
        """Whether anybody can still write to its stdout or stderr."""
        return bool(self._sinks)

    def _read(self, descriptor: int) -> bool:
        """Take what is there, at most one block. False when there is nothing (for now, or for ever)."""
        try:
            chunk = os.read(descriptor, BLOCK)
        except (BlockingIOError, InterruptedError):
            return False
        if not chunk:
            self._close_reader(descriptor)
            return False
        self.last_output = self._loop.time()
        pause = self._sinks[descriptor](chunk)
        if pause and descriptor not in self._paused:
            self._paused.add(descriptor)
            self._loop.remove_reader(descriptor)
            self._loop.call_later(pause, self._go_on, descriptor)
            self._notify()
        return True

    def _go_on(self, descriptor: int) -> None:
        if descriptor in self._paused:
            self._paused.discard(descriptor)
            self._loop.add_reader(descriptor, self._read, descriptor)

    def _close_reader(self, descriptor: int) -> None:
        if descriptor not in self._paused:
            self._loop.remove_reader(descriptor)
        self._paused.discard(descriptor)
        del self._sinks[descriptor]
        for stream in (self._popen.stdout, self._popen.stderr):
            if stream is not None and not stream.closed and stream.fileno() == descriptor:
                stream.close()
        self._notify()

    def read_now(self, most: int = 32 * BLOCK) -> None:
        """Take what lies in the pipes at this moment without waiting, at most ``most`` bytes of each."""
        for descriptor in list(self._sinks):
            for _ in range(most // BLOCK):
                if not self._read(descriptor):
                    break

    # --- its input

    def write(self, data: bytes, *, close: bool = False) -> None:
        """Feed its stdin as it reads; a child that does not read, or closes its stdin, is no error."""
        if data:
            self._outgoing.append(memoryview(data))
        self._close_stdin = self._close_stdin or close
        self._feed()

    def _feed(self) -> None:
        stream = self._popen.stdin
        if stream is None or stream.closed:
            self._outgoing.clear()
            return
        descriptor = stream.fileno()
        try:
            os.set_blocking(descriptor, False)
            while self._outgoing:
                piece = self._outgoing[0]
                written = os.write(descriptor, piece[:BLOCK])
                self._outgoing[0] = piece[written:]
                if written == len(piece):
                    self._outgoing.popleft()
        except (BlockingIOError, InterruptedError):
            self._loop.add_writer(descriptor, self._feed)
            return
        except (BrokenPipeError, ConnectionResetError):
            self._outgoing.clear()
            self._close_stdin = True
        self._loop.remove_writer(descriptor)
        if self._close_stdin:
            stream.close()

    # --- waiting

    def _notify(self) -> None:
        for waiter in self._waiters:
            _release(waiter)

    def wake(self) -> None:
        """Make :meth:`changed` return: a sink has seen what its owner waits for."""
        self._notify()

    async def changed(self, timeout: float | None) -> None:
        """Wait until it ends, closes a pipe or :meth:`wake` is called, at most ``timeout`` seconds (None: for ever)."""
        waiter = self._loop.create_future()
        self._waiters.add(waiter)
        timer = None
        if timeout is not None:
            timer = self._loop.call_later(max(timeout, 0.0), _release, waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)
            if timer is not None:
                timer.cancel()

    # --- ending it

    async def end(self, grace: float) -> None:
        """TERM to its whole family, ``grace`` seconds, KILL; then reap it and close everything.

        A cancellation while this waits cuts the grace short and is raised when all is done.
        """
        cancelled = False
        if grace > 0 and not self._gone():
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # a stopped process acts on TERM only when it goes on
            cancelled = await self._wait_gone(grace)
        if not self._gone():
            self._signal(signal.SIGKILL)
            cancelled = await self._wait_gone(UNKILLABLE_SECONDS, hurry=False) or cancelled
        self.read_now()
        self._close()
        if cancelled:
            raise asyncio.CancelledError

    async def _wait_gone(self, seconds: float, *, hurry: bool = True) -> bool:
        """Wait until nothing of the family is left. True when cancelled meanwhile (with ``hurry`` it returns then)."""
        cancelled = False
        deadline = time.monotonic() + seconds
        pause = POLL_SECONDS
        while not self._gone() and (left := deadline - time.monotonic()) > 0:
            try:
                await self.changed(min(pause, left))
                pause = min(pause * 1.5, LONGEST_POLL_SECONDS)
            except asyncio.CancelledError:
                cancelled = True
                if hurry:
                    break
        return cancelled

    def _gone(self) -> bool:
        """Whether the leader, its group and the strays have ended. Reaps the leader."""
        if not self.ended or self._popen.poll() is None:
            return False
        return not groups.any_left(self.pid, self._strays)

    def _signal(self, number: int) -> None:
        """Signal the group and what slipped out of it. The first time, and again before KILL, strays are looked for."""
        if number in (signal.SIGTERM, signal.SIGKILL):
            known = {(line.pid, line.started) for line in self._strays}
            found = self._slipped_away()
            self._strays += [line for line in found if (line.pid, line.started) not in known]
        groups.signal_group(self.pid, number)
        for line in self._strays:
            groups.signal_one(line, number)

    def _slipped_away(self) -> list[groups.Entry]:
        lines = groups.table()
        found = groups.strays(self.pid, lines)
        if self._mark:
            known = {line.pid for line in found}
            own = next((line.started for line in lines if line.pid == self.pid), 0)
            carriers = groups.marked(f"{CHILD}={self._mark}".encode(), own, lines)
            found += [line for line in carriers if line.group != self.pid and line.pid not in known]
        return found

    def settle(self) -> bool:
        """After it ended by itself: reap it, end what it left behind, close everything. True when there was something.

        Left behind is: a living process in its group or session, or one that still holds its pipes open and is not
        older than it. They get KILL at once: their parent is gone and its answer is complete. A process that left the
        session *and* closed the pipes made itself a daemon on purpose; it is not looked for.
        """
        held = self._pipe_names()
        self_entry = groups.entry(self.pid) if held else None  # readable as long as the leader is not reaped
        self._popen.poll()
        if held:
            left = True
            self._strays = groups.strays(self.pid, groups.table())
            if self_entry is not None:
                self._strays += groups.holders(held, self_entry.started)
        else:
            left = groups.any_left(self.pid, [])
        if left:
            groups.signal_group(self.pid, signal.SIGKILL)
            for line in self._strays:
                groups.signal_one(line, signal.SIGKILL)
            self.read_now()
        self._close()
        return left

    def _pipe_names(self) -> set[str]:
        """The open output pipes as ``/proc/<pid>/fd`` shows them."""
        names = set()
        for descriptor in self._sinks:
            names.add(f"pipe:[{os.fstat(descriptor).st_ino}]")
        return names

    def _close(self) -> None:
        for descriptor in list(self._sinks):
            self._close_reader(descriptor)
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        stdin = self._popen.stdin
        if stdin is not None and not stdin.closed:
            self._loop.remove_writer(stdin.fileno())
        self._close_streams()
        self._outgoing.clear()
        WATCHDOG.remove(self.pid)

    def _close_streams(self) -> None:
        for stream in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if stream is not None:
                stream.close()


def _release(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
