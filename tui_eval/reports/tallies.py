"""Summaries of every request of a run, collected while its tasks stream by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tui_eval.analysis.summary import Summary, Tally
from tui_eval.reports.view import TaskView, repeats_of
from tui_eval.store.records import RequestRecord, RunRecord


@dataclass(slots=True)
class RequestTallies:
    """One :class:`Tally` a request, by name."""

    run: RunRecord
    tallies: dict[str, Tally]

    @classmethod
    def of(cls, run: RunRecord, requests: Iterable[RequestRecord]) -> RequestTallies:
        return cls(run, {request.name: Tally(repeats_of(run, request.name)) for request in requests})

    def add(self, view: TaskView) -> None:
        """Raises :class:`KeyError` for a task of a request that is not in the run."""
        self.tallies[view.request].add(view.task, view.scores)

    def summaries(self, requests: Iterable[RequestRecord]) -> dict[str, Summary]:
        """The summary of each request by name, with its counters as they are now."""
        return {request.name: self.tallies[request.name].summary(request.counters) for request in requests}
