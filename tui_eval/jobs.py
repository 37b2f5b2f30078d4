"""What a runner is told to do, as data: made by the command line, the screens and the API, carried out by the engine."""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from tui_eval.errors import UsageError

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True, slots=True)
class Job:
    """What a runner is to do.

    ``action`` is ``launch`` (needs ``plan``: a path or the plan's data), ``rerun`` (needs ``parent`` and
    ``selection``) or ``resume``. ``run_id`` is the run that is made, or finished. ``history`` is the file's path.
    ``selection`` has the keys of :class:`~tui_eval.analysis.selection.Action`. Raises UsageError for a run id that is
    none (see :func:`checked_run_id`).
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

    def __post_init__(self) -> None:
        checked_run_id(self.run_id)


def checked_run_id(run_id: str) -> str:
    """``run_id``, when it can be one: it becomes a part of file names (the log, results folders) and is typed on
    command lines. Raises UsageError otherwise."""
    if not _RUN_ID.fullmatch(run_id):
        shown = repr(run_id if len(run_id) <= 100 else run_id[:100] + "…")
        raise UsageError(f"run id {shown}: expected letters, digits, `.`, `_` and `-`, at most 80 of them")
    if run_id == "last":
        raise UsageError("run id `last`: that word means the newest run")
    return run_id


def new_run_id(now: float | None = None) -> str:
    """An id for a run: ``20261129-143501-7f3a``. Sorts by time (UTC), safe in a file name."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    return f"{stamp}-{secrets.token_hex(2)}"
