"""Records as JSON data: the one shape that the JSON, JSON lines and results-folder reports share."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tui_eval.analysis.summary import Summary
from tui_eval.domain import Score
from tui_eval.reports.view import TaskView
from tui_eval.reports.writing import finite, iso
from tui_eval.store.records import AttemptRecord, RequestRecord, RunRecord


def run_data(run: RunRecord) -> dict[str, Any]:
    """A run. ``plan`` is as stored: ``${NAME}`` in place of values. Which machine and process ran it is left out."""
    return {
        "run_id": run.run_id,
        "name": run.name,
        "state": run.state.value,
        "origin": run.origin,
        "origin_detail": run.origin_detail,
        "parent_run_id": run.parent_run_id,
        "plan_path": run.plan_path,
        "program": run.program,
        "created_at": iso(run.created_at),
        "started_at": iso(run.started_at),
        "finished_at": iso(run.finished_at),
        "error": run.error,
        "warnings": run.warnings,
        "tags": run.tags,
        "note": run.note,
        "task_concurrency": run.task_concurrency,
        "plan": run.plan,
    }


def request_data(request: RequestRecord) -> dict[str, Any]:
    """A request with its counters."""
    return {
        "name": request.name,
        "state": request.state.value,
        "error": request.error,
        "solution_type": request.solution_type,
        "dataset": request.dataset,
        "dataset_hash": request.dataset_hash,
        "started_at": iso(request.started_at),
        "finished_at": iso(request.finished_at),
        "counters": {**asdict(request.counters), "cost": finite(request.counters.cost)},
    }


def task_data(view: TaskView) -> dict[str, Any]:
    """A task with its case, output, scores and attempts. ``answered`` tells an output that is null from none."""
    task = view.task
    return {
        "request": view.request,
        "case_id": task.case_id,
        "repeat": task.repeat,
        "line": task.line,
        "outcome": task.outcome.value,
        "reused_from": task.reused_from,
        "work": task.work,
        "score": finite(task.score),
        "error_kind": task.error_kind,
        "message": task.message,
        "input": view.input,
        "answered": view.answered,
        "output": view.output,
        "scores": [score_data(score) for score in view.scores],
        "attempts": [_attempt_data(attempt) for attempt in view.attempts],
        "attempt_count": task.attempts,
        "latency_seconds": finite(task.latency),
        "started_at": iso(task.started_at),
        "finished_at": iso(task.finished_at),
        "input_tokens": task.input_tokens,
        "output_tokens": task.output_tokens,
        "cost": finite(task.cost),
        "trace_id": task.trace_id,
        "fingerprint": task.fingerprint,
        "evaluation_fingerprint": task.evaluation_fingerprint,
    }


def score_data(score: Score) -> dict[str, Any]:
    """A score. ``passed`` null with an ``error``: did not decide; without one: informative only."""
    return {
        "evaluator": score.evaluator,
        "value": finite(score.value),
        "passed": score.passed,
        "reason": score.reason,
        "error": score.error,
        "detail": dict(score.detail),
    }


def summary_data(summary: Summary) -> dict[str, Any]:
    """A summary; rates are over decided tasks, means over scored ones, and null where there is nothing to divide."""
    data: dict[str, Any] = asdict(summary)
    data["counters"]["cost"] = finite(summary.counters.cost)
    data["decided_text"] = summary.decided_text
    data["evaluators"] = list(data["evaluators"])
    data["repeats"] = [{**asdict(repeats), "note": repeats.note} for repeats in summary.repeats]
    return data


def _attempt_data(attempt: AttemptRecord) -> dict[str, Any]:
    data: dict[str, Any] = {
        "number": attempt.number,
        "started_at": iso(attempt.started_at),
        "seconds": finite(attempt.seconds),
        "error_kind": attempt.error_kind,
        "message": attempt.message,
        "status_code": attempt.status_code,
        "trace_id": attempt.trace_id,
    }
    if attempt.payload is not None:
        data["sent"] = attempt.payload.request
        data["received"] = attempt.payload.answer
    return data
