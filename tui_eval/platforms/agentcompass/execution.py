"""A job of AgentCompass from start to end, on the runner's side: its process, our history, signals and viewers.

AgentCompass runs in a process of its own (``bridge``). What it tells is written as it comes; when it ends without a
result, the files that it left are taken in, and ``resume`` finishes the rest.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from tui_eval.engine.data import TaskDescription
from tui_eval.engine.execution import Ended, Listener
from tui_eval.engine.obeying import asked
from tui_eval.engine.signals import obeying_signals
from tui_eval.errors import StartError
from tui_eval.platforms.agentcompass.beginning import begin
from tui_eval.platforms.agentcompass.catalog import KNOWN_VERSION
from tui_eval.platforms.agentcompass.interpreter import Interpreter
from tui_eval.platforms.agentcompass.paths import run_folder
from tui_eval.platforms.agentcompass.preparing import prepared_data, write_prepared
from tui_eval.platforms.agentcompass.process import BridgeProcess
from tui_eval.platforms.agentcompass.recording import Recording
from tui_eval.platforms.agentcompass.starting import Work
from tui_eval.platforms.agentcompass.tracks import RequestTrack
from tui_eval.store.place import log_path
from tui_eval.store.reader import History
from tui_eval.store.records import FinishedTask, NewTask, RequestRecord, RequestState, RunRecord, RunState

if TYPE_CHECKING:
    from tui_eval.jobs import Job
    from tui_eval.store.writer import HistoryWriter

TICK_SECONDS = 0.25
SILENCE_SECONDS = 60.0
"""After so long without a sign of life a warning is written."""
EXTRA_GRACE_SECONDS = 10.0
"""What AgentCompass gets on top of its own cleanup grace before its process is ended."""
RUN_STATES = {
    "completed": RunState.COMPLETED,
    "partial_failure": RunState.PARTIAL_FAILURE,
    "failed": RunState.FAILED,
    "timed_out": RunState.TIMED_OUT,
    "cancelled": RunState.CANCELLED,
}
Line = Mapping[str, Any]


async def execute_orchestration(
    job: Job,
    *,
    listener: Listener | None = None,
    signals: bool = False,
    begun: Callable[[RunRecord], None] | None = None,
    environment: Mapping[str, str] | None = None,
    on_line: Callable[[Line], None] = lambda line: None,
) -> Ended:
    """Execute ``job`` to its end, as ``engine.execution.execute_job`` does for plans of ours.

    ``on_line`` hears every line of the bridge. Raises SpecError, NothingToRun, UsageError or HistoryError when it
    cannot begin; from then on everything is in what it returns.
    """
    environment = os.environ if environment is None else environment
    listener = listener or Listener()
    async with begin(job, environment, listener.trouble) as (work, writer, history, interpreter):
        if begun is not None:
            begun(work.run)
        execution = CompassExecution(work, writer, history, interpreter, listener, environment, on_line)
        with obeying_signals(execution) if signals else nullcontext():
            return await execution.run()


class CompassExecution:
    """One run of AgentCompass being executed. Also what signals and commands act on."""

    def __init__(
        self,
        work: Work,
        writer: HistoryWriter,
        history: History,
        interpreter: Interpreter,
        listener: Listener,
        environment: Mapping[str, str],
        on_line: Callable[[Line], None],
    ) -> None:
        self._work, self._writer, self._history = work, writer, history
        self._interpreter = interpreter
        self._listener, self._on_line = listener, on_line
        self._environment = environment
        self._stopped_by: int | None = None
        self._cancelled_by = ""
        self._stop_at: float | None = None
        self._stop_twice = False
        self._process: BridgeProcess | None = None
        self._outcome: Line | None = None
        self._silent = False
        self._log = log_path(writer.path, f"{work.file_name}.agentcompass")
        tracks = [RequestTrack(record) for record in work.requests]
        self._recording = Recording(
            writer, history, work.run, tracks, work.loaded.folder, self._task_finished, self._request_changed
        )

    async def run(self) -> Ended:
        """Execute until the end and write the final state."""
        work, run = self._work, self._work.run
        run.started_at, run.state = run.started_at or time.time(), RunState.RUNNING
        await self._writer.set_run_state(run.id, run.state, started_at=run.started_at)
        self._say_how()
        for track in self._recording.requests.values():
            self._recording.know(track)
            self._place(track)
        self._recording.count()
        self._tell(self._listener.begun, run, work.requests)
        try:
            await self._bridge()
        except asyncio.CancelledError:
            await self._conclude(RunState.INTERRUPTED, "")
            raise
        return await self._end()

    def _say_how(self) -> None:
        work, python = self._work, self._interpreter
        self._recording.log(
            "info",
            f"AgentCompass {python.agentcompass} in {python.path} (Python {python.python}); its log is {self._log}",
        )
        if python.agentcompass != KNOWN_VERSION:
            text = f"AgentCompass {python.agentcompass} is not the version that was tested with, {KNOWN_VERSION}"
            self._recording.log("warning", text)
        for note in work.notes:
            self._recording.log("info", note)

    def _place(self, track: RequestTrack) -> None:
        """Where the results of a request will be: its run id is ours."""
        change = self._work.changes.get(track.record.name)
        request = next((one for one in self._work.loaded.requests if one.name == track.record.name), None)
        if change is not None and request is not None:
            track.folder = run_folder(self._work.loaded.results_dir, request.run_name, request.name, change.run_id)

    async def _bridge(self) -> None:
        """Start AgentCompass and record what it says until it has ended."""
        work = self._work
        data = prepared_data(work.loaded, work.changes)
        prepared = write_prepared(data, self._writer.path.parent / "agentcompass", work.file_name)
        asked_for = {
            "action": "launch",
            "file": str(prepared.path),
            "preload": list(work.options.preload),
            "config": list(work.options.config),
        }
        self._log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            async with BridgeProcess(
                self._interpreter,
                asked_for,
                cwd=work.loaded.folder,
                environment={**self._environment, **prepared.variables},
                log=self._log,
                grace=min(work.loaded.grace_seconds, EXTRA_GRACE_SECONDS),
                redact=work.loaded.secrets.redact_bytes,
            ) as process:
                self._process = process
                await self._listen(process)
            how = process.ended_how
        except StartError as error:
            how = f"could not be started: {error}"
        self._process = None
        if self._outcome is None:
            self._outcome = {"kind": "gone", "how": how}

    async def _listen(self, process: BridgeProcess) -> None:
        while True:
            due = time.monotonic() + TICK_SECONDS
            while (left := due - time.monotonic()) > 0:
                try:
                    line = await asyncio.wait_for(process.lines.get(), left)
                except TimeoutError:
                    break
                if line is None:
                    return
                await self._take(line)
            await self._tick(process)
            if self._stop_at is not None and time.monotonic() > self._stop_at:
                return

    async def _take(self, line: Line) -> None:
        kind = line.get("kind")
        if kind in ("result", "cancelled", "error"):
            self._outcome = line
        if kind == "request_finished" and self._stopped_by is not None and _status(line) == "cancelled":
            return  # it was interrupted, not given up: it stays pending, and `resume` finishes it
        if kind == "heartbeat" and float(line.get("stalled_seconds") or 0) >= SILENCE_SECONDS:
            self._recording.log("warning", f"AgentCompass's event loop has stood still for {line['stalled_seconds']} s")
        await self._recording.take(line)
        self._tell(self._on_line, line)

    async def _tick(self, process: BridgeProcess) -> None:
        """Say what is going on, obey viewers, notice silence."""
        recording, run = self._recording, self._work.run
        recording.count()
        self._writer.activity(run.id, recording.activity())
        for command in await self._writer.commands(run.id):
            said = self._obey(command.kind, command.given_by)
            recording.log("info", f"{command.given_by or 'a viewer'}: {asked(command)}: {said}")
            await self._writer.answer(command.id, said)
        silent = time.monotonic() - process.last_line_at
        if silent > SILENCE_SECONDS and not self._silent:
            recording.log("warning", f"AgentCompass's process has said nothing for {silent:.0f} s")
        self._silent = silent > SILENCE_SECONDS
        self._tell(self._listener.tick, run, self._work.requests)

    # -- stopping

    def interrupt(self, number: int) -> None:
        """A signal arrived: have AgentCompass cancel; SIGINT once more: end it at once."""
        again = self._stopped_by is not None
        self._stopped_by = self._stopped_by or number
        self._stop(at_once=again and number == signal.SIGINT)

    def _stop(self, *, at_once: bool = False) -> None:
        run, grace = self._work.run, self._work.loaded.grace_seconds + EXTRA_GRACE_SECONDS
        if run.state is not RunState.STOPPING:
            run.state = RunState.STOPPING
            self._writer.run_state_changed(run.id, run.state)
        if self._stop_at is None or at_once:
            self._stop_at = time.monotonic() + (0.0 if at_once else grace)
            if self._process is not None:
                self._process.stop()

    def _obey(self, kind: str, by: str) -> str:
        if kind == "cancel_run":
            self._cancelled_by = f"cancelled by {by or 'a viewer'}"
            self._stop()
            return "cancelling the run"
        return f"AgentCompass offers no `{kind}` while it runs; only the whole run can be cancelled"

    # -- ending

    async def _end(self) -> Ended:
        outcome = self._outcome or {}
        kind = outcome.get("kind")
        if kind == "result":
            result = outcome.get("result")
            result = result if isinstance(result, Mapping) else {}
            await self._requests_of(result)
            state = RUN_STATES.get(str(result.get("status")), RunState.FAILED)
            return await self._conclude(self._state_with_kept(state), "")
        if self._cancelled_by:
            return await self._conclude(RunState.CANCELLED, "")
        if self._stopped_by is not None or kind == "cancelled":
            return await self._conclude(RunState.INTERRUPTED, "")
        if kind == "error":
            return await self._conclude(RunState.FAILED, f"AgentCompass: {outcome.get('error')}")
        return await self._conclude(
            RunState.INTERRUPTED,
            f"AgentCompass's process ended {outcome.get('how', '')} without a result (its log is {self._log}); what it "
            f"had finished is kept: tui-eval resume {self._work.run.run_id}",
        )

    def _state_with_kept(self, state: RunState) -> RunState:
        """A run that takes up another one has also the requests that were not run again."""
        if state is RunState.COMPLETED and any(one.state is not RequestState.COMPLETED for one in self._work.requests):
            return RunState.PARTIAL_FAILURE
        return state

    async def _requests_of(self, result: Line) -> None:
        """The ends of requests that no callback told of."""
        requests = result.get("requests")
        for outcome in requests.values() if isinstance(requests, Mapping) else ():
            track = self._recording.requests.get(str(outcome.get("name")))
            if track is not None and track.record.state in (RequestState.PENDING, RequestState.RUNNING):
                await self._recording.request_ended(outcome)

    async def _conclude(self, state: RunState, error: str) -> Ended:
        run, recording = self._work.run, self._recording
        for track in recording.requests.values():
            await recording.reconcile(track)
            self._close(track, state, error)
        run.state, run.finished_at, run.error = state, time.time(), error
        self._writer.activity(run.id, [])
        recording.count()
        await self._writer.set_run_state(run.id, state, finished_at=run.finished_at, error=error, warnings=run.warnings)
        self._tell(self._listener.ended)
        return Ended(run, self._work.requests, signal=self._stopped_by, history_failed=self._writer.failed)

    def _close(self, track: RequestTrack, state: RunState, error: str) -> None:
        """A request that has no end yet gets one that fits that of the run."""
        record = track.record
        for one in track.tasks.values():
            one.activity.clear()
        if record.state not in (RequestState.PENDING, RequestState.RUNNING):
            left = self._writer.counters(record.id)
            if left.total > left.finished and record.state is not RequestState.COMPLETED:
                self._writer.cancel_rest(record.id, record.error or "AgentCompass did not run it")
            return
        if state is RunState.INTERRUPTED:
            record.state = RequestState.PENDING
            self._writer.request_changed(record)
            return
        self._writer.cancel_rest(record.id, self._cancelled_by or error or "AgentCompass did not run it")
        ended = RequestState.CANCELLED if state is RunState.CANCELLED else RequestState.FAILED
        self._recording.end_request(track, ended, self._cancelled_by or error)

    # -- telling

    def _task_finished(self, request: RequestRecord, task: NewTask, result: FinishedTask) -> None:
        described = TaskDescription(
            task=result.task,
            request=request.name,
            request_key=request.id,
            case_id=task.case_id,
            case_input=task.case_input,
            position=task.position,
            repeat=task.repeat,
        )
        self._tell(self._listener.task_finished, request, described, result)

    def _request_changed(self, request: RequestRecord) -> None:
        self._tell(self._listener.request_changed, request)

    def _tell(self, hear: Callable[..., None], *what: Any) -> None:
        """Call a listener; what it raises is its own affair and is only logged."""
        try:
            hear(*what)
        except Exception as problem:
            self._recording.log("warning", f"a listener broke: {type(problem).__name__}: {problem}")


def _status(line: Line) -> str:
    outcome = line.get("outcome")
    return str(outcome.get("status")) if isinstance(outcome, Mapping) else ""


__all__ = ["execute_orchestration"]
