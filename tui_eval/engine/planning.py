"""From a checked plan to tasks in the history: of a new run, or of one that takes up an earlier run."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from tui_eval import __version__
from tui_eval.analysis.selection import Action, Decision, OldTask, PlannedTask, Selection, select
from tui_eval.domain import Case, Outcome
from tui_eval.engine.data import Planned
from tui_eval.engine.planning_watch import PlanningWatch
from tui_eval.engine.preflight import Preflight, RequestPreflight, Told
from tui_eval.errors import NothingToRun, TemplateError
from tui_eval.spec.fingerprints import evaluation_template
from tui_eval.store.records import NewTask, RequestRecord, RequestState, RunRecord, RunState
from tui_eval.store.writer import TakeOver

if TYPE_CHECKING:
    from tui_eval.spec.loading import LoadedPlan, LoadedRequest
    from tui_eval.store.reader import History
    from tui_eval.store.writer import HistoryWriter

BATCH = 2000
"""Tasks that are handed to the writer together, of which it makes one transaction."""

_TOLD_EVERY = 500

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a launch or a re-run is given besides the plan."""

    run_id: str
    tags: tuple[str, ...] = ()
    note: str = ""
    origin: str = "launch"
    parent_run_id: str | None = None
    origin_detail: dict[str, Any] = field(default_factory=dict)


async def plan_launch(
    loaded: LoadedPlan,
    preflight: Preflight,
    writer: HistoryWriter,
    options: RunOptions,
    told: Told = lambda what, done, total: None,
) -> Planned:
    """Write a new run with every task queued; ``told`` hears how many are. Raises NothingToRun when no case is
    selected."""
    if not preflight.tasks:
        raise NothingToRun(_nothing(preflight))
    run = _run_record(loaded, options)
    for request in preflight.requests:
        run.warnings += _dataset_warnings(request)
    requests = await _write_run(writer, run, loaded, preflight)
    watch = PlanningWatch(writer, run)
    for record, entry in zip(requests, preflight.requests, strict=True):
        assert entry.source is not None
        tasks = _new_tasks(entry.request, record.id, entry.source.sampled())
        await _write_tasks(writer, watch, _counted(tasks, entry, told))
    await writer.flush()
    return Planned(run, requests, watch.cancelled_by)


async def plan_rest(
    loaded: LoadedPlan,
    preflight: Preflight,
    run: RunRecord,
    history: History,
    writer: HistoryWriter,
    told: Told = lambda what, done, total: None,
) -> Planned:
    """Write what is missing of a launch that ended while its tasks were being written; nothing had been called."""
    requests = history.requests(run) or await _add_requests(writer, run, loaded, preflight)
    watch = PlanningWatch(writer, run)
    for record, entry in zip(requests, preflight.requests, strict=True):
        assert entry.source is not None
        there = {(task.case_id, task.repeat) for task in history.iter_tasks(run, request=record.id)}
        missing = (
            task
            for task in _counted(_new_tasks(entry.request, record.id, entry.source.sampled()), entry, told)
            if (task.case_id, task.repeat) not in there
        )
        await _write_tasks(writer, watch, missing)
    await writer.flush()
    return Planned(run, requests, watch.cancelled_by)


async def plan_rerun(
    loaded: LoadedPlan,
    preflight: Preflight | None,
    parent: RunRecord,
    history: History,
    writer: HistoryWriter,
    action: Action,
    options: RunOptions,
) -> Planned:
    """Write a run that takes up ``parent``: selected tasks queued, the others taken over with their results.

    ``preflight`` has today's datasets; None means the cases as they are stored with the parent.
    """
    old_requests = {request.name: request for request in history.requests(parent)}
    chosen = [
        _choose(
            request, _cases(history, parent, request, preflight), history, parent, old_requests[request.name], action
        )
        for request in loaded.requests
    ]
    if not any(chosen_request.work for chosen_request in chosen):
        raise NothingToRun(f"run {parent.run_id}: nothing matches what was asked to run again")
    run = _run_record(loaded, options)
    for chosen_request in chosen:
        run.warnings += [f"{chosen_request.request.name}: {line}" for line in told(chosen_request.selection)]
    requests = await _write_run(writer, run, loaded, preflight)
    watch = PlanningWatch(writer, run)
    for record, chosen_request in zip(requests, chosen, strict=True):
        await _write_selection(writer, watch, run, record, chosen_request)
    await writer.flush()
    return Planned(run, requests, watch.cancelled_by)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """One request of a re-run: today's cases in order, the decision for each task, and the old tasks' keys."""

    request: LoadedRequest
    cases: list[Case]
    selection: Selection
    old_keys: dict[tuple[str, int], int]

    @property
    def work(self) -> int:
        return self.selection.count(Decision.CALL) + self.selection.count(Decision.SCORE)


def _choose(
    request: LoadedRequest,
    cases: Iterable[Case],
    history: History,
    parent: RunRecord,
    old_request: RequestRecord,
    action: Action,
) -> _Chosen:
    old_keys: dict[tuple[str, int], int] = {}
    planned = list(_planned(request, cases))
    selection = select(_old_tasks(history, parent, old_request, old_keys), [task for task, _ in planned], action)
    return _Chosen(request, [case for _, case in planned], selection, old_keys)


def told(selection: Selection) -> list[str]:
    """What the user should know of a selection, one line each."""
    lines = []
    kept = [
        (decided.task.case_id, decided.task.repeat)
        for decided in selection.decisions
        if decided.changed and decided.decision is Decision.REUSE
    ]
    judged = set(selection.changed_expected).difference(kept)
    for keys, text in (
        (selection.changed, "changed since that run"),
        (kept, "of these with the result of the case as it was (`--case ID` calls the agent again)"),
        (
            [key for key in selection.changed_expected if key in judged],
            "with another expected value or other evaluators since that run (answers are judged again)",
        ),
        (selection.removed, "no longer in the dataset"),
        (selection.new, "new since that run (left out unless asked for)"),
    ):
        if keys:
            names = list(dict.fromkeys(case_id for case_id, _ in keys))
            more = f" and {len(names) - 10} more" if len(names) > 10 else ""
            lines.append(f"{len(names)} {'case' if len(names) == 1 else 'cases'} {text}: {', '.join(names[:10])}{more}")
    if selection.new or selection.removed:
        cases = {decided.task.case_id for decided in selection.decisions}
        taken = {d.task.case_id for d in selection.decisions if d.decision is not Decision.LEAVE_OUT}
        noun = "case" if len(cases) == 1 else "cases"
        lines.append(f"{len(cases)} {noun} in the dataset now, {len(taken)} of them in this run")
    if selection.unknown_cases:
        lines.append(f"not in the dataset: {', '.join(selection.unknown_cases)}")
    return lines


async def _write_tasks(writer: HistoryWriter, watch: PlanningWatch, tasks: Iterable[NewTask]) -> None:
    """Write tasks as long as the run is not cancelled. While some are written, the next ones are made."""
    batches = _batches(tasks)
    writing: asyncio.Task[None] | None = None
    try:
        while batch := next(batches, None):
            if writing is not None:
                await writing
            if await watch.is_cancelled():
                return
            writing = asyncio.create_task(writer.add_tasks(batch))
            await asyncio.sleep(0)  # it begins now, in the writer's thread
    finally:
        if writing is not None:
            await writing


async def _write_selection(
    writer: HistoryWriter, watch: PlanningWatch, run: RunRecord, record: RequestRecord, chosen: _Chosen
) -> None:
    calls: list[NewTask] = []
    kept: list[TakeOver] = []
    position = 0
    for decided, case in zip(chosen.selection.decisions, chosen.cases, strict=True):
        planned = decided.task
        if decided.decision is Decision.LEAVE_OUT:
            continue
        if decided.decision is Decision.CALL:
            calls.append(_new_task(record.id, position, planned, case))
        else:
            old_task = chosen.old_keys[planned.case_id, planned.repeat]
            kept.append(_take_over(old_task, position, planned, case, decided.decision))
        position += 1
    await _write_tasks(writer, watch, calls)
    for taken in _batches(kept):
        if await watch.is_cancelled():
            return
        await writer.take_over(run.id, record.id, taken)


def _take_over(old_task: int, position: int, planned: PlannedTask, case: Case, decision: Decision) -> TakeOver:
    """A result that is reused keeps the case it was made from; one that is judged again gets today's expected value."""
    if decision is Decision.REUSE:
        return TakeOver(old_task, position)
    return TakeOver(
        old_task,
        position,
        work="score",
        keep_outcome=False,
        case_input=dict(case.input),
        line=case.line,
        evaluation_fingerprint=planned.evaluation_fingerprint,
    )


def _run_record(loaded: LoadedPlan, options: RunOptions) -> RunRecord:
    now = time.time()
    return RunRecord(
        run_id=options.run_id,
        name=loaded.plan.name,
        state=RunState.PLANNING,
        plan=loaded.stored,
        folder=str(loaded.folder),
        program=__version__,
        created_at=now,
        origin=options.origin,
        origin_detail=options.origin_detail,
        parent_run_id=options.parent_run_id,
        plan_path=str(loaded.path) if loaded.path else "",
        warnings=[str(fault) for fault in loaded.warnings],
        tags=[*loaded.plan.tags, *options.tags],
        note=options.note,
        task_concurrency=loaded.plan.task_concurrency,
        pid=os.getpid(),
        heartbeat_at=now,
    )


async def _write_run(
    writer: HistoryWriter, run: RunRecord, loaded: LoadedPlan, preflight: Preflight | None
) -> list[RequestRecord]:
    await writer.create_run(run)
    return await _add_requests(writer, run, loaded, preflight)


async def _add_requests(
    writer: HistoryWriter, run: RunRecord, loaded: LoadedPlan, preflight: Preflight | None
) -> list[RequestRecord]:
    entries: list[RequestPreflight | None] = list(preflight.requests) if preflight else [None] * len(loaded.requests)
    requests = [
        RequestRecord(
            run=run.id,
            position=request.position,
            name=request.name,
            state=RequestState.PENDING,
            solution_type=request.solution_type,
            dataset=request.dataset.path or request.dataset.platform or "(cases in the plan)",
            dataset_hash=entry.survey.content_hash if entry is not None and entry.survey is not None else "",
        )
        for request, entry in zip(loaded.requests, entries, strict=True)
    ]
    await writer.add_requests(requests)
    return requests


def _dataset_warnings(entry: RequestPreflight) -> list[str]:
    if entry.survey is None or not entry.survey.skipped_lines:
        return []
    lines = ", ".join(str(line) for line in entry.survey.skipped_lines[:50])
    more = len(entry.survey.skipped_lines) - 50
    return [f"{entry.request.name}: bad lines were left out: {lines}" + (f" and {more} more" if more > 0 else "")]


def _planned(request: LoadedRequest, cases: Iterable[Case]) -> Iterator[tuple[PlannedTask, Case]]:
    """Every task of a request with its identity. What cannot be rendered has no fingerprint (and will be an error)."""
    evaluation, template = evaluation_template(request), request.template
    for case in cases:
        judged = evaluation(case)
        for repeat in range(request.execution.n_repeat):
            try:
                fingerprint = template.fingerprint(case, repeat)
            except TemplateError:
                fingerprint = ""
            yield PlannedTask(case.id, repeat, fingerprint, judged), case


def _new_tasks(request: LoadedRequest, key: int, cases: Iterable[Case]) -> Iterator[NewTask]:
    for position, (planned, case) in enumerate(_planned(request, cases)):
        yield _new_task(key, position, planned, case)


def _counted(tasks: Iterator[NewTask], entry: RequestPreflight, told: Told) -> Iterator[NewTask]:
    """The same; ``told`` hears of it now and then."""
    what = f"writing the tasks of {entry.request.name}"
    for count, task in enumerate(tasks):
        if count % _TOLD_EVERY == 0:
            told(what, count, entry.tasks)
        yield task


def _new_task(request: int, position: int, planned: PlannedTask, case: Case) -> NewTask:
    return NewTask(
        request=request,
        position=position,
        case_id=case.id,
        case_input=dict(case.input),
        repeat=planned.repeat,
        line=case.line,
        fingerprint=planned.fingerprint,
        evaluation_fingerprint=planned.evaluation_fingerprint,
    )


def _old_tasks(
    history: History, parent: RunRecord, request: RequestRecord, keys: dict[tuple[str, int], int]
) -> Iterator[OldTask]:
    """The tasks of a request as the earlier run left them; their keys are put into ``keys``."""
    answered = history.answered(request.id)
    for task in history.iter_tasks(parent, request=request.name):
        keys[task.case_id, task.repeat] = task.id
        yield OldTask(
            case_id=task.case_id,
            repeat=task.repeat,
            outcome=task.outcome if task.outcome.final else Outcome.QUEUED,
            fingerprint=task.fingerprint,
            evaluation_fingerprint=task.evaluation_fingerprint,
            has_answer=task.id in answered,
        )


def _cases(history: History, parent: RunRecord, request: LoadedRequest, preflight: Preflight | None) -> Iterator[Case]:
    """Today's cases of a request, or those stored with the run that is taken up."""
    if preflight is not None:
        source = next(entry.source for entry in preflight.requests if entry.request.name == request.name)
        assert source is not None
        yield from source.sampled()
        return
    seen = ""
    for task in history.iter_tasks(parent, request=request.name):
        if task.repeat == 0 and task.case_id != seen:
            seen = task.case_id
            yield Case(task.case_id, history.case(task.case_key), task.line)


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    iterator = iter(items)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def _nothing(preflight: Preflight) -> str:
    lines = [
        f"request {entry.request.name}: 0 of {entry.survey.count} cases selected of {entry.source.label}"
        + ("" if entry.survey.count else ", which is empty")
        for entry in preflight.requests
        if entry.survey is not None and entry.source is not None
    ]
    return "0 cases selected, nothing to run: " + "; ".join(lines)
