"""What is left of a run of AgentCompass that was interrupted, and how AgentCompass is told to do only that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.domain import Outcome
from tui_eval.platforms.agentcompass.loading import ComposedRequest, LoadedOrchestration
from tui_eval.platforms.agentcompass.paths import namespace, safe_component
from tui_eval.platforms.agentcompass.preparing import RequestChange
from tui_eval.platforms.agentcompass.result_files import read_object
from tui_eval.platforms.agentcompass.starting import Options, Work
from tui_eval.store.records import RequestRecord, RequestState, RunRecord

if TYPE_CHECKING:
    from tui_eval.store.reader import History


async def plan_resume(
    run: RunRecord, loaded: LoadedOrchestration, options: Options, history: History, requests: list[RequestRecord]
) -> Work:
    """What is left of a run that was interrupted. Its files have been taken in before."""
    changes: dict[str, RequestChange] = {}
    notes: list[str] = []
    composed = {request.name: request for request in loaded.requests}
    number = _next_number(loaded, requests, run.run_id)
    for record in requests:
        request = composed.get(record.name)
        if request is None or not _unfinished(record):
            continue
        before = run_folders(loaded, request, run.run_id)
        change, note = _rest_of(request, record, before[-1] if before else None, history, f"{run.run_id}-r{number}")
        changes[record.name] = change
        notes.append(note)
    return Work(loaded, run, requests, options, changes, f"{run.run_id}-r{number}", notes)


def _unfinished(record: RequestRecord) -> bool:
    counters = record.counters
    if counters.total - counters.finished or not counters.total:
        return True
    return record.state not in (RequestState.COMPLETED, RequestState.FAILED)


def _rest_of(
    request: ComposedRequest, record: RequestRecord, before: Path | None, history: History, run_id: str
) -> tuple[RequestChange, str]:
    """How AgentCompass is told to do only what is left, and that in plain words."""
    known = {task.case_id for task in history.iter_tasks(record.run, request=record.id)}
    queued = [
        task.case_id
        for task in history.iter_tasks(record.run, request=record.id, outcomes=[Outcome.QUEUED, Outcome.RUNNING])
    ]
    told = read_object(before / "progress.json") if before is not None else None
    finished = record.counters.finished
    if before is None or not finished:
        return RequestChange(run_id, reuse=""), f"{record.name}: nothing was finished; everything is run"
    if request.max_retries and told is not None and queued and told.get("total_tasks") == len(known):
        ids = list(dict.fromkeys(queued))
        return RequestChange(
            run_id, ids, ""
        ), f"{record.name}: {len(ids)} unfinished tasks are run, {finished} are kept"
    return (
        RequestChange(run_id, reuse=before.name),
        f"{record.name}: AgentCompass takes over {finished} finished tasks of {before} and runs the rest",
    )


def run_folders(loaded: LoadedOrchestration, request: ComposedRequest, run_id: str) -> list[Path]:
    """The folders that AgentCompass wrote for a request of a run of ours, oldest first."""
    place = loaded.results_dir.joinpath(*namespace(request.run_name, request.name))
    first = [place / safe_component(name) for name in (request.run_id, run_id) if name]
    later = sorted(place.glob(f"{run_id}-r*"), key=lambda path: _resumption(path.name))
    return [path for path in (*first[:1], *later) if path.is_dir()]


def _resumption(name: str) -> int:
    number = name.rpartition("-r")[2]
    return int(number) if number.isdecimal() else 0


def _next_number(loaded: LoadedOrchestration, requests: list[RequestRecord], run_id: str) -> int:
    numbers = [
        _resumption(path.name)
        for request in loaded.requests
        for path in run_folders(loaded, request, run_id)
        if path.name.startswith(f"{run_id}-r")
    ]
    return max(numbers, default=0) + 1
