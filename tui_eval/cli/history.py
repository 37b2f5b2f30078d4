"""The history as the command line opens it: read-only, and absent is not an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.errors import UsageError

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.records import RunRecord


def place_of(option: Path | None) -> Path:
    """The history file that ``--history``, the environment or the default names."""
    from tui_eval.store.place import history_path

    return history_path(option, os.environ)


@contextmanager
def opened(option: Path | None) -> Iterator[History]:
    """The history, for reading. Raises UsageError when there is none yet, HistoryError when it cannot be read."""
    from tui_eval.store.reader import History

    place = place_of(option)
    if not os.path.lexists(place):
        raise UsageError(
            f"there is no history at {place} yet: `tui-eval run PLAN` makes it (or name another one with --history)"
        )
    with History(place) as history:
        yield history


def local_time(seconds: float | None) -> str:
    """A time of the history (seconds since the epoch) on this machine's clock, ``-`` when there is none."""
    if seconds is None:
        return "-"
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration(seconds: float | None) -> str:
    """A length of time in the unit that reads best: ``850 ms``, ``12.3 s``, ``4 min 05 s``, ``2 h 03 min``."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def took(run: RunRecord) -> float | None:
    """Seconds from start to end of a run, None while it has not ended."""
    if run.started_at is None or run.finished_at is None:
        return None
    return run.finished_at - run.started_at
