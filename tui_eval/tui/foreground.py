"""Giving the terminal to another program until it ends: an editor, a pager."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from tui_eval.tui.application import TuiEvalApp


class NoTerminal(Exception):
    """This terminal cannot be given away (the application runs in a browser or under a test)."""


def run_in_foreground(app: TuiEvalApp, command: Sequence[str]) -> int:
    """Run ``command`` in the terminal; its exit status, once the screen is ours again.

    Raises NoTerminal, and OSError or ValueError when the program cannot be started.
    """
    try:
        with app.suspend(), _interrupts_left_to_it():
            status = subprocess.call(command)
    except SuspendNotSupported as error:
        raise NoTerminal from error
    app.refresh(layout=True)
    app.screen.refresh(layout=True)
    return status


@contextmanager
def _interrupts_left_to_it() -> Iterator[None]:
    """Ctrl-C is for the program in front. A handler, not SIG_IGN: the child would inherit that."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
