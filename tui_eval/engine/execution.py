"""A job from start to end: plan it, run it, write it down, and obey what signals and viewers ask.

Signals: the first SIGINT, SIGTERM or SIGHUP stops the run (no new task, those in flight get the grace, everything is
saved, ``resume`` finishes it); a second SIGINT ends it at once.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.domain import Outcome
from tui_eval.engine.companions import Companion, baggage_of, companions_of, services_of
from tui_eval.engine.data import Progress, TaskDescription, TaskResult
from tui_eval.engine.executor import LocalExecutor
from tui_eval.engine.obeying import Parts, asked, obey
from tui_eval.engine.orchestration import Feed, Orchestration
from tui_eval.engine.planning_watch import end_while_planning
from tui_eval.engine.prepare import PreparedRequest, prepare_request
from tui_eval.engine.signals import obeying_signals
from tui_eval.engine.slots import Slots
from tui_eval.engine.starting import Start, started
from tui_eval.engine.task import Surroundings
from tui_eval.errors import HistoryError
from tui_eval.reports.results_dir import ResultsDir
from tui_eval.reports.stored import task_views
from tui_eval.store.records import Activity, LogLine, RequestRecord, RequestState, RunRecord, RunState

if TYPE_CHECKING:
    from tui_eval.jobs import Job
    from tui_eval.spec.loading import LoadedRequest

TICK_SECONDS = 0.25
"""How often what is going on is written for viewers, and how soon a viewer's command is obeyed."""
PAGE = 200
"""Tasks read from the history at once."""


class Listener:
    """Hears of a run in the process that executes it. All methods do nothing; override what is needed.

    They are called from the event loop and must return at once. ``requests`` carry current counters.
    """

    def preparing(self, what: str, done: int, total: int) -> None:
        """Before the run is begun: its datasets are checked (``done`` in bytes), its tasks are written."""

    def begun(self, run: RunRecord, requests: list[RequestRecord]) -> None: ...

    def task_finished(self, request: RequestRecord, task: TaskDescription, result: TaskResult) -> None: ...

    def request_changed(self, request: RequestRecord) -> None: ...

    def tick(self, run: RunRecord, requests: list[RequestRecord]) -> None: ...

    def trouble(self, message: str) -> None: ...

    def ended(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Ended:
    """How a job ended. ``signal`` is the number of the signal that stopped it; ``history_failed`` says that not
    everything could be written to the history (``message`` says where it is instead)."""

    run: RunRecord
    requests: list[RequestRecord]
    signal: int | None = None
    history_failed: bool = False

    @property
    def exit_status(self) -> int:
        from tui_eval.analysis.summary import total_of
        from tui_eval.analysis.verdict import exit_code

        return exit_code(
            self.run.state,
            total_of(request.counters for request in self.requests),
            signal=self.signal,
            history_failed=self.history_failed,
        )


async def execute_job(
    job: Job,
    *,
    listener: Listener | None = None,
    signals: bool = False,
    begun: Callable[[RunRecord], None] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Execute ``job`` to its end. Raises SpecError, DatasetError, NothingToRun, UsageError or HistoryError when it
    cannot begin; from then on everything is in what it returns."""
    environment = os.environ if environment is None else environment
    listener = listener or Listener()
    async with started(job, environment, listener.trouble, listener.preparing) as start:
        if begun is not None:
            begun(start.planned.run)
        if start.planned.cancelled_by:
            await end_while_planning(start.writer, start.planned)
            listener.begun(start.planned.run, start.planned.requests)
            listener.ended()
            return Ended(start.planned.run, start.planned.requests, history_failed=start.writer.failed)
        companions = companions_of(start, job, environment)
        execution = Execution(start, listener, environment, companions)
        results_dir = job.results_dir or start.loaded.plan.runtime.results_dir
        if results_dir is not None:
            execution.write_results_to(start.loaded.folder / results_dir, start.loaded.secrets.redact_value)
        with obeying_signals(execution) if signals else nullcontext():
            try:
                for companion in companions:
                    await execution.attempt(companion.begin)
                ended = await execution.run()
            finally:
                for companion in companions:
                    await execution.attempt(companion.close)
        for companion in companions:
            await execution.attempt(companion.end)
        return ended


class Execution:
    """One run being executed. Also what signals and commands act on."""

    def __init__(
        self,
        start: Start,
        listener: Listener,
        environment: Mapping[str, str],
        companions: Sequence[Companion] = (),
    ) -> None:
        self.run_record = start.planned.run
        self.stopped_by: int | None = None
        self._writer = start.writer
        self._history = start.history
        self._listener = listener
        self._companions = companions
        self._services = services_of(companions)
        plan = start.loaded.plan
        self._slots = Slots(self.run_record.task_concurrency, limits=plan.runtime.provider_limits, qps=plan.runtime.qps)
        self._requests = {request.id: request for request in start.planned.requests}
        self._prepared: dict[str, PreparedRequest] = {}
        self._results: ResultsDir | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        records = {request.name: request for request in start.planned.requests}
        executor = LocalExecutor(self._prepared, Surroundings(self._slots))
        self._feeds = [
            self._feed(request, records[request.name], start, environment) for request in start.loaded.requests
        ]
        self._orchestration = Orchestration(
            self._feeds,
            executor,
            self._slots,
            self,
            timeout=plan.runtime.timeout_seconds,
            grace=plan.runtime.cleanup_grace_seconds,
        )
        self._parts = Parts(self._orchestration, self._slots, self._history, self._set_concurrency)

    def write_results_to(self, folder: Path, redact: Callable[[Any], Any]) -> None:
        """Also write every finished task below ``folder`` (see ``reports.results_dir``), secrets replaced."""
        run, requests = self.run_record, list(self._requests.values())
        self._results = ResultsDir(folder, run, requests, redact)
        self._count()
        if any(request.counters.finished for request in requests):
            for view in task_views(self._history, run, requests, [outcome for outcome in Outcome if outcome.final]):
                self._results.add_view(view)

    async def run(self) -> Ended:
        """Execute until the end and write the final state."""
        run = self.run_record
        run.started_at = run.started_at or time.time()
        run.state = RunState.RUNNING
        await self._writer.set_run_state(run.id, run.state, started_at=run.started_at)
        self._count()
        self._tell(self._listener.begun, run, list(self._requests.values()))
        attending = asyncio.create_task(self._attend())
        try:
            with _rare_collections():
                state = await self._orchestration.run()
        except BaseException as problem:
            await self._broken_off(problem)
            raise
        finally:
            attending.cancel()
            await asyncio.wait({attending})
        run.state, run.finished_at = state, time.time()
        self._writer.activity(run.id, [])
        self._count()
        await self._writer.set_run_state(run.id, state, finished_at=run.finished_at)
        await self._writer.flush()
        requests = list(self._requests.values())
        if self._results is not None:
            await self._close_results(self._results)
        self._tell(self._listener.ended)
        return Ended(run, requests, signal=self.stopped_by, history_failed=self._writer.failed)

    async def _close_results(self, results: ResultsDir) -> None:
        """Write the summaries; what could not be written is said with the run, whose results are in the history."""
        run = self.run_record
        results.close(run, list(self._requests.values()))
        if results.error:
            run.warnings.append(results.error)
            self._tell(self._listener.trouble, results.error)
            await self._writer.set_run_state(run.id, run.state, warnings=run.warnings)

    async def _broken_off(self, problem: BaseException) -> None:
        """Whoever awaited the run cancelled it, or the engine broke: what is finished is kept, the rest can be resumed."""
        run = self.run_record
        run.state, run.finished_at = RunState.INTERRUPTED, time.time()
        run.error = "" if isinstance(problem, asyncio.CancelledError) else f"{type(problem).__name__}: {problem}"
        for request in self._requests.values():
            if request.state is RequestState.RUNNING:
                request.state = RequestState.PENDING
                self._writer.request_changed(request)
        await self._writer.set_run_state(run.id, run.state, finished_at=run.finished_at, error=run.error)

    def _tell(self, hear: Callable[..., None], *what: Any) -> None:
        """Call a listener; what it raises is its own affair and is only logged."""
        try:
            hear(*what)
        except Exception as problem:
            self.log("warning", f"a listener broke: {type(problem).__name__}: {problem}", "")

    async def attempt(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do what goes along with the run; what it raises is logged with the run and nothing more."""
        try:
            await work()
        except Exception as problem:
            self.log("warning", f"{type(problem).__name__}: {problem}", "")

    def interrupt(self, number: int) -> None:
        """A signal arrived: stop; SIGINT once more: at once."""
        again = self.stopped_by is not None
        self.stopped_by = self.stopped_by or number
        self._orchestration.stop(0.0 if again and number == signal.SIGINT else None)

    # What the orchestration tells (Observer)

    def task_finished(self, task: TaskDescription, result: TaskResult) -> None:
        self._writer.finished(result)
        request = self._requests[task.request_key]
        if self._results is not None:
            self._results.add(request, task, result)
        self._tell(self._listener.task_finished, request, task, result)

    def request_changed(self, request: int, state: RequestState, error: str) -> None:
        record = self._requests[request]
        record.state, record.error = state, error
        now = time.time()
        if state is RequestState.RUNNING:
            record.started_at = record.started_at or now
        else:
            record.finished_at = now
        self._writer.request_changed(record)
        self._tell(self._listener.request_changed, record)

    def rest_cancelled(self, request: int, message: str) -> None:
        self._writer.cancel_rest(request, message)

    def log(self, level: str, message: str, request: str) -> None:
        self._writer.log(self.run_record.id, LogLine(time.time(), level, message, request))

    # Making requests ready

    def _feed(
        self, request: LoadedRequest, record: RequestRecord, start: Start, environment: Mapping[str, str]
    ) -> Feed:
        folder, grace = start.loaded.folder, start.loaded.plan.runtime.cleanup_grace_seconds

        async def open_request() -> None:
            self._prepared[request.name] = prepare_request(
                request,
                self._slots,
                folder=folder,
                grace=grace,
                environment=environment,
                services=self._services,
                baggage=partial(baggage_of, self._companions, request.name) if self._companions else None,
            )

        async def close_request() -> None:
            prepared = self._prepared.get(request.name)
            if prepared is not None:
                await prepared.aclose()

        async def page(after: int) -> list[TaskDescription]:
            return await asyncio.to_thread(self._page, record, after)

        return Feed(
            key=record.id,
            name=request.name,
            page=page,
            open=open_request,
            close=close_request,
            timeout=request.execution.request_timeout_seconds,
        )

    def _page(self, request: RequestRecord, after: int) -> list[TaskDescription]:
        return [
            TaskDescription(
                task=queued.id,
                request=request.name,
                request_key=request.id,
                case_id=queued.case_id,
                case_input=queued.case_input,
                position=queued.position,
                repeat=queued.repeat,
                line=queued.line,
                work=queued.work,
                answer=queued.answer.answer if queued.answer is not None else None,
                attempts_made=queued.attempts,
                latency=queued.latency,
            )
            for queued in self._history.queued(request.id, after, PAGE)
        ]

    # What viewers see and ask

    async def _attend(self) -> None:
        """Every tick: say what is going on, and obey commands."""
        trouble = ""
        while True:
            self._count()
            self._writer.activity(
                self.run_record.id, [_activity(key, progress) for key, progress in self._orchestration.in_flight()]
            )
            self._show_state()
            try:
                await self._obey_commands()
            except HistoryError as error:  # the run goes on; what cannot be written is the writer's to tell
                if str(error) != trouble:
                    trouble = str(error)
                    self.log("warning", f"commands cannot be read: {error}", "")
            self._tell(self._listener.tick, self.run_record, list(self._requests.values()))
            await asyncio.sleep(TICK_SECONDS)

    def _count(self) -> None:
        for feed in self._feeds:
            running, waiting = self._orchestration.counts(feed)
            self._writer.in_flight(feed.key, running, waiting)
            self._requests[feed.key].counters = self._writer.counters(feed.key)

    async def _obey_commands(self) -> None:
        """Carry out what viewers have asked for since the last time; each command is answered and logged."""
        for command in await self._writer.commands(self.run_record.id):
            said = obey(command, self._parts)
            self.log("info", f"{command.given_by or 'a viewer'}: {asked(command)}: {said}", "")
            self._show_state()
            await self._writer.answer(command.id, said)

    def _show_state(self) -> None:
        """Say what the run is doing as a whole, when that has changed."""
        run = self.run_record
        state = RunState.RUNNING
        if self._orchestration.ending:
            state = RunState.STOPPING
        elif self._slots.paused:
            state = RunState.PAUSED
        if state is not run.state:
            run.state = state
            self._writer.run_state_changed(run.id, state)

    def _set_concurrency(self, value: int) -> None:
        self._slots.capacity = value
        self.run_record.task_concurrency = value
        self._writer.concurrency_changed(self.run_record.id, value)


def _activity(key: int, progress: Progress) -> Activity:
    return Activity(key, progress.phase, progress.since, progress.attempt, progress.until, progress.detail)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for reference cycles seldom while tasks run: each task makes thousands of objects and hardly a cycle, and
    what was imported before never becomes garbage."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
