"""The history as the command line opens it: read-only, and absent is not an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.display import duration, local_time
from tui_eval.errors import UsageError

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.records import RunRecord

__all__ = ["duration", "local_time", "opened", "place_of", "took"]


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


def took(run: RunRecord) -> float | None:
    """Seconds from start to end of a run, None while it has not ended."""
    if run.started_at is None or run.finished_at is None:
        return None
    return run.finished_at - run.started_at
