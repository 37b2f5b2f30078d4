"""An old result directory of AgentLoop's own clients, brought into the history as a finished run (contract, section 4).

The directory has no record, no plan and no times of its tasks: what is not there stays empty, and the run says so.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from tui_eval import __version__
from tui_eval.datasets.identity import content_id, id_problem, id_text
from tui_eval.domain import JsonValue, Outcome, as_text
from tui_eval.errors import UsageError
from tui_eval.jobs import new_run_id
from tui_eval.spec.credentials import hide_credentials
from tui_eval.store.reader import History
from tui_eval.store.records import (
    AttemptPayload,
    AttemptRecord,
    FinishedTask,
    NewTask,
    RequestRecord,
    RequestState,
    RunRecord,
    RunState,
)
from tui_eval.store.writer import HistoryWriter

LARGEST_FILE = 64 * 1024 * 1024
_CHUNK = 500


@dataclass(slots=True)
class Found:
    """One result: its row, its repeat, and what ``solution.json`` says of it."""

    case_id: str
    row: dict[str, JsonValue]
    repeat: int
    solution: dict[str, Any]
    at: float


@dataclass(slots=True)
class ResultDir:
    """What a result directory holds. ``warnings`` name the files that could not be used."""

    name: str
    started_at: float
    results: list[Found] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_result_dir(folder: Path) -> ResultDir:
    """Read ``folder``. A file that is broken costs its own result; raises UsageError when there is none at all."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder")
    warnings: list[str] = []
    meta = _read(folder / "evaluation_meta.json", warnings, wanted=False) or {}
    benchmark = meta.get("benchmark")
    name = str(benchmark.get("name") or "") if isinstance(benchmark, dict) else ""
    found = ResultDir(name or folder.resolve().name, _time(meta.get("created_at"), folder), warnings=warnings)
    seen: dict[tuple[str, int], str] = {}
    for place in sorted(path for path in folder.iterdir() if path.is_dir() and (path / "task_meta.json").exists()):
        for result in _results(place, warnings):
            before = seen.get((result.case_id, result.repeat))
            if before is not None:
                warnings.append(f"{place.name}/{result.repeat}: the same row and repeat as in {before}; left out")
                continue
            seen[result.case_id, result.repeat] = place.name
            found.results.append(result)
    if not found.results:
        why = f": {'; '.join(warnings[:3])}" if warnings else ""
        raise UsageError(
            f"{folder} has no results of AgentLoop (<task>/task_meta.json, <task>/<repeat>/solution.json){why}"
        )
    return found


def _results(place: Path, warnings: list[str]) -> Iterator[Found]:
    meta = _read(place / "task_meta.json", warnings)
    if meta is None:
        return
    row = meta.get("input")
    row = row if isinstance(row, dict) else {"input": row}
    case_id = id_text(row["id"]) if "id" in row and not id_problem(row["id"]) else content_id(row)
    for inside in sorted(path for path in place.iterdir() if path.is_dir() and path.name.isdecimal()):
        file = inside / "solution.json"
        solution = _read(file, warnings)
        if solution is not None and isinstance(solution.get("success"), bool):
            yield Found(case_id, row, int(inside.name), solution, file.stat().st_mtime)
        elif solution is not None:
            warnings.append(f"{place.name}/{inside.name}/solution.json does not say whether it succeeded; left out")


def _read(path: Path, warnings: list[str], *, wanted: bool = True) -> dict[str, Any] | None:
    shown = "/".join(path.parts[-3:])
    try:
        if path.stat().st_size > LARGEST_FILE:
            warnings.append(f"{shown} is larger than {LARGEST_FILE // 1024 // 1024} MiB; left out")
            return None
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        if wanted:
            warnings.append(f"{shown} is not there")
        return None
    except (OSError, ValueError, RecursionError):
        warnings.append(f"{shown} cannot be read as JSON (cut off?); left out")
        return None
    if not isinstance(value, dict):
        warnings.append(f"{shown} is not a JSON object; left out")
        return None
    return value


def _time(text: Any, folder: Path) -> float:
    try:
        return datetime.strptime(str(text), "%Y-%m-%d %H:%M:%S.%f").astimezone().timestamp()
    except ValueError:
        return folder.stat().st_mtime


async def import_result_dir(folder: Path, history: Path) -> tuple[str, ResultDir]:
    """Make a run of ``folder``: its id, and what was found. Raises UsageError when it was imported already."""
    found = read_result_dir(folder)
    mark = _mark(found)
    if history.exists():
        with History(history) as stored:
            for overview in stored.runs(limit=1000, tag="imported"):
                if overview.run.origin_detail.get("content") == mark:
                    raise UsageError(f"{folder} was imported already, as run {overview.run.run_id}")
    async with await HistoryWriter.open(history) as writer:
        run = _run(found, folder, mark)
        await writer.create_run(run)
        request = RequestRecord(
            run.id, 0, "imported", RequestState.RUNNING, _kind(found), dataset=str(folder), started_at=found.started_at
        )
        await writer.add_requests([request])
        await writer.add_tasks(
            [
                NewTask(request.id, position, result.case_id, result.row, result.repeat)
                for position, result in enumerate(found.results)
            ]
        )
        with History(history) as stored:
            keys = {(task.case_id, task.repeat): task.id for task in stored.iter_tasks(run, request=request.id)}
        for result in found.results:
            writer.finished(_finished(result, keys[result.case_id, result.repeat], request.id))
        ended = max(result.at for result in found.results)
        await writer.set_request_state(request.id, RequestState.COMPLETED, finished_at=ended)
        await writer.set_run_state(run.id, RunState.COMPLETED, finished_at=ended)
    return run.run_id, found


def _mark(found: ResultDir) -> str:
    digest = hashlib.sha256()
    for result in found.results:
        digest.update(json.dumps([result.case_id, result.repeat, result.solution], sort_keys=True).encode())
    return digest.hexdigest()[:32]


def _kind(found: ResultDir) -> str:
    request = (found.results[0].solution.get("meta") or {}).get("request")
    return "http" if isinstance(request, dict) and "url" in request else "command"


def _run(found: ResultDir, folder: Path, mark: str) -> RunRecord:
    repeats = 1 + max(result.repeat for result in found.results)
    request = {"name": "imported", "execution": {"n_repeat": repeats}, "evaluators": []}
    return RunRecord(
        run_id=new_run_id(),
        name=found.name,
        state=RunState.RUNNING,
        plan={"version": 1, "name": found.name, "requests": [request]},
        folder=str(folder.absolute()),
        program=__version__,
        created_at=found.started_at,
        origin="import",
        origin_detail={"from": "agentloop", "folder": str(folder.absolute()), "content": mark},
        started_at=found.started_at,
        warnings=found.warnings[:100],
        tags=["imported"],
        note="imported from a result directory of AgentLoop: it says neither plan nor record, nor when each task ran",
        pid=os.getpid(),
    )


def _finished(result: Found, task: int, request: int) -> FinishedTask:
    solution = result.solution
    meta = solution.get("meta") if isinstance(solution.get("meta"), dict) else {}
    assert isinstance(meta, dict)
    latency = meta.get("latency_ms")
    seconds = latency / 1000 if isinstance(latency, int | float) and not isinstance(latency, bool) else 0.0
    failed = not solution["success"]
    kind = str(meta.get("error_type") or "error")[:60] if failed else ""
    message = str(meta.get("error_message") or "") if failed else ""
    status = meta.get("status_code")
    sent = meta.get("request") if isinstance(meta.get("request"), dict) else {}
    assert isinstance(sent, dict)
    sent = {"body" if name == "json" else name: value for name, value in sent.items()}
    trace = str(meta.get("traceId") or "")
    output = solution.get("output")
    answer: dict[str, JsonValue] = {"output": output, "detail": {"meta": _without_headers(meta)}}
    attempt = AttemptRecord(
        1,
        result.at - seconds,
        seconds,
        kind,
        message,
        status if isinstance(status, int) and status > 0 else None,
        trace,
        AttemptPayload(hide_credentials(sent), answer),
    )
    return FinishedTask(
        task,
        request,
        Outcome.ERROR if failed else Outcome.UNSCORED,
        result.at - seconds,
        result.at,
        [attempt],
        [],
        latency=seconds,
        error_kind=kind,
        message=message or ("" if failed else "imported without scores"),
        output=as_text(output) if output is not None else "",
        trace_id=trace,
    )


def _without_headers(meta: dict[str, Any]) -> dict[str, Any]:
    """What else ``meta`` says; the request stands in its own place, without credentials."""
    return {name: value for name, value in meta.items() if name not in ("request", "experiment_input")}
