"""Long work beside the screen: in a thread that nothing waits for, so that neither keys nor the program's end do.

The threads of an executor are waited for when a program ends, whatever they are doing; a plan of 16 MB or a scan of a
dataset of 10 GB must not hold a user who quits.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_SWITCH_SECONDS = 0.0005
"""Python lets a computing thread run for 5 ms before another one gets its turn, and a key takes some forty turns."""


class _Turns:
    """Shorter turns for all threads while there is work in one of them; the usual ones otherwise."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working = 0
        self._usual = sys.getswitchinterval()

    def __enter__(self) -> None:
        with self._lock:
            self._working += 1
            if self._working == 1:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(_SWITCH_SECONDS)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._working -= 1
            if not self._working:
                sys.setswitchinterval(self._usual)


short_turns = _Turns()
"""``with short_turns:`` around what computes in a thread for longer than a moment."""


class Stopped(Exception):
    """Work was given up because nobody wants its result any more."""


async def away(work: Callable[[], T]) -> T:
    """The result of ``work``, done in a thread of its own. Raises what it raises.

    When the waiting is cancelled the thread goes on to its end, unheard; work that can take long looks at a flag of
    its own and raises :class:`Stopped`.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def land(give: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            give(value)

    def run() -> None:
        give: Callable[[Any], None] = future.set_result
        value: Any = None
        try:
            with short_turns:
                value = work()
        except Exception as error:
            give, value = future.set_exception, error
        try:
            loop.call_soon_threadsafe(land, give, value)
        except RuntimeError:  # the loop has ended: nobody is waiting
            return

    threading.Thread(target=run, name="away", daemon=True).start()
    return await future
