"""The newest run of each plan or evalset file, from the history: read page by page, older pages once."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.records import RunRecord
    from tui_eval.store.run_queries import RunOverview

EVALSET_TAG = "datalayer"
"""Stands on every run whose plan was made of an evalset (``platforms.datalayer.conversion``)."""
PAGE = 200
OLDEST = 10_000
"""Runs that are looked through at most."""


class LastRuns:
    """The question: the newest run by the real path of its plan, or of the evalset that its plan was made of. Called in a
    thread, never by two at once."""

    def __init__(self) -> None:
        self._evalsets: dict[int, str] = {}
        self._older: dict[str, RunOverview] = {}
        self._since: tuple[float, int] | None = None

    def __call__(self, history: History) -> dict[str, RunOverview]:
        newest = history.runs(limit=PAGE)
        if len(newest) == PAGE and self._since is None:
            self._read_older(history, newest[-1])
        found = {path: overview for overview in reversed(newest) if (path := self._file_of(history, overview.run))}
        if len(newest) < PAGE:
            return found
        # Runs that newer ones push off the page stay known.
        self._older.update(found)
        return dict(self._older)

    def _read_older(self, history: History, last: RunOverview) -> None:
        """Everything behind the newest page. It does not change any more but by deletion, which ``forget`` is for."""
        seen = PAGE
        while seen < OLDEST:
            self._since = (last.run.created_at, last.run.id)
            page = history.runs(limit=1000, before=self._since)
            for overview in page:
                if path := self._file_of(history, overview.run):
                    self._older.setdefault(path, overview)
            seen += len(page)
            if len(page) < 1000:
                return
            last = page[-1]

    def _file_of(self, history: History, run: RunRecord) -> str:
        path = plan_of(run)
        if path or EVALSET_TAG not in run.tags:
            return path
        if run.id not in self._evalsets:  # the plans of a list of runs are not read with it
            self._evalsets[run.id] = evalset_of(history.run(run.run_id))
        return self._evalsets[run.id]

    def forget(self) -> None:
        """Read older runs again the next time."""
        self._older.clear()
        self._evalsets.clear()
        self._since = None


def plan_of(run: RunRecord) -> str:
    """The real path of a run's plan file; "" when the plan was given as data. Stored relative ones begin in the folder
    the run was started from, which is not stored: the plan's own folder is."""
    if not run.plan_path:
        return ""
    path = run.plan_path
    if not os.path.isabs(path):
        path = os.path.join(run.folder, os.path.basename(path))
    return _real(path)


def evalset_of(run: RunRecord) -> str:
    """The real path of the evalset that a run's plan was made of; "" when it came as data, or the plan is about others."""
    for request in run.plan.get("requests") or ():
        dataset = request.get("dataset") or {}
        if dataset.get("format") == "evalset" and isinstance(dataset.get("path"), str):
            return _real(os.path.join(run.folder, dataset["path"].replace("$${", "${")))
    return ""


@lru_cache(maxsize=4096)
def _real(path: str) -> str:
    return os.path.realpath(path)
