"""The three ways a run begins: launched, re-run, resumed. Each checks everything first, then writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.analysis.selection import Action
from tui_eval.engine.data import Planned
from tui_eval.engine.planning import RunOptions, plan_launch, plan_rerun, plan_rest
from tui_eval.engine.preflight import Preflight, Told, check_plan
from tui_eval.engine.stored_plan import load_stored_plan
from tui_eval.errors import NothingToRun, SpecError, UsageError
from tui_eval.net.stream_secrets import keep_out
from tui_eval.spec.loading import load_plan
from tui_eval.store.liveness import HEARTBEAT_SECONDS, this_runner
from tui_eval.store.reader import History
from tui_eval.store.writer import HistoryWriter

if TYPE_CHECKING:
    from tui_eval.jobs import Job
    from tui_eval.spec.loading import LoadedPlan
    from tui_eval.spec.secrets import Secrets


@dataclass(frozen=True, slots=True)
class Start:
    """Everything an execution needs; the two ends of the history are closed by whoever opened them. ``preflight`` is there
    unless the cases are those that were stored."""

    loaded: LoadedPlan
    planned: Planned
    writer: HistoryWriter
    history: History
    preflight: Preflight | None = None


@asynccontextmanager
async def started(
    job: Job,
    environment: Mapping[str, str],
    trouble: Callable[[str], None],
    told: Told = lambda what, done, total: None,
) -> AsyncIterator[Start]:
    """Begin ``job``: its run stands in the history when this is entered, and is saved when it is left. ``told`` hears
    how far the preparations are."""
    begin = {"launch": _launch, "rerun": _rerun, "resume": _resume}[job.action]
    async with begin(job, environment, trouble, _unless_cancelled(told)) as start:
        yield start


def _unless_cancelled(told: Told) -> Told:
    """``told``, which ends the preparations when the task that makes them is cancelled: a check of a large dataset is
    one step for the event loop."""

    def tell(what: str, done: int, total: int) -> None:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        told(what, done, total)

    return tell


@asynccontextmanager
async def _launch(
    job: Job, environment: Mapping[str, str], trouble: Callable[[str], None], told: Told
) -> AsyncIterator[Start]:
    if job.plan is None:
        raise UsageError("a launch needs a plan")
    source = Path(job.plan) if isinstance(job.plan, str) else job.plan
    folder = Path(job.folder) if job.folder is not None else None
    loaded = load_plan(source, overrides=job.overrides, environment=environment, folder=folder)
    preflight = _checked(loaded, environment, told)
    options = RunOptions(job.run_id, tags=job.tags, note=job.note)
    async with _history(job, loaded, trouble) as (writer, history):
        yield Start(loaded, await plan_launch(loaded, preflight, writer, options, told), writer, history, preflight)


@asynccontextmanager
async def _rerun(
    job: Job, environment: Mapping[str, str], trouble: Callable[[str], None], told: Told
) -> AsyncIterator[Start]:
    with History(Path(job.history)) as before:
        parent = before.run(job.parent or "last")
    loaded = load_stored_plan(parent, environment, job.overrides)
    preflight = None if job.stored_cases else _checked(loaded, environment, told)
    action = Action(**{**job.selection, "cases": frozenset(job.selection.get("cases", ()))})
    options = RunOptions(
        job.run_id,
        tags=job.tags,
        note=job.note,
        origin="rerun",
        parent_run_id=parent.run_id,
        origin_detail={**job.selection, "stored_cases": job.stored_cases},
    )
    async with _history(job, loaded, trouble) as (writer, history):
        planned = await plan_rerun(loaded, preflight, parent, history, writer, action, options)
        yield Start(loaded, planned, writer, history, preflight)


@asynccontextmanager
async def _resume(
    job: Job, environment: Mapping[str, str], trouble: Callable[[str], None], told: Told
) -> AsyncIterator[Start]:
    with History(Path(job.history)) as before:
        run = before.run(job.run_id)
        counted = [request.counters for request in before.requests(run)]
    # Whoever starts a run says when; until then not all its tasks may be written.
    half_planned = run.started_at is None and run.origin in ("launch", "rerun")
    if half_planned and run.origin != "launch":
        raise UsageError(
            f"run {run.run_id} was ended while it was being prepared, before any call; run the same re-run again"
        )
    # A runner killed after its last task left a live state behind: that is still to be finished.
    if (
        not half_planned
        and not run.state.live
        and not any(counters.total - counters.finished + counters.cancelled + counters.unscored for counters in counted)
    ):
        raise NothingToRun(f"run {run.run_id}: every task has its final outcome; nothing is left to finish")
    loaded = load_stored_plan(run, environment, job.overrides)
    async with _history(job, loaded, trouble) as (writer, history):
        run = await writer.adopt(run.run_id, this_runner())
        await writer.requeue(run.id)
        await writer.requeue_unscored(run.id)
        cancelled_by = ""
        if half_planned:
            rest = await plan_rest(loaded, _checked(loaded, environment, told), run, history, writer, told)
            cancelled_by = rest.cancelled_by
        yield Start(loaded, Planned(run, history.requests(run), cancelled_by), writer, history)


def _checked(loaded: LoadedPlan, environment: Mapping[str, str], told: Told) -> Preflight:
    """The preflight of a plan that can be run; raises SpecError with all faults otherwise."""
    preflight = check_plan(loaded, environment, told)
    if preflight.faults:
        raise SpecError(preflight.faults)
    return preflight


@asynccontextmanager
async def _history(
    job: Job, loaded: LoadedPlan, trouble: Callable[[str], None]
) -> AsyncIterator[tuple[HistoryWriter, History]]:
    async with opened_history(Path(job.history), loaded.secrets, trouble) as ends:
        yield ends


@asynccontextmanager
async def opened_history(
    path: Path, secrets: Secrets, trouble: Callable[[str], None]
) -> AsyncIterator[tuple[HistoryWriter, History]]:
    """Both ends of a history while a run is executed: the writer, which says now and then that we are alive, and a
    reader. Closed, and saved, when this is left."""
    writer = await HistoryWriter.open(path, secrets=keep_out(secrets), on_trouble=trouble)
    beating = asyncio.create_task(_beat(writer))
    try:
        with History(path) as history:
            yield writer, history
    finally:
        beating.cancel()
        await asyncio.wait({beating})
        await writer.aclose()


async def _beat(writer: HistoryWriter) -> None:
    """Say now and then that we are alive, from the first task that is planned to the last summary."""
    while True:
        await asyncio.sleep(HEARTBEAT_SECONDS)
        writer.heartbeat()
