"""A run as AgentLoop's local result files (contract, section 4, "Result directory"), from the history.

``<folder>/<task id>/task_meta.json`` and ``<folder>/<task id>/<repeat>/solution.json`` and ``stats.json``;
``evaluation_meta.json`` and ``evaluation_result.json`` in the folder itself. What was sent is as the history keeps it:
without secrets. Each file appears whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from tui_eval.domain import JsonValue, Outcome
from tui_eval.errors import UsageError
from tui_eval.platforms.agentloop.details import Experiment, sent_input
from tui_eval.store.encoding import to_json
from tui_eval.store.reader import History
from tui_eval.store.records import AttemptPayload, AttemptRecord, RequestRecord, RunRecord, TaskRecord

EMPTY_STATS: dict[str, JsonValue] = {"llm": {}, "agent": 0, "tool": {}, "embedding": {}, "chat_usage": {}}
_MOST = 200
_FINAL = tuple(outcome for outcome in Outcome if outcome.final and outcome is not Outcome.CANCELLED)


def write_result_dir(history: Path, run_id: str, folder: Path) -> int:
    """Write the results of a run below ``folder``; how many. With several requests each has a folder of its own.

    Raises UsageError when the folder cannot be written or there is no such run, HistoryError.
    """
    from tui_eval.spec.names import safe_name

    with History(history) as stored:
        run = stored.run(run_id)
        requests = stored.requests(run)
        try:
            return sum(
                _write_request(stored, run, request, folder if len(requests) == 1 else folder / safe_name(request.name))
                for request in requests
            )
        except OSError as error:
            raise UsageError(f"{folder}: cannot be written: {error.strerror or type(error).__name__}") from error


def _write_request(stored: History, run: RunRecord, request: RequestRecord, folder: Path) -> int:
    experiment = Experiment(run.run_id, request.name, "", "", "", 0.0, "", "", "", "")
    section = run.plan.get("agentloop") or {}
    truth = str(section.get("ground_truth_field", "")) if isinstance(section, dict) else ""
    repeats: dict[str, dict[str, list[str]]] = {}
    written = 0
    for task, columns, attempt in _finished(stored, run, request):
        task_id = experiment.task_id(task.case_id)
        place = folder / task_id
        meta = {"id": task_id, "input": columns, "ground_truth": columns.get(truth, ""), "metrics": [], "tags": None}
        _write(place / "task_meta.json", meta)
        _write(place / str(task.repeat) / "solution.json", solution_of(task, columns, attempt))
        _write(place / str(task.repeat) / "stats.json", EMPTY_STATS)
        group = repeats.setdefault(str(task.repeat), {"completed_ids": [], "incomplete_ids": []})
        group["incomplete_ids" if task.outcome is Outcome.ERROR else "completed_ids"].append(task_id)
        written += 1
    _write_summary(folder, run, request, section if isinstance(section, dict) else {}, repeats)
    return written


def _finished(
    stored: History, run: RunRecord, request: RequestRecord
) -> Iterator[tuple[TaskRecord, dict[str, JsonValue], AttemptRecord | None]]:
    page: list[TaskRecord] = []
    for task in stored.iter_tasks(run, request=request.id, outcomes=_FINAL):
        page.append(task)
        if len(page) == _MOST:
            yield from _with_parts(stored, page)
            page = []
    yield from _with_parts(stored, page)


def _with_parts(
    stored: History, tasks: list[TaskRecord]
) -> Iterator[tuple[TaskRecord, dict[str, JsonValue], AttemptRecord | None]]:
    cases = stored.cases_of(task.case_key for task in tasks)
    attempts = stored.attempts_of((task.id for task in tasks), payloads=True)
    for task in tasks:
        made = attempts.get(task.id, [])
        yield task, cases[task.case_key], made[-1] if made else None


def solution_of(task: TaskRecord, columns: dict[str, JsonValue], attempt: AttemptRecord | None) -> dict[str, Any]:
    """``solution.json`` of one task."""
    payload = attempt.payload if attempt is not None and attempt.payload is not None else AttemptPayload({})
    answer = payload.answer or {}
    request = {"json" if name == "body" else name: value for name, value in payload.request.items()}
    meta: dict[str, JsonValue] = {"experiment_input": sent_input(payload, columns), "request": request}
    if attempt is not None and attempt.status_code is not None:
        meta["status_code"] = attempt.status_code
    meta["traceId"] = task.trace_id
    meta["latency_ms"] = round((task.latency or 0.0) * 1000)
    failed = task.outcome is Outcome.ERROR
    if failed:
        meta["error_type"], meta["error_message"] = task.error_kind or "error", task.message
    return {
        "success": not failed,
        "output": answer.get("output", task.output or None),
        "trajectory": (answer.get("detail") or {}).get("trajectory") or [],
        "meta": meta,
    }


def _write_summary(
    folder: Path,
    run: RunRecord,
    request: RequestRecord,
    section: dict[str, Any],
    repeats: dict[str, dict[str, list[str]]],
) -> None:
    counted = {
        "total_tasks": len({one for group in repeats.values() for names in group.values() for one in names}),
        "total_repeats": max(len(repeats), 1),
    }
    _write(folder / "evaluation_meta.json", _meta(run, request, section, **counted))
    _write(
        folder / "evaluation_result.json",
        {
            **counted,
            "total_stats": EMPTY_STATS,
            "repeats": {name: _repeat(group) for name, group in sorted(repeats.items())},
            "schema_version": 1,
        },
    )


def _meta(
    run: RunRecord, request: RequestRecord, section: dict[str, Any], *, total_tasks: int, total_repeats: int
) -> dict[str, Any]:
    space, plan = section.get("agent_space", ""), section.get("experiment_plan_id", "")
    made = datetime.fromtimestamp(run.started_at or run.created_at).astimezone()
    return {
        "evaluation_name": "AgentLoop Evaluation",
        "created_at": made.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
        "total_repeats": total_repeats,
        "benchmark": {
            "name": section.get("experiment_name") or request.name,
            "description": f"Benchmark from AgentLoop: {space}/{plan}" if space else f"run {run.run_id}",
            "total_tasks": total_tasks,
        },
        "schema_version": 1,
    }


def _repeat(group: dict[str, list[str]]) -> dict[str, Any]:
    return {
        "completed_tasks": len(group["completed_ids"]),
        "incomplete_tasks": len(group["incomplete_ids"]),
        "metrics": {},
        **group,
        "stats": EMPTY_STATS,
    }


def _write(path: Path, value: JsonValue) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    # to_json takes what a file cannot: half a surrogate pair, numbers that are none.
    text = json.dumps(json.loads(to_json(value)), ensure_ascii=False, indent=4)
    temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    temporary.replace(path)
