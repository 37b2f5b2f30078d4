"""Long work beside the screen: in a thread that nothing waits for, so that neither keys nor the program's end do.

The threads of an executor are waited for when a program ends, whatever they are doing; a plan of 16 MB or a scan of a
dataset of 10 GB must not hold a user who quits.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


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
            value = work()
        except Exception as error:
            give, value = future.set_exception, error
        try:
            loop.call_soon_threadsafe(land, give, value)
        except RuntimeError:  # the loop has ended: nobody is waiting
            return

    threading.Thread(target=run, name="away", daemon=True).start()
    return await future
