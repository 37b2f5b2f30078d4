"""The tasks of a run in the history as reports want them: with their case, output, scores and attempts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from tui_eval.errors import HistoryError
from tui_eval.reports.view import TaskView

if TYPE_CHECKING:
    from tui_eval.domain import JsonValue, Outcome
    from tui_eval.store.reader import History
    from tui_eval.store.records import AttemptRecord, RequestRecord, RunRecord, TaskRecord

BATCH = 500
PART = 50
"""Tasks whose cases, requests and answers are in memory together: each of them may be megabytes."""


def task_views(
    stored: History,
    run: RunRecord,
    requests: Iterable[RequestRecord],
    outcomes: Iterable[Outcome] | None = None,
    *,
    unreadable: list[str] | None = None,
) -> Iterator[TaskView]:
    """Every task of a run (or those with these outcomes), in the order of the plan, with what belongs to some fifty of
    them in memory at a time.

    Raises HistoryError where the history is damaged. With ``unreadable`` it goes on instead, with what can be read,
    and puts the names of the tasks there that are not whole, or not there at all.
    """
    wanted = None if outcomes is None else tuple(outcomes)
    for request in requests:
        for batch in _batches(stored, run, request, wanted, unreadable):
            for start in range(0, len(batch), PART):
                part = batch[start : start + PART]
                try:
                    yield from _views(stored, request, part)
                except HistoryError:
                    if unreadable is None:
                        raise
                    yield from _readable_parts(stored, request, part, unreadable)


def _batches(
    stored: History,
    run: RunRecord,
    request: RequestRecord,
    wanted: tuple[Outcome, ...] | None,
    unreadable: list[str] | None,
) -> Iterator[list[TaskRecord]]:
    tasks = stored.iter_tasks(run, request=request.id, outcomes=wanted)
    given: set[int] = set()
    try:
        while batch := list(islice(tasks, BATCH)):
            yield batch
            if unreadable is not None:
                given.update(task.id for task in batch)
    except HistoryError:
        if unreadable is None:
            raise
        yield from _found_one_by_one(stored, run, request, wanted, given, unreadable)


def _found_one_by_one(
    stored: History,
    run: RunRecord,
    request: RequestRecord,
    wanted: tuple[Outcome, ...] | None,
    given: set[int],
    unreadable: list[str],
) -> Iterator[list[TaskRecord]]:
    try:
        keys = [key for key in stored.task_keys(run, request=request.id, outcomes=wanted) if key not in given]
    except HistoryError:
        unreadable.append(f"{request.name} (the rest of its tasks)")
        return
    for key in keys:
        try:
            yield [stored.task(key)]
        except HistoryError:
            unreadable.append(f"{request.name} (task {key})")


def _views(stored: History, request: RequestRecord, batch: list[TaskRecord]) -> list[TaskView]:
    keys = [task.id for task in batch]
    cases = stored.cases_of(task.case_key for task in batch)
    scores = stored.scores_of(keys)
    attempts = stored.attempts_of(keys, payloads=True)
    views = []
    for task in batch:
        made = attempts.get(task.id, [])
        views.append(
            TaskView(request.name, task, cases[task.case_key], last_output(made), scores.get(task.id, []), made)
        )
    return views


def _readable_parts(
    stored: History, request: RequestRecord, batch: list[TaskRecord], unreadable: list[str]
) -> Iterator[TaskView]:
    """The tasks of a batch in which something is damaged, each with what is left of it."""
    for task in batch:
        try:
            yield from _views(stored, request, [task])
            continue
        except HistoryError:
            unreadable.append(f"{request.name} / {task.case_id}")
        view = TaskView(request.name, task)
        with suppress(HistoryError):
            view.input = stored.case(task.case_key)
        with suppress(HistoryError):
            view.scores = stored.scores_of([task.id]).get(task.id, [])
        with suppress(HistoryError):
            view.attempts = stored.attempts_of([task.id]).get(task.id, [])
        yield view


def last_output(attempts: list[AttemptRecord]) -> JsonValue:
    """The whole output of the last attempt that gave an answer, None when none did."""
    for attempt in reversed(attempts):
        if not attempt.error_kind and attempt.payload is not None and attempt.payload.answer is not None:
            return attempt.payload.answer.get("output")
    return None
