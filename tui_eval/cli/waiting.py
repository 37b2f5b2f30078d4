"""A sign of life where a command keeps one waiting: one line on the terminal, rewritten, and gone when it is over."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TypeVar

from tui_eval.cli.terminal import cut, is_terminal, one_line, tell

AFTER_SECONDS = 1.0
"""What takes no longer than that needs no words."""
EVERY_SECONDS = 0.25

T = TypeVar("T")


class Waiting:
    """``with Waiting("reading the tasks") as waiting:`` around work that writes nothing itself.

    Says something only where standard error is a terminal and the work takes longer than :data:`AFTER_SECONDS`: how
    much is done (:meth:`at`), or for how long already.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._done = self._total = 0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Waiting:
        if is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb":
            self._thread = threading.Thread(target=self._show, name="waiting", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def shown(self) -> bool:
        """Whether there is a terminal to show it on."""
        return self._thread is not None

    def at(self, what: str, done: int, total: int) -> None:
        """What is being done now, and how much of how much of it; costs next to nothing."""
        self._what, self._done, self._total = what, done, total

    def counted(self, items: Iterable[T], total: int) -> Iterator[T]:
        """The same items; how many were taken is what is done."""
        self._total = total
        for item in items:
            self._done += 1
            yield item

    def _show(self) -> None:
        begun = time.monotonic()
        if self._over.wait(AFTER_SECONDS):
            return
        while not self._over.wait(EVERY_SECONDS):
            seconds = time.monotonic() - begun
            rewrite(how_far(self._what, self._done, self._total) + f" ({seconds:.0f} s)")
        rewrite("")


class LinesNowAndThen:
    """How far a check is, as lines of standard error, for a program that reads them."""

    def __init__(self) -> None:
        self._due = time.monotonic() + EVERY_SECONDS

    def __call__(self, what: str, done: int, total: int) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + EVERY_SECONDS
            tell(how_far(what, done, total))


def how_far(what: str, done: int, total: int) -> str:
    """``checking tickets.jsonl … 43 %``; without the share of an unknown total."""
    share = f" … {100 * min(done, total) // total} %" if total else " …"
    return one_line(what) + share


def rewrite(line: str) -> None:
    """Put ``line`` in the place of the last line of the terminal that standard error is; "" leaves nothing there."""
    try:
        sys.stderr.write(f"\r\x1b[K{cut(line, shutil.get_terminal_size().columns - 1)}")
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody looks any more
        return
