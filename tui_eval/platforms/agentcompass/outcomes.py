"""AgentCompass's results in our words: outcomes, scores, attempts, usage.

Its severities decide (contract, section 2): a task with a final FATAL issue, or an ERROR one on the way to an answer,
has no usable answer; one whose evaluation failed has an answer and no verdict; every other is judged by its primary
metric, which is ``correct`` (a verdict) or ``score`` (a figure without one).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from tui_eval.domain import Answer, JsonValue, Outcome, Score, Usage, as_text
from tui_eval.platforms.agentcompass.result_files import AttemptFiles, TaskFiles
from tui_eval.store.records import AttemptPayload, AttemptRecord, FinishedTask

SEVERITIES = ("fatal", "error", "warning")
VERDICT = "correct"
_ANSWERING = ("setup", "run", "collect", "")
LARGEST_TRAJECTORY = 4 * 1024 * 1024
"""Characters of a trajectory that are kept in the history; a longer one stays in its file, which is named."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue of a result, as AgentCompass has it."""

    severity: str
    phase: str
    code: str
    message: str

    def __str__(self) -> str:
        return f"[{self.severity}] {self.phase}: {self.code}: {self.message}"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a result comes to. ``severity`` is AgentCompass's worst one, "" for none."""

    outcome: Outcome
    severity: str
    scores: list[Score]
    error_kind: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Times:
    """When a task or an attempt began and ended, seconds since the epoch; None where it is not known."""

    started_at: float | None = None
    finished_at: float | None = None


def issues_of(result: Mapping[str, Any]) -> list[Issue]:
    """The issues of a result, whatever shape they have."""
    issues = result.get("issues")
    return [
        Issue(*(str(one.get(key) or "") for key in ("severity", "phase", "code", "message")))
        for one in (issues if isinstance(issues, list) else ())
        if isinstance(one, Mapping)
    ]


def judged(result: Mapping[str, Any]) -> Judged:
    """The outcome of one attempt's result."""
    issues = issues_of(result)
    severity = next((name for name in SEVERITIES if any(issue.severity == name for issue in issues)), "")
    status = str(result.get("status") or "")
    scores = _scores(result)
    worst = next((issue for issue in issues if issue.severity == severity), None)
    kind, message = (worst.code or severity, worst.message) if worst is not None else ("", "")
    if status == "skipped":
        return Judged(Outcome.UNSCORED, severity, [], "skipped", message or "AgentCompass skipped the task")
    answering = [
        issue
        for issue in issues
        if issue.severity == "fatal" or (issue.severity == "error" and issue.phase in _ANSWERING)
    ]
    if answering or status == "run_error":
        first = answering[0] if answering else None
        kind, message = (
            (first.code or first.severity, first.message) if first is not None else (kind or status, message)
        )
        return Judged(Outcome.ERROR, severity, [], kind or "error", message or "AgentCompass gives no reason")
    evaluation = [issue for issue in issues if issue.severity == "error" and issue.phase == "evaluate"]
    if evaluation or status in ("eval_error", "run_error_or_eval_error"):
        reason = evaluation[0].message if evaluation else message or f"AgentCompass's status is {status}"
        undecided = [Score(one.evaluator, one.value, None, error=reason, detail=one.detail) for one in scores]
        return Judged(
            Outcome.UNSCORED,
            severity,
            undecided or [Score(VERDICT, error=reason)],
            evaluation[0].code if evaluation else kind,
            reason,
        )
    verdict = next((score.passed for score in scores if score.evaluator == VERDICT), None)
    if verdict is None:
        return Judged(Outcome.UNSCORED, severity, scores, kind if severity == "error" else "", message)
    told = message if severity else "" if verdict else "AgentCompass judged the answer not correct"
    return Judged(Outcome.PASSED if verdict else Outcome.FAILED, severity, scores, "", told)


def _scores(result: Mapping[str, Any]) -> list[Score]:
    metrics = result.get("metrics")
    found = []
    for name, value in (metrics if isinstance(metrics, Mapping) else {}).items():
        number = _number(value)
        if number is None:
            continue
        passed = bool(value) if name == VERDICT and isinstance(value, bool) else None
        found.append(Score(str(name), number, passed, detail={"source": "AgentCompass"}))
    return sorted(found, key=lambda score: score.evaluator != VERDICT)


def _number(value: Any) -> float | None:
    if not isinstance(value, bool | int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def finished_task(
    task: TaskFiles, number: int, keys: tuple[int, int], times: Times, files: Mapping[str, str]
) -> FinishedTask | None:
    """One attempt of a task as a task of ours with its end, None while it has no result.

    ``keys`` are those of the task and its request. ``files`` are paths that are kept for the reader (the log).
    """
    attempt = task.attempts.get(number)
    if attempt is None:
        return None
    if attempt.result is None:
        if not task.final:
            return None
        return _unreadable(attempt, keys, times)
    result = attempt.result
    verdict = judged(result)
    own = _span(result)
    started = times.started_at or own.started_at or times.finished_at or 0.0
    finished = times.finished_at or own.finished_at or started
    usage = usage_of(result)
    latency = own.finished_at - own.started_at if own.started_at and own.finished_at else None
    attempts = [_retry(data, at, task, attempt) for at, data in enumerate(attempt.retries, 1)]
    attempts.append(_attempt_record(task, attempt, verdict, len(attempts) + 1, Times(started, finished), files))
    return FinishedTask(
        task=keys[0],
        request=keys[1],
        outcome=verdict.outcome,
        started_at=started,
        finished_at=finished,
        attempts=attempts,
        scores=verdict.scores,
        latency=max(latency, 0.0) if latency is not None else None,
        error_kind=verdict.error_kind,
        message=f"[{verdict.severity}] {verdict.message}" if verdict.severity and verdict.message else verdict.message,
        output=as_text(result.get("final_answer")) if result.get("final_answer") is not None else "",
        input_tokens=usage.input_tokens if usage is not None else None,
        output_tokens=usage.output_tokens if usage is not None else None,
        cost=usage.cost if usage is not None else None,
    )


def _unreadable(attempt: AttemptFiles, keys: tuple[int, int], times: Times) -> FinishedTask:
    """AgentCompass says that it is final, and there is nothing to read."""
    at = times.finished_at or times.started_at or 0.0
    message = attempt.problem or f"{attempt.folder} has no result.json"
    return FinishedTask(
        task=keys[0],
        request=keys[1],
        outcome=Outcome.ERROR,
        started_at=times.started_at or at,
        finished_at=at,
        attempts=[],
        scores=[],
        error_kind="result_unreadable",
        message=message,
    )


def _attempt_record(
    task: TaskFiles, attempt: AttemptFiles, verdict: Judged, number: int, times: Times, files: Mapping[str, str]
) -> AttemptRecord:
    result = attempt.result or {}
    own = _span(result)
    started = own.started_at or times.started_at or 0.0
    finished = own.finished_at or times.finished_at or started
    failed = verdict.outcome is Outcome.ERROR
    return AttemptRecord(
        number=number,
        started_at=started,
        seconds=max(finished - started, 0.0),
        error_kind=verdict.error_kind if failed else "",
        message=verdict.message if failed else "",
        payload=AttemptPayload(
            _request_of(task, attempt), answer_data(result, {**files, "result": f"{attempt.folder}/result.json"})
        ),
    )


def _retry(data: Mapping[str, Any], number: int, task: TaskFiles, attempt: AttemptFiles) -> AttemptRecord:
    """A try that AgentCompass discarded."""
    result = data.get("discarded_result")
    result = result if isinstance(result, Mapping) else {}
    own = _span(result)
    issues = issues_of(data) or issues_of(result)
    first = next((issue for issue in issues if issue.severity != "warning"), None)
    started = own.started_at or 0.0
    return AttemptRecord(
        number=number,
        started_at=started,
        seconds=max((own.finished_at or started) - started, 0.0),
        error_kind=(first.code or first.severity) if first is not None else "discarded",
        message=first.message if first is not None else "AgentCompass discarded this try",
        payload=AttemptPayload(_request_of(task, attempt), answer_data(result, {})) if result else None,
    )


def _request_of(task: TaskFiles, attempt: AttemptFiles) -> dict[str, Any]:
    """What the harness was given, as far as a file has it: a task that failed fatally leaves none."""
    evaluation = (attempt.checkpoint or {}).get("evaluation")
    prepared = evaluation.get("prepared_task") if isinstance(evaluation, Mapping) else None
    if not isinstance(prepared, Mapping):
        return {"task_id": task.task_id, "category": task.category}
    return {key: prepared[key] for key in ("task_id", "category", "input", "metadata") if key in prepared}


def question_of(attempt: AttemptFiles | None) -> JsonValue:
    """The prompt of a task, None where no file has it."""
    evaluation = ((attempt.checkpoint if attempt is not None else None) or {}).get("evaluation")
    prepared = evaluation.get("prepared_task") if isinstance(evaluation, Mapping) else None
    given = prepared.get("input") if isinstance(prepared, Mapping) else None
    if isinstance(given, Mapping):
        return given.get("prompt") or given.get("messages") or None
    return None


def case_of(category: Any, question: JsonValue, ground_truth: Any) -> dict[str, JsonValue]:
    """The columns of a case: what is known of the task before it is executed."""
    columns: dict[str, JsonValue] = {"category": category}
    if question not in (None, ""):
        columns["question"] = question
    if ground_truth not in (None, ""):
        columns["ground_truth"] = ground_truth
    return columns


def answer_data(result: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """A result as the answer of an attempt: its trajectory, issues, metrics and analysis as detail."""
    artifacts = result.get("artifacts")
    artifacts = artifacts if isinstance(artifacts, Mapping) else {}
    raw = artifacts.get("raw_result")
    detail: dict[str, Any] = {
        key: result[key]
        for key in ("status", "metrics", "issues", "meta", "analysis_result", "retry_count")
        if result.get(key)
    }
    trajectory = result.get("trajectory")
    if trajectory:
        if len(as_text(trajectory)) > LARGEST_TRAJECTORY:
            detail["trajectory"] = f"too long to be kept here: see {files.get('result', 'result.json')}"
        else:
            detail["trajectory"] = trajectory
    if files:
        detail["files"] = dict(files)
    usage = usage_of(result)
    answer: dict[str, Any] = {"output": result.get("final_answer")}
    given = {
        "raw": as_text(raw) if raw is not None else "",
        "usage": asdict(usage) if usage is not None else None,
        "finish_reason": _stop_reason(result),
        "stderr": str(artifacts.get("execution_diagnostics") or ""),
        "notes": [str(issue) for issue in issues_of(result)],
        "detail": detail,
    }
    answer.update({key: value for key, value in given.items() if value and key in Answer.__dataclass_fields__})
    return answer


def _steps(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    trajectory = result.get("trajectory")
    steps = trajectory.get("steps") if isinstance(trajectory, Mapping) else None
    return [step for step in (steps if isinstance(steps, list) else ()) if isinstance(step, Mapping)]


def _stop_reason(result: Mapping[str, Any]) -> str:
    for step in reversed(_steps(result)):
        metric = step.get("metric")
        if isinstance(metric, Mapping) and metric.get("stop_reason"):
            return str(metric["stop_reason"])
    return ""


def usage_of(result: Mapping[str, Any]) -> Usage | None:
    """Tokens over all steps of the trajectory (or of the raw result), None where none are told."""
    metrics = [step["metric"] for step in _steps(result) if isinstance(step.get("metric"), Mapping)]
    given, taken = _sum(metrics, "prompt_tokens_len"), _sum(metrics, "completion_tokens_len")
    artifacts = result.get("artifacts")
    raw = artifacts.get("raw_result") if isinstance(artifacts, Mapping) else None
    told = raw.get("usage") if isinstance(raw, Mapping) else None
    told = told if isinstance(told, Mapping) else {}
    given = given if given is not None else _count(told.get("prompt_tokens"))
    taken = taken if taken is not None else _count(told.get("completion_tokens"))
    cost = _number(told.get("cost_usd")) or None
    if given is None and taken is None and cost is None:
        return None
    total = (given or 0) + (taken or 0) if given is not None or taken is not None else None
    return Usage(given, taken, total, cost)


def _sum(metrics: list[Mapping[str, Any]], key: str) -> int | None:
    counts = [count for metric in metrics if (count := _count(metric.get(key))) is not None]
    return sum(counts) if counts else None


def _count(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _span(result: Mapping[str, Any]) -> Times:
    """The times of a trajectory. They are written without a zone, in that of the machine (contract, section 8)."""
    trajectory = result.get("trajectory")
    trajectory = trajectory if isinstance(trajectory, Mapping) else {}
    return Times(seconds_of(trajectory.get("started_at")), seconds_of(trajectory.get("finished_at")))


def seconds_of(text: Any) -> float | None:
    """An ISO time, with or without a zone, as seconds since the epoch; None for anything else."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
