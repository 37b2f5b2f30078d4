"""Finishing the reports of runs on demand: what ``tui-eval agentloop sync`` does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tui_eval.platforms.agentloop.following import Reported, Rules, report_run
from tui_eval.platforms.agentloop.locks import reporting_lock
from tui_eval.platforms.agentloop.reporting import FINAL
from tui_eval.store import platform_records as book
from tui_eval.store.liveness import state_now
from tui_eval.store.reader import History

_LOOK_SECONDS = 0.2


def sync_run(
    history: Path,
    run_id: str,
    environment: Mapping[str, str],
    rules: Rules,
    waiting: Callable[[str], None] = lambda message: None,
) -> list[Reported]:
    """Report what is left of a run and fetch its scores; what became of each of its records.

    Where another process is at it already, it is waited for, ``rules.patience`` seconds at most. ``waiting`` is told
    so. Raises UsageError, HistoryError.
    """
    begun = time.monotonic()
    told = False
    while True:
        with reporting_lock(history, run_id) as ours:
            if ours:
                return asyncio.run(report_run(history, run_id, environment, rules))
        found = look(history, run_id)
        waited = time.monotonic() - begun
        judged = all(not one.scores_wanted for one in found) or waited >= (rules.scores or 0.0)
        if waited >= rules.patience or (judged and all(one.complete and not one.open for one in found)):
            return found
        if not told:
            waiting(f"another process is reporting {run_id}; waiting for it")
            told = True
        time.sleep(_LOOK_SECONDS)


def look(history: Path, run_id: str) -> list[Reported]:
    """What is known of the records of a run, without asking the platform. Raises UsageError, HistoryError."""
    with History(history) as stored:
        run = stored.run(run_id)
        names = {request.id: request.name for request in stored.requests(run)}
    live = state_now(run).live
    found = []
    for record, counts in book.reported(history, run.id, "agentloop"):
        unfinished = record.status not in FINAL
        wanted = record.status == "completed" and bool(record.settings.get("judged"))
        found.append(
            Reported(
                names[record.request],
                record,
                counts,
                record.error,
                open=unfinished and not live,
                scores_wanted=wanted and not record.evaluation.get("done"),
            )
        )
    return found


def unfinished(history: Path) -> list[str]:
    """The ids of runs with something left to report, newest first."""
    from contextlib import closing

    from tui_eval.store.faults import explaining
    from tui_eval.store.opening import open_read_only

    connection = open_read_only(history)
    if connection is None:
        return []
    with explaining(history), closing(connection):
        return book.unfinished_runs(connection, FINAL, "agentloop")
