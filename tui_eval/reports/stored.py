"""The tasks of a run in the history as reports want them: with their case, output, scores and attempts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from tui_eval.reports.view import TaskView

if TYPE_CHECKING:
    from tui_eval.domain import JsonValue, Outcome
    from tui_eval.store.reader import History
    from tui_eval.store.records import AttemptRecord, RequestRecord, RunRecord

BATCH = 500


def task_views(
    stored: History,
    run: RunRecord,
    requests: Iterable[RequestRecord],
    outcomes: Iterable[Outcome] | None = None,
) -> Iterator[TaskView]:
    """Every task of a run (or those with these outcomes), in the order of the plan, a few hundred in memory at a time."""
    wanted = None if outcomes is None else tuple(outcomes)
    for request in requests:
        tasks = stored.iter_tasks(run, request=request.id, outcomes=wanted)
        while batch := list(islice(tasks, BATCH)):
            keys = [task.id for task in batch]
            cases = stored.cases_of(task.case_key for task in batch)
            scores = stored.scores_of(keys)
            attempts = stored.attempts_of(keys, payloads=True)
            for task in batch:
                made = attempts.get(task.id, [])
                case = cases[task.case_key]
                yield TaskView(request.name, task, case, last_output(made), scores.get(task.id, []), made)


def last_output(attempts: list[AttemptRecord]) -> JsonValue:
    """The whole output of the last attempt that gave an answer, None when none did."""
    for attempt in reversed(attempts):
        if not attempt.error_kind and attempt.payload is not None and attempt.payload.answer is not None:
            return attempt.payload.answer.get("output")
    return None
