"""AgentCompass's events and result files, written into our history while they come.

Events tell what happens when, files what came of it: a task's result is read when its end is told. The same
bookkeeping takes the lines of the bridge, those of a ``progress.jsonl``, and the files that a killed process left.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from tui_eval.domain import Outcome
from tui_eval.platforms.agentcompass.figures import TOLD, figures
from tui_eval.platforms.agentcompass.outcomes import Times, case_of, finished_task, question_of
from tui_eval.platforms.agentcompass.result_files import TaskFiles, task_of, tasks_of
from tui_eval.platforms.agentcompass.tracks import RequestTrack, TaskTrack
from tui_eval.store.reader import History
from tui_eval.store.records import (
    Activity,
    FinishedTask,
    LogLine,
    NewTask,
    RequestRecord,
    RequestState,
    RunRecord,
)
from tui_eval.store.writer import HistoryWriter

BATCH = 50
"""Tasks whose files are in memory at once."""
MARKED_PHASES = {"retry_wait": "waiting"}
"""Phases that have a word of ours; the others are shown under AgentCompass's own."""

REQUEST_STATES = {
    "completed": RequestState.COMPLETED,
    "failed": RequestState.FAILED,
    "timed_out": RequestState.TIMED_OUT,
    "cancelled": RequestState.CANCELLED,
}


class Recording:
    """Writes one run. ``on_finished`` hears of every finished task, ``on_request`` of every change of a request.

    ``relative_to`` is the folder that relative paths in AgentCompass's words start from.
    """

    def __init__(
        self,
        writer: HistoryWriter,
        history: History,
        run: RunRecord,
        requests: list[RequestTrack],
        relative_to: Path,
        on_finished: Callable[[RequestRecord, NewTask, FinishedTask], None] = lambda request, task, result: None,
        on_request: Callable[[RequestRecord], None] = lambda request: None,
    ) -> None:
        self.run = run
        self.requests = {request.record.name: request for request in requests}
        self._writer, self._history = writer, history
        self._relative_to = relative_to
        self._on_finished, self._on_request = on_finished, on_request

    # -- lines

    async def take(self, line: Mapping[str, Any]) -> None:
        """One line of the bridge about tasks or requests; others are left alone."""
        match line.get("kind"):
            case "tasks":
                await self._tasks(line)
            case "progress" if isinstance(line.get("event"), Mapping):
                await self.event(line["event"])
            case "request_finished" if isinstance(line.get("outcome"), Mapping):
                await self.request_ended(line["outcome"])

    async def event(self, event: Mapping[str, Any], request: RequestTrack | None = None) -> None:
        """One progress event (contract, section 3)."""
        request = request or self.requests.get(str(event.get("request_name") or ""))
        if request is None:
            return
        at = _time(event)
        name = event.get("event")
        if name == "run_started":
            self._begun(request, at, event)
        task_id = event.get("task_id")
        if not isinstance(task_id, str) or not task_id:
            return
        track = request.tasks.get(task_id) or TaskTrack(task_id)
        if name == "task_started":
            track.started_at, track.category = track.started_at or at, event.get("category")
            await self._add(request, [(track, 1)])
        number = event.get("attempt")
        number = number if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 10_000 else None
        if number is not None and name == "attempt_started":
            track.begun.setdefault(number, at)
            await self._add(request, [(track, number)])
        if number is not None and name == "attempt_finished":
            track.ended[number] = at
            track.activity.pop(number, None)
        self._show(track, number, str(name), event, at)
        if name == "task_finished":
            track.activity.clear()
            await self._task_ended(request, track, at, event)

    def _begun(self, request: RequestTrack, at: float, event: Mapping[str, Any]) -> None:
        record = request.record
        if record.state in (RequestState.PENDING, RequestState.RUNNING):
            record.state, record.started_at = RequestState.RUNNING, record.started_at or at
            self._writer.request_changed(record)
            self._on_request(record)

    def _show(self, track: TaskTrack, number: int | None, name: str, event: Mapping[str, Any], at: float) -> None:
        """What the task does now, for the people watching."""
        if name == "phase_changed" and event.get("phase"):
            phase = str(event["phase"])
        elif name in ("task_started", "attempt_started"):
            phase = "starting"
        elif name == "attempt_retry":
            phase = "retry_wait"
        else:
            return
        slot = number if number is not None else max(track.keys, default=1)
        key = track.keys.get(slot)
        if key is None or slot in track.finished:
            return
        payload = event.get("payload")
        delay = payload.get("retry_delay_seconds") if isinstance(payload, Mapping) else None
        until = at + delay if isinstance(delay, int | float) and name == "attempt_retry" else None
        track.activity[slot] = Activity(key, MARKED_PHASES.get(phase, phase), at, 1, until)

    async def _tasks(self, line: Mapping[str, Any]) -> None:
        """What the bridge knows of the tasks of a request before they start."""
        request = self.requests.get(str(line.get("request_name") or ""))
        listed = line.get("tasks")
        if request is None or not isinstance(listed, list):
            return
        if line.get("output_dir"):
            request.folder = self._relative_to / str(line["output_dir"])
        request.reused = frozenset(str(one) for one in line.get("reused") or ())
        fresh = []
        for one in listed:
            if not isinstance(one, Mapping) or not isinstance(one.get("task_id"), str):
                continue
            track = request.tasks.get(one["task_id"]) or TaskTrack(one["task_id"])
            track.category = one.get("category")
            track.question, track.ground_truth = one.get("question"), one.get("ground_truth")
            fresh.append((track, 1))
        await self._add(request, fresh)
        await self._take_reused(request)

    async def request_ended(self, outcome: Mapping[str, Any]) -> None:
        """A RequestOutcome: the end of a request, also of one that never began (no event tells of that)."""
        request = self.requests.get(str(outcome.get("name") or ""))
        if request is None:
            return
        paths = outcome.get("paths")
        if isinstance(paths, Mapping) and paths.get("output_dir"):
            request.folder = self._relative_to / str(paths["output_dir"])
        await self.reconcile(request)
        state = REQUEST_STATES.get(str(outcome.get("status")), RequestState.FAILED)
        result = outcome.get("result")
        metrics = result.get("metrics") if isinstance(result, Mapping) else None
        self.end_request(request, state, str(outcome.get("error") or ""), metrics)

    def end_request(
        self,
        request: RequestTrack,
        state: RequestState,
        error: str = "",
        metrics: Mapping[str, Any] | None = None,
        at: float | None = None,
    ) -> None:
        """Write the end of a request, with AgentCompass's own figures for it."""
        record = request.record
        record.state, record.error, record.finished_at = state, error, time.time() if at is None else at
        self._writer.request_changed(record)
        request.figures = figures(metrics) if metrics is not None else ""
        if request.figures:
            self.log("info", f"{TOLD}{request.figures}", record.name)
            if metrics is not None and metrics.get("evaluation_failed"):
                # Before what was known at the start: a page that has room for one warning shows this one.
                self.run.warnings.insert(0, f"{record.name}: {request.figures}")
        for track in request.tasks.values():
            track.activity.clear()
        self._on_request(record)

    # -- files

    async def reconcile(self, request: RequestTrack) -> None:
        """Record every final task on disk that no event told of (a killed process, a stream that broke off)."""
        if request.folder is None:
            return
        known = [
            name for name, track in request.tasks.items() if track.finished and track.finished >= track.keys.keys()
        ]
        files = tasks_of(request.folder, known)
        while batch := await asyncio.to_thread(lambda: list(islice(files, BATCH))):
            await self.take_files(request, batch)

    async def take_files(self, request: RequestTrack, files: list[TaskFiles]) -> None:
        """Record the tasks among these that are final; the others get their rows."""
        tracks = [(self._track_of(request, task), task) for task in files]
        await self._add(request, [(track, number) for track, task in tracks for number in sorted(task.attempts) or [1]])
        for track, task in tracks:
            if task.final:
                self._record(request, track, task, None)

    async def add_started(self, request: RequestTrack) -> None:
        """Rows for tasks that are known to have started, of which there is no file."""
        await self._add(request, [(track, 1) for track in request.tasks.values() if not track.keys])

    def cancel_rest(self, request: RequestTrack, message: str) -> None:
        """Tasks of a request that has ended, and that did not."""
        counters = self._writer.counters(request.record.id)
        if counters.total > counters.finished:
            self._writer.cancel_rest(request.record.id, message)

    def _track_of(self, request: RequestTrack, task: TaskFiles) -> TaskTrack:
        track = request.tasks.get(task.task_id) or TaskTrack(task.task_id)
        track.category = track.category if track.category is not None else task.category
        track.ground_truth = track.ground_truth if track.ground_truth is not None else task.ground_truth
        if track.question is None:
            track.question = question_of(next(iter(task.attempts.values()), None))
        return track

    async def _take_reused(self, request: RequestTrack) -> None:
        """What AgentCompass reuses from a run that we do not know is in the new folder already."""
        unknown = [name for name in request.reused if name in request.tasks and not request.tasks[name].finished]
        if unknown:
            await self.reconcile(request)
            self.log(
                "info",
                f"AgentCompass took over {len(request.reused)} finished tasks of an earlier run",
                request.record.name,
            )

    async def _task_ended(self, request: RequestTrack, track: TaskTrack, at: float, event: Mapping[str, Any]) -> None:
        if not track.keys:
            await self._add(request, [(track, 1)])
        files = await asyncio.to_thread(task_of, request.folder, track.task_id) if request.folder is not None else None
        if files is not None and files.attempts:
            await self._add(request, [(self._track_of(request, files), number) for number in sorted(files.attempts)])
            self._record(request, track, files, at)
        for number, key in track.keys.items():
            if number not in track.finished:
                self._finish(request, track, number, _without_files(key, request, track, number, at, event))

    def _record(self, request: RequestTrack, track: TaskTrack, files: TaskFiles, at: float | None) -> None:
        for number in files.attempts:
            if number in track.finished or number not in track.keys:
                continue
            times = Times(track.begun.get(number) or track.started_at, track.ended.get(number) or at)
            result = finished_task(files, number, (track.keys[number], request.record.id), times, request.files())
            if result is not None:
                self._finish(request, track, number, result)

    def _finish(self, request: RequestTrack, track: TaskTrack, number: int, result: FinishedTask) -> None:
        track.finished.add(number)
        track.activity.pop(number, None)
        self._writer.finished(result)
        columns = case_of(track.category, track.question, track.ground_truth)
        described = NewTask(request.record.id, 0, track.task_id, columns, repeat=number - 1)
        self._on_finished(request.record, described, result)

    # -- rows

    async def _add(self, request: RequestTrack, wanted: list[tuple[TaskTrack, int]]) -> None:
        """Make rows for attempts that have none."""
        new: dict[tuple[str, int], TaskTrack] = {}
        for track, number in wanted:
            request.tasks.setdefault(track.task_id, track)
            if number not in track.keys:
                new[track.task_id, number - 1] = track
        if not new:
            return
        first = request.next_position
        rows = [
            NewTask(
                request.record.id,
                first + at,
                track.task_id,
                case_of(track.category, track.question, track.ground_truth),
                repeat=repeat,
            )
            for at, ((_, repeat), track) in enumerate(new.items())
        ]
        await self._writer.add_tasks(rows)
        request.next_position += len(rows)
        for (task_id, repeat), track in new.items():
            found = self._history.find_task(self.run, request.record.name, task_id, repeat)
            if found is not None:
                track.keys[repeat + 1] = found.id

    def know(self, request: RequestTrack) -> None:
        """Take in what the history has of a request already: the tasks of a run that goes on."""
        for task in self._history.iter_tasks(self.run, request=request.record.id):
            track = request.tasks.setdefault(task.case_id, TaskTrack(task.case_id))
            track.keys[task.repeat + 1] = task.id
            if task.outcome.final:
                track.finished.add(task.repeat + 1)
            request.next_position = max(request.next_position, task.position + 1)

    def activity(self) -> list[Activity]:
        """What is going on now, oldest first."""
        doing = [
            one
            for request in self.requests.values()
            for track in request.tasks.values()
            for one in track.activity.values()
        ]
        return sorted(doing, key=lambda one: one.since)

    def count(self) -> None:
        """Bring the counters of the requests up to date, running tasks included."""
        for request in self.requests.values():
            doing = [one for track in request.tasks.values() for one in track.activity.values()]
            waiting = sum(one.phase == "waiting" for one in doing)
            self._writer.in_flight(request.record.id, len(doing), waiting)
            request.record.counters = self._writer.counters(request.record.id)

    def log(self, level: str, message: str, request: str = "") -> None:
        self._writer.log(self.run.id, LogLine(time.time(), level, message, request))


def _without_files(
    key: int, request: RequestTrack, track: TaskTrack, number: int, at: float, event: Mapping[str, Any]
) -> FinishedTask:
    """The end of a task of which no file can be found: only the event tells what came of it."""
    payload = event.get("payload")
    severity = str(payload.get("severity") or "") if isinstance(payload, Mapping) else ""
    status = str(event.get("status") or "")
    failed = status == "failed" or severity in ("fatal", "error")
    where = f"in {request.folder}" if request.folder is not None else "(its folder is not known)"
    return FinishedTask(
        task=key,
        request=request.record.id,
        outcome=Outcome.ERROR if failed else Outcome.UNSCORED,
        started_at=track.begun.get(number) or track.started_at or at,
        finished_at=at,
        attempts=[],
        scores=[],
        error_kind="result_missing" if status != "skipped" else "skipped",
        message=f"AgentCompass told {status or 'the end'}{f' ({severity})' if severity else ''}; no result file {where}",
    )


def _time(event: Mapping[str, Any]) -> float:
    at = event.get("timestamp")
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) else time.time()
