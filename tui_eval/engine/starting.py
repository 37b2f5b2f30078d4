"""The three ways a run begins: launched, re-run, resumed. Each checks everything first, then writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.analysis.selection import Selection
from tui_eval.engine.planning import Planned, RunOptions, plan_launch, plan_rerun
from tui_eval.engine.preflight import check_plan
from tui_eval.engine.stored_plan import load_stored_plan
from tui_eval.errors import SpecError, UsageError
from tui_eval.spec.loading import load_plan
from tui_eval.store.liveness import this_runner
from tui_eval.store.reader import History
from tui_eval.store.writer import HistoryWriter

if TYPE_CHECKING:
    from tui_eval.runner import Job
    from tui_eval.spec.loading import LoadedPlan


@dataclass(frozen=True, slots=True)
class Start:
    """Everything an execution needs; the two ends of the history are closed by whoever opened them."""

    loaded: LoadedPlan
    planned: Planned
    writer: HistoryWriter
    history: History


@asynccontextmanager
async def started(job: Job, environment: Mapping[str, str], trouble: Callable[[str], None]) -> AsyncIterator[Start]:
    """Begin ``job``: its run stands in the history when this is entered, and is saved when it is left."""
    begin = {"launch": _launch, "rerun": _rerun, "resume": _resume}[job.action]
    async with begin(job, environment, trouble) as start:
        yield start


@asynccontextmanager
async def _launch(job: Job, environment: Mapping[str, str], trouble: Callable[[str], None]) -> AsyncIterator[Start]:
    if job.plan is None:
        raise UsageError("a launch needs a plan")
    source = Path(job.plan) if isinstance(job.plan, str) else job.plan
    folder = Path(job.folder) if job.folder is not None else None
    loaded = load_plan(source, overrides=job.overrides, environment=environment, folder=folder)
    preflight = check_plan(loaded, environment)
    if preflight.faults:
        raise SpecError(preflight.faults)
    options = RunOptions(job.run_id, tags=job.tags, note=job.note)
    async with _history(job, loaded, trouble) as (writer, history):
        yield Start(loaded, await plan_launch(loaded, preflight, writer, options), writer, history)


@asynccontextmanager
async def _rerun(job: Job, environment: Mapping[str, str], trouble: Callable[[str], None]) -> AsyncIterator[Start]:
    with History(Path(job.history)) as before:
        parent = before.run(job.parent or "last")
    loaded = load_stored_plan(parent, environment, job.overrides)
    preflight = None if job.stored_cases else check_plan(loaded, environment)
    if preflight is not None and preflight.faults:
        raise SpecError(preflight.faults)
    selection = Selection.from_json(job.selection)
    options = RunOptions(
        job.run_id,
        tags=job.tags,
        note=job.note,
        origin="rerun",
        parent_run_id=parent.run_id,
        origin_detail={**job.selection, "stored_cases": job.stored_cases},
    )
    async with _history(job, loaded, trouble) as (writer, history):
        planned = await plan_rerun(loaded, preflight, parent, history, writer, selection, options)
        yield Start(loaded, planned, writer, history)


@asynccontextmanager
async def _resume(job: Job, environment: Mapping[str, str], trouble: Callable[[str], None]) -> AsyncIterator[Start]:
    with History(Path(job.history)) as before:
        run = before.run(job.run_id)
    loaded = load_stored_plan(run, environment, job.overrides)
    async with _history(job, loaded, trouble) as (writer, history):
        run = await writer.adopt(run.run_id, this_runner())
        await writer.requeue(run.id)
        yield Start(loaded, Planned(run, history.requests(run)), writer, history)


@asynccontextmanager
async def _history(
    job: Job, loaded: LoadedPlan, trouble: Callable[[str], None]
) -> AsyncIterator[tuple[HistoryWriter, History]]:
    path = Path(job.history)
    writer = await HistoryWriter.open(path, secrets=loaded.secrets.redact_value, on_trouble=trouble)
    try:
        with History(path) as history:
            yield writer, history
    finally:
        await writer.aclose()
