"""What a foreground run says on standard error while it works. Never a carriage return where it is not a terminal."""

from __future__ import annotations

import sys
import time

from tui_eval.cli.progress_line import progress_line
from tui_eval.cli.terminal import tell
from tui_eval.cli.waiting import AFTER_SECONDS, EVERY_SECONDS, how_far, rewrite
from tui_eval.engine.execution import Listener
from tui_eval.store.records import RequestRecord, RunRecord, RunState

PLAIN_SECONDS = 5.0
"""At most one line in so many seconds where lines are kept (a log, a pipe)."""


AGAIN = "; Ctrl-C again ends it at once"


def _line(run: RunRecord, requests: list[RequestRecord]) -> str:
    """How far it is; while it stops, also that one need not wait."""
    return progress_line(run, requests) + (AGAIN if run.state is RunState.STOPPING else "")


def listener_for(progress: str) -> Listener:
    """``auto``: one line that is rewritten on a terminal, else plain lines; ``plain``; ``none``."""
    if progress == "none":
        return TroubleOnly()
    if progress == "auto" and sys.stderr is not None and sys.stderr.isatty():
        return OneLine()
    return PlainLines()


class TroubleOnly(Listener):
    """Says only what must be known: trouble with the history."""

    def trouble(self, message: str) -> None:
        tell(f"warning: {message}")


class PlainLines(TroubleOnly):
    """A line when something changed, at most one in :data:`PLAIN_SECONDS`, and one at the end of each request."""

    def __init__(self) -> None:
        self._said = ""
        self._due = time.monotonic() + PLAIN_SECONDS

    def preparing(self, what: str, done: int, total: int) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + PLAIN_SECONDS
            tell(how_far(what, done, total))

    def begun(self, run: RunRecord, requests: list[RequestRecord]) -> None:
        for warning in run.warnings:
            tell(f"warning: {warning}")
        tell(progress_line(run, requests))
        self._due = time.monotonic() + PLAIN_SECONDS

    def tick(self, run: RunRecord, requests: list[RequestRecord]) -> None:
        line = _line(run, requests)
        stopped_now = run.state is RunState.STOPPING and AGAIN not in self._said
        if line != self._said and (time.monotonic() >= self._due or stopped_now):
            self._said = line
            self._due = time.monotonic() + PLAIN_SECONDS
            tell(line)


class OneLine(TroubleOnly):
    """One line at the bottom of a terminal, rewritten in place four times a second, gone at the end."""

    def __init__(self) -> None:
        self._said = ""
        self._due = time.monotonic() + AFTER_SECONDS

    def preparing(self, what: str, done: int, total: int) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + EVERY_SECONDS
            self._write(how_far(what, done, total))

    def begun(self, run: RunRecord, requests: list[RequestRecord]) -> None:
        self._write("")
        for warning in run.warnings:
            tell(f"warning: {warning}")
        self.tick(run, requests)

    def tick(self, run: RunRecord, requests: list[RequestRecord]) -> None:
        line = _line(run, requests)
        if line != self._said:
            self._said = line
            self._write(line)

    def ended(self) -> None:
        self._write("")

    def trouble(self, message: str) -> None:
        self._write("")
        super().trouble(message)

    def _write(self, line: str) -> None:
        rewrite(line)
