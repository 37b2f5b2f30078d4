"""The watchdog: a small process that ends our children when we die without being able to (``kill -9``, out of memory).

It is started with the first child, holds one end of a pipe whose other end only we hold, and is told which process
groups are ours. A write of a few bytes is all that a child costs. The program itself is in ``groups``. Between a
child's start and that write lie some tens of microseconds, the only time in which a ``kill -9`` can leave it behind.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

PROGRAM = Path(__file__).with_name("groups.py")


class Watchdog:
    """Our end of it. Safe to use from several threads; a watchdog that was killed is started again."""

    __slots__ = ("_graces", "_lock", "_pid", "_pipe")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._graces: dict[int, float] = {}
        self._pid = 0
        self._pipe = -1

    def start(self) -> None:
        """Make sure that it runs. Raises :class:`OSError` when the system has no process or descriptor left."""
        with self._lock:
            if self._pipe < 0:
                self._spawn()

    def add(self, group: int, grace: float) -> None:
        """``group`` is ours: if we die, it gets TERM, ``grace`` seconds, then KILL."""
        with self._lock:
            self._graces[group] = grace
            self._tell(f"+{group} {grace}\n")

    def remove(self, group: int) -> None:
        """``group`` has ended."""
        with self._lock:
            if self._graces.pop(group, None) is not None:
                self._tell(f"-{group}\n")

    def forget(self) -> None:
        """In a fork of our process: these are the parent's children, and its end of the pipe must not live on here."""
        if self._pipe >= 0:
            os.close(self._pipe)
        self.__init__()  # type: ignore[misc]

    def _tell(self, line: str) -> None:
        if self._pipe >= 0:
            try:
                os.write(self._pipe, line.encode())
                return
            except (BrokenPipeError, BlockingIOError):  # it was killed, or it does not read (stopped)
                os.close(self._pipe)
                self._pipe = -1
        self._spawn()

    def _spawn(self) -> None:
        """Start one and tell it everything."""
        self._reap()
        read, write = os.pipe()
        arguments = [sys.executable, "-I", "-S", str(PROGRAM)]
        nowhere = os.devnull
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, read, 0),
            (os.POSIX_SPAWN_OPEN, 1, nowhere, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, nowhere, os.O_WRONLY, 0),
        ]
        try:
            self._pid = os.posix_spawn(sys.executable, arguments, os.environ, file_actions=actions)
        except OSError:
            os.close(write)
            raise
        finally:
            os.close(read)
        os.set_blocking(write, False)
        self._pipe = write
        if self._graces:
            os.write(write, "".join(f"+{group} {grace}\n" for group, grace in self._graces.items()).encode())

    def _reap(self) -> None:
        """Take the exit status of one that was killed; leave one that only hangs to the end of its pipe."""
        if self._pid:
            with suppress(ChildProcessError):  # somebody else in this process waits for every child
                os.waitpid(self._pid, os.WNOHANG)
            self._pid = 0


WATCHDOG = Watchdog()
os.register_at_fork(after_in_child=WATCHDOG.forget)
