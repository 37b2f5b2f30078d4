"""What a runner is told to do, as data: made by the command line, the screens and the API, carried out by the engine."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Job:
    """What a runner is to do.

    ``action`` is ``launch`` (needs ``plan``: a path or the plan's data), ``rerun`` (needs ``parent`` and
    ``selection``) or ``resume``. ``run_id`` is the run that is made, or finished. ``history`` is the file's path.
    ``selection`` has the keys of :class:`~tui_eval.analysis.selection.Action`.
    """

    action: str
    history: str
    run_id: str
    plan: str | dict[str, Any] | None = None
    folder: str | None = None
    overrides: tuple[str, ...] = ()
    parent: str | None = None
    selection: dict[str, Any] = field(default_factory=dict)
    stored_cases: bool = False
    results_dir: str | None = None
    tags: tuple[str, ...] = ()
    note: str = ""


def new_run_id(now: float | None = None) -> str:
    """An id for a run: ``20261129-143501-7f3a``. Sorts by time (UTC), safe in a file name."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    return f"{stamp}-{secrets.token_hex(2)}"
