"""Signals that stop what is being executed, instead of ending the process."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Interruptible(Protocol):
    """What signals act on."""

    def interrupt(self, number: int) -> None: ...


@contextmanager
def obeying_signals(execution: Interruptible) -> Iterator[None]:
    """Signals stop the run while this is entered; afterwards they have their usual meaning again.

    SIGHUP stays ignored where it was when the program began: that is what ``nohup`` is for.
    """
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    numbers = [number for number, how in before.items() if (number, how) != (signal.SIGHUP, signal.SIG_IGN)]
    for number in numbers:
        loop.add_signal_handler(number, execution.interrupt, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])
