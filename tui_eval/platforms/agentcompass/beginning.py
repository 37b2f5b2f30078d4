"""How a job of AgentCompass begins: what is run, with which AgentCompass, written into which history."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.engine.starting import opened_history
from tui_eval.errors import NothingToRun
from tui_eval.platforms.agentcompass import starting
from tui_eval.platforms.agentcompass.interpreter import Interpreter, find_interpreter
from tui_eval.platforms.agentcompass.orchestration import LoadedOrchestration
from tui_eval.platforms.agentcompass.recording import Recording
from tui_eval.platforms.agentcompass.resuming import plan_resume, run_folders
from tui_eval.platforms.agentcompass.starting import Work
from tui_eval.platforms.agentcompass.tracks import RequestTrack
from tui_eval.store.liveness import this_runner
from tui_eval.store.reader import History
from tui_eval.store.records import RequestState, RunRecord, RunState

if TYPE_CHECKING:
    from tui_eval.jobs import Job
    from tui_eval.store.writer import HistoryWriter

Started = tuple[Work, "HistoryWriter", History, Interpreter]


def begin(
    job: Job, environment: Mapping[str, str], trouble: Callable[[str], None]
) -> AbstractAsyncContextManager[Started]:
    """The work of ``job``, the open history (to write and to read), and the Python that has AgentCompass.

    Raises SpecError, NothingToRun, UsageError or HistoryError when it cannot begin.
    """
    return {"launch": _launch, "rerun": _rerun, "resume": _resume}[job.action](job, environment, trouble)


@asynccontextmanager
async def _launch(job: Job, environment: Mapping[str, str], trouble: Callable[[str], None]) -> AsyncIterator[Started]:
    loaded, options = starting.load_launch(job, environment)
    interpreter = await asyncio.to_thread(find_interpreter, environment, options.python)
    async with opened_history(Path(job.history), loaded.secrets, trouble) as (writer, history):
        yield await starting.plan_launch(job, loaded, options, writer), writer, history, interpreter


@asynccontextmanager
async def _rerun(job: Job, environment: Mapping[str, str], trouble: Callable[[str], None]) -> AsyncIterator[Started]:
    with History(Path(job.history)) as before:
        parent = before.run(job.parent or "last")
    loaded, options = starting.load_stored(parent, job.overrides, environment)
    interpreter = await asyncio.to_thread(find_interpreter, environment, options.python)
    async with opened_history(Path(job.history), loaded.secrets, trouble) as (writer, history):
        work = await starting.plan_rerun(job, loaded, options, parent, history, writer)
        yield work, writer, history, interpreter


@asynccontextmanager
async def _resume(job: Job, environment: Mapping[str, str], trouble: Callable[[str], None]) -> AsyncIterator[Started]:
    with History(Path(job.history)) as before:
        run = before.run(job.run_id)
    loaded, options = starting.load_stored(run, job.overrides, environment)
    interpreter = await asyncio.to_thread(find_interpreter, environment, options.python)
    async with opened_history(Path(job.history), loaded.secrets, trouble) as (writer, history):
        run = await writer.adopt(run.run_id, this_runner())
        await writer.requeue(run.id)
        await _take_in(run, loaded, history, writer)
        requests = history.requests(run)
        work = await plan_resume(run, loaded, options, history, requests)
        if not work.changes:
            state = (
                RunState.COMPLETED
                if all(one.state is RequestState.COMPLETED for one in requests)
                else RunState.PARTIAL_FAILURE
            )
            await writer.set_run_state(run.id, state, finished_at=time.time())
            raise NothingToRun(f"run {run.run_id}: every task has its final outcome; nothing is left to finish")
        yield work, writer, history, interpreter


async def _take_in(run: RunRecord, loaded: LoadedOrchestration, history: History, writer: HistoryWriter) -> None:
    """Record what AgentCompass finished after our runner was gone."""
    composed = {request.name: request for request in loaded.requests}
    tracks = [RequestTrack(record) for record in history.requests(run)]
    recording = Recording(writer, history, run, tracks, loaded.folder)
    for track in tracks:
        recording.know(track)
        request = composed.get(track.record.name)
        for folder in run_folders(loaded, request, run.run_id) if request is not None else ():
            track.folder = folder
            await recording.reconcile(track)
    await writer.flush()
