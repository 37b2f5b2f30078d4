"""Results that AgentCompass left in a folder, brought into the history: finished runs, and ones that broke off.

Nothing on disk describes an orchestration (contract, section 3). The folders of requests belong together when their
events name the same orchestration, or, without events, when they have the same run id.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from tui_eval import __version__
from tui_eval.errors import UsageError
from tui_eval.platforms.agentcompass.credentials import hidden
from tui_eval.platforms.agentcompass.outcomes import seconds_of
from tui_eval.platforms.agentcompass.recognising import PLATFORM
from tui_eval.platforms.agentcompass.recording import BATCH, REQUEST_STATES, Recording
from tui_eval.platforms.agentcompass.result_files import read_lines, read_object, task_of, tasks_of
from tui_eval.platforms.agentcompass.tracks import RequestTrack, TaskTrack
from tui_eval.store.reader import History
from tui_eval.store.records import RequestRecord, RequestState, RunRecord, RunState
from tui_eval.store.writer import HistoryWriter

DEEPEST = 8
_OWN_FOLDERS = frozenset(("details", "artifacts", "node_modules"))
_SECTIONS = ("benchmark", "harness", "environment")


@dataclass(slots=True)
class Imported:
    """One run that was made, or why a group of folders was left out (``skipped``)."""

    run_id: str
    requests: int
    tasks: int = 0
    skipped: str = ""
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Folder:
    """The folder of one run of one request, and what its small files say."""

    path: Path
    info: Mapping[str, Any]
    orchestration: str
    index: int

    @property
    def run_id(self) -> str:
        return str(self.info.get("run_id") or self.path.name)

    @property
    def request(self) -> Mapping[str, Any]:
        request = self.info.get("request")
        return request if isinstance(request, Mapping) else {}

    @property
    def name(self) -> str:
        metadata = self.request.get("metadata")
        name = metadata.get("request_name") if isinstance(metadata, Mapping) else None
        return str(name or self.path.parent.name)

    @property
    def started_at(self) -> float:
        return seconds_of(self.info.get("started_at")) or self.path.stat().st_mtime


async def import_results(folder: Path, history: Path) -> list[Imported]:
    """Import everything below ``folder``, which is only read. Raises UsageError when there are no results in it."""
    groups = await asyncio.to_thread(_groups, folder)
    if not groups:
        raise UsageError(
            f"{folder}: no results of AgentCompass here: expected folders with a `run_info.json` or `details`, as in "
            "results/REQUEST/RUN_ID"
        )
    return [await _import_group(group, history) for group in groups]


def _groups(folder: Path) -> list[list[_Folder]]:
    if not folder.is_dir():
        raise UsageError(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}")
    found: dict[tuple[str, str], list[_Folder]] = {}
    for path in _run_folders(folder, 0):
        one = _look_at(path)
        found.setdefault((one.orchestration, "" if one.orchestration else one.run_id), []).append(one)
    groups = [sorted(group, key=lambda one: (one.index, one.started_at, one.name)) for group in found.values()]
    return sorted(groups, key=lambda group: min(one.started_at for one in group))


def _run_folders(folder: Path, depth: int) -> Iterator[Path]:
    if (folder / "run_info.json").is_file() or (folder / "progress.jsonl").is_file() or _has_details(folder):
        yield folder
        return
    if depth >= DEEPEST:
        return
    try:
        below = sorted(entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for path in map(Path, below):
        if path.name not in _OWN_FOLDERS and not path.name.startswith("."):
            yield from _run_folders(path, depth + 1)


def _has_details(folder: Path) -> bool:
    return any((folder / "details").glob("*/*/task.json")) or any((folder / "details").glob("*/task.json"))


def _look_at(path: Path) -> _Folder:
    first = next((event for event in read_lines(path / "progress.jsonl") if event.get("orchestration_id")), {})
    index = first.get("request_index")
    return _Folder(
        path.absolute(),
        read_object(path / "run_info.json") or {},
        str(first.get("orchestration_id") or ""),
        index if isinstance(index, int) else 0,
    )


async def _import_group(group: list[_Folder], history_path: Path) -> Imported:
    run = _run_of(group)
    async with await HistoryWriter.open(history_path) as writer:
        with History(history_path) as history:
            if known := _known(history, group, run.run_id):
                return Imported(known, len(group), skipped=f"it is in the history already, as {known}")
            await writer.create_run(run)
            requests = [
                RequestRecord(
                    run.id, position, name, RequestState.PENDING, PLATFORM, dataset=_identity(one, "benchmark")
                )
                for position, (name, one) in enumerate(_named(group))
            ]
            await writer.add_requests(requests)
            tracks = [RequestTrack(record, one.path) for record, one in zip(requests, group, strict=True)]
            recording = Recording(writer, history, run, tracks, group[0].path)
            for track, one in zip(tracks, group, strict=True):
                await _import_request(recording, track, one)
            recording.count()
            run.state = _state(requests)
            run.finished_at = max((one.finished_at for one in requests if one.finished_at), default=run.started_at)
            await writer.set_run_state(run.id, run.state, finished_at=run.finished_at, warnings=run.warnings)
            tasks = sum(writer.counters(one.id).total for one in requests)
    return Imported(run.run_id, len(group), tasks, warnings=run.warnings)


def _known(history: History, group: list[_Folder], run_id: str) -> str:
    """The run of the history that these folders are already, "" when there is none."""
    wanted = {run_id, *(one.run_id for one in group)}
    for name in sorted(wanted):
        try:
            found = history.run(name)
        except UsageError:
            continue
        if found.run_id == name and found.origin_detail.get("platform") == PLATFORM:
            return name
    return ""


async def _import_request(recording: Recording, track: RequestTrack, one: _Folder) -> None:
    events = await asyncio.to_thread(_times, one.path)
    for task_id, known in events.items():
        track.tasks[task_id] = known
    ordered = iter(events)
    while batch := list(islice(ordered, BATCH)):
        found = await asyncio.to_thread(lambda names: [task_of(one.path, name) for name in names], batch)
        await recording.take_files(track, [task for task in found if task is not None])
    rest = tasks_of(one.path, list(events))
    while more := await asyncio.to_thread(lambda: list(islice(rest, BATCH))):
        await recording.take_files(track, more)
    await recording.add_started(track)
    status = str(one.info.get("status") or "")
    metrics = read_object(one.path / "metrics.json")
    state = REQUEST_STATES.get(status, RequestState.PENDING)
    error = str(one.info.get("error") or "")
    if state is RequestState.PENDING:
        recording.run.warnings.append(
            f"{track.record.name}: AgentCompass left no end of it: it was interrupted ({one.path})"
        )
    track.record.started_at = seconds_of(one.info.get("started_at")) or min(
        (known.started_at for known in events.values() if known.started_at), default=None
    )
    finished = seconds_of(one.info.get("finished_at"))
    recording.end_request(track, state, error, metrics, at=finished or track.record.started_at or one.started_at)
    if state is not RequestState.PENDING:
        recording.cancel_rest(track, f"AgentCompass did not finish it ({status})")


def _times(folder: Path) -> dict[str, TaskTrack]:
    """What the events of a request tell of its tasks, in the order they were started."""
    tracks: dict[str, TaskTrack] = {}
    for event in read_lines(folder / "progress.jsonl"):
        task_id, at = event.get("task_id"), event.get("timestamp")
        if not isinstance(task_id, str) or not task_id or not isinstance(at, int | float):
            continue
        track = tracks.setdefault(task_id, TaskTrack(task_id, category=event.get("category")))
        number = event.get("attempt")
        match event.get("event"):
            case "task_started":
                track.started_at = float(at)
            case "attempt_started" if isinstance(number, int):
                track.begun.setdefault(number, float(at))
            case "attempt_finished" if isinstance(number, int):
                track.ended[number] = float(at)
    return tracks


def _state(requests: list[RequestRecord]) -> RunState:
    states = {request.state for request in requests}
    if RequestState.PENDING in states or RequestState.RUNNING in states:
        return RunState.INTERRUPTED
    for state, whole in (
        (RequestState.TIMED_OUT, RunState.TIMED_OUT),
        (RequestState.CANCELLED, RunState.CANCELLED),
        (RequestState.FAILED, RunState.PARTIAL_FAILURE),
    ):
        if state in states:
            return whole
    return RunState.COMPLETED


def _named(group: list[_Folder]) -> Iterator[tuple[str, _Folder]]:
    """Each folder with a name of its own for its request."""
    taken: set[str] = set()
    for one in group:
        name, number = one.name, 1
        while name in taken:
            number += 1
            name = f"{one.name} ({number})"
        taken.add(name)
        yield name, one


def _run_of(group: list[_Folder]) -> RunRecord:
    first = group[0]
    digest = hashlib.sha256(
        "\n".join(sorted(str(one.path) for one in group)).encode("utf-8", "surrogateescape")
    ).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", first.run_id).strip("-._")[:60] or "run"
    started = min(one.started_at for one in group)
    plan = _plan(group)
    return RunRecord(
        run_id=f"ac-{readable}-{digest[:6]}",
        name=" + ".join(name for name, _ in _named(group))[:200],
        state=RunState.PLANNING,
        plan=plan,
        # Where AgentCompass was started is not written; by default its results lie in `results` there.
        folder=str(_results_dir(first).parent),
        program=__version__,
        created_at=started,
        started_at=started,
        origin="import",
        origin_detail={"platform": PLATFORM, "folders": [str(one.path) for one in group]},
        heartbeat_at=time.time(),
    )


def _plan(group: list[_Folder]) -> dict[str, Any]:
    """An orchestration that says what was run, as far as the files tell it (their credentials are hidden)."""
    requests = []
    for name, one in _named(group):
        request: dict[str, Any] = {"name": name}
        for kind in _SECTIONS:
            section = one.request.get(kind)
            if isinstance(section, Mapping):
                params = section.get("params")
                given = {key: value for key, value in section.items() if key not in ("params", "require_startup_env")}
                request[kind] = {**given, **(params if isinstance(params, Mapping) else {})}
        for key in ("model", "execution", "output"):
            if isinstance(one.request.get(key), Mapping):
                request[key] = {
                    k: v for k, v in one.request[key].items() if k != "task_concurrency" or key != "execution"
                }
        request["output"] = {**request.get("output", {}), "run_id": one.run_id}
        requests.append(request)
    root = _results_dir(group[0])
    data = {"version": 1, "name": "", "runtime": {"results_dir": str(root)}, "requests": requests}
    stored: dict[str, Any] = hidden(data)
    return stored


def _results_dir(one: _Folder) -> Path:
    output = one.request.get("output")
    run_name = str(output.get("run_name") or "") if isinstance(output, Mapping) else ""
    levels = 1 + len([part for part in re.split(r"[\\/]+", run_name) if part.strip()])
    parents = one.path.parents
    return parents[min(levels, len(parents) - 1)]


def _identity(one: _Folder, kind: str) -> str:
    section = one.request.get(kind)
    return str(section.get("id") or "") if isinstance(section, Mapping) else ""
