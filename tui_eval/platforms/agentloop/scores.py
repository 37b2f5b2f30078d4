"""The platform's scores: read back from its log store ``evaluation_detail`` and kept as scores of our tasks.

There is no public operation for the scores of single results; the log store is the documented way (contract, section
5.2). A score belongs to the task whose id, trace id or row id it names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tui_eval.domain import JsonValue, Score
from tui_eval.errors import PlatformError
from tui_eval.platforms.agentloop.client import SCORES_STORE
from tui_eval.platforms.agentloop.nouns import EvaluationProgress, text
from tui_eval.platforms.agentloop.reporting import Reporter
from tui_eval.store import platform_records as book

PLATFORM = "agentloop"
_TASK_FIELDS = ("experiment_task_id", "task_id", "item_task_id")
_TRACE_FIELDS = ("traceId", "trace_id", "traceid")
_ROW_FIELDS = ("dataset_item_id", "data_item_id", "dataset.id", "item_id")
_BAD = frozenset({"failed", "error", "failure"})


async def fetch_scores(reporter: Reporter) -> bool:
    """Store the scores that are there; True when the platform has no more to give. Raises PlatformError."""
    client, record = reporter.client, reporter.record
    run = await client.run(record.record_id)
    progress = EvaluationProgress()
    if run.evaluation_task:
        try:
            progress = await client.evaluation(run.evaluation_task)
        except PlatformError as error:
            if error.status != 404:
                raise
    scores = await _scores(reporter, run.evaluation_task)
    book.add_scores(reporter.connection, scores, PLATFORM)
    scored = len({task for task, _ in scores})
    evaluation: dict[str, JsonValue] = {
        "status": progress.status or run.status,
        "task": run.evaluation_task,
        "total": progress.total,
        "succeeded": progress.succeeded,
        "failed": progress.failed,
        "scored": scored,
    }
    # What is counted as judged may not be searchable yet.
    expected = progress.succeeded if progress.succeeded is not None else 0
    done = progress.ended and (scored >= min(expected, reporter.counts().sent) or not expected)
    evaluation["done"] = done
    reporter.record = book.change(reporter.connection, reporter.record, evaluation=evaluation)
    return done


async def _scores(reporter: Reporter, evaluation_task: str) -> list[tuple[int, Score]]:
    """``(task, score)`` of every log that belongs to a task of ours."""
    record = reporter.record
    experiment = reporter.experiment()
    tasks = book.reported_tasks(reporter.connection, record)
    by_id = {(experiment.task_id(case_id), repeat): key for key, case_id, repeat, _ in tasks}
    by_trace = {trace: key for key, _, _, trace in tasks if trace}
    by_row = {case_id: key for key, case_id, repeat, _ in tasks if repeat == 0}
    if any(repeat for _, _, repeat, _ in tasks):
        by_row = {}  # a row alone does not say which of its repeats is meant
    query = f'task_id: "{evaluation_task}"' if evaluation_task else f'experiment_id: "{record.record_id}"'
    since = (record.started_at or reporter.run.created_at) - 3600
    found: dict[tuple[int, str], Score] = {}
    project = str(reporter.settings["project"])
    async for log in reporter.client.get_logs(project, SCORES_STORE, query, since, reporter.now() + 3600):
        if log.get("experiment_id") not in (None, "", record.record_id):
            continue
        task = _task_of(log, by_id, by_trace, by_row)
        if task is not None:
            score = score_of(log, reporter.settings)
            found[task, score.evaluator] = score  # a later one is a later judgement
    return [(task, score) for (task, _), score in found.items()]


def _task_of(
    log: Mapping[str, Any],
    by_id: Mapping[tuple[str, int], int],
    by_trace: Mapping[str, int],
    by_row: Mapping[str, int],
) -> int | None:
    repeat = int(text(log, "repeat_id") or 0) if text(log, "repeat_id").isdecimal() else 0
    for name in _TASK_FIELDS:
        task = by_id.get((text(log, name), repeat))
        if task is not None:
            return task
    for name in _TRACE_FIELDS:
        if (task := by_trace.get(text(log, name))) is not None:
            return task
    for name in _ROW_FIELDS:
        if (task := by_row.get(text(log, name))) is not None:
            return task
    return None


def score_of(log: Mapping[str, Any], settings: Mapping[str, Any]) -> Score:
    """One log as a score. Only a ``binary`` result is a verdict; a number is informative: the platform names no
    threshold."""
    evaluator, metric = text(log, "evaluator_name"), text(log, "score_name")
    name = metric or evaluator or "agentloop"
    value = _number(text(log, "score_value"))
    if text(log, "status").lower() in _BAD:
        why = text(log, "error_message") or text(log, "explanation") or "the platform could not judge"
        return Score(name, error=why, detail=_detail(log))
    kinds = settings.get("result_types")
    kind = text(log, "result_type") or (kinds.get(evaluator) or kinds.get(metric) if isinstance(kinds, dict) else "")
    passed = value >= 0.5 if kind == "binary" and value is not None else None
    return Score(name, value, passed, text(log, "explanation"), detail=_detail(log))


def _number(value: str) -> float | None:
    lowered = value.strip().lower()
    if lowered in ("true", "false"):
        return float(lowered == "true")
    try:
        number = float(lowered)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _detail(log: Mapping[str, Any]) -> dict[str, JsonValue]:
    names = ("evaluator_name", "eval_id", "normalized_score_value", "score_value", "result_type")
    return {name: text(log, name) for name in names if text(log, name)}
