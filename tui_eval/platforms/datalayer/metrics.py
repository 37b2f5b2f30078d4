"""What one run of an evalset on one agentspec came to, in the shape that Datalayer knows (its contract, section 4).

Plain functions over tasks. Beyond the reference's keys: ``unscored``, ``outcome``, ``latency_seconds``, ``grading``. In
strict grading the pass rate is over the cases with a verdict, and null when there is none; in compat it is over all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from tui_eval.domain import JsonValue, Outcome, Score, as_text
from tui_eval.reports.view import TaskView
from tui_eval.spec.evalset import REPORT_EVALUATOR


@dataclass(frozen=True, slots=True)
class Counted:
    """Cases by what became of them. ``failed`` are verdicts, ``errors`` cases without a usable answer."""

    total: int
    passed: int
    failed: int
    errors: int
    unscored: int
    cancelled: int

    def pass_rate(self, grading: str) -> float | None:
        """0 to 1; None when there is nothing to divide by."""
        whole = self.total if grading == "compat" else self.passed + self.failed
        return self.passed / whole if whole else None


def counted(views: Iterable[TaskView]) -> Counted:
    outcomes = [view.task.outcome for view in views]
    return Counted(
        len(outcomes),
        *(
            outcomes.count(outcome)
            for outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.UNSCORED, Outcome.CANCELLED)
        ),
    )


def run_metrics(views: Sequence[TaskView], grading: str, gates: Sequence[float]) -> dict[str, JsonValue]:
    """The ``metrics`` of a run record."""
    counts = counted(views)
    results = [case_result(view) for view in views]
    scores = [result["score"] for result in results if result["score"] is not None]
    metrics: dict[str, JsonValue] = {
        "pass_rate": counts.pass_rate(grading),
        "total_cases": counts.total,
        "passed": counts.passed,
        "failed": counts.failed + counts.errors,
        "errors": counts.errors,
        "unscored": counts.unscored,
        "avg_score": fmean(scores) if scores else None,
        "grading": grading,
        "case_results": results,
        "evaluator_results": [*check_results(views), *(gate_result(counts, grading, gate) for gate in gates)],
    }
    usage = usage_of(views)
    if usage:
        metrics["pydantic_ai_usage"] = usage
    return metrics


def case_result(view: TaskView) -> dict[str, Any]:
    """One case of a run."""
    task, score = view.task, _graded(view)
    checks = checks_of(view)
    mode = next((check["failure_mode"] for check in checks if check.get("failure_mode")), None)
    if task.outcome is Outcome.ERROR:
        mode = "timeout" if task.error_kind == "timed_out" else "other"
    passed = {Outcome.PASSED: True, Outcome.FAILED: False, Outcome.ERROR: False}.get(task.outcome)
    return {
        "name": as_text(view.input.get("name", task.case_id)),
        "passed": passed,
        "status": {Outcome.ERROR: "failed", Outcome.CANCELLED: "cancelled"}.get(task.outcome, "completed"),
        "outcome": task.outcome.value,
        "score": 0.0 if task.outcome is Outcome.ERROR else task.score,
        "category": view.input.get("category"),
        "difficulty": view.input.get("difficulty"),
        "explanation": (score.error or score.reason) if score is not None else task.message,
        "failure_mode": mode,
        "prompt": view.input.get("prompt"),
        "output": output_of(view),
        "latency_seconds": task.latency,
    }


def output_of(view: TaskView) -> JsonValue:
    """The output as Datalayer keeps it: an object with its text; None for no answer."""
    if not view.answered:
        return None
    output = view.output
    if isinstance(output, dict) and isinstance(output.get("text"), str) and "verdict" in output:
        return {"text": output["text"]}  # of the platform's own run
    return {"text": as_text(output)}


def checks_of(view: TaskView) -> list[dict[str, Any]]:
    """What each evaluator of the case said."""
    score = _graded(view)
    checks = score.detail.get("checks") if score is not None else None
    return [check for check in checks if isinstance(check, dict)] if isinstance(checks, list) else []


def check_results(views: Iterable[TaskView]) -> Iterator[dict[str, JsonValue]]:
    """Each evaluator over all cases."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for view in views:
        for check in checks_of(view):
            by_name.setdefault(str(check.get("name", "")), []).append(check)
    for name, checks in by_name.items():
        decided = [check for check in checks if check.get("passed") is not None]
        scores = [check["score"] for check in decided if isinstance(check.get("score"), int | float)]
        passed = sum(check["passed"] is True for check in decided)
        yield {
            "name": name,
            "scope": "evalset",
            "score": fmean(scores) if scores else None,
            "passed": passed == len(decided) if decided else None,
            "passed_cases": passed,
            "total_cases": len(checks),
            "undecided_cases": len(checks) - len(decided),
            "summary": f"{passed} of {len(decided)} decided passed",
        }


def gate_result(counts: Counted, grading: str, threshold: float) -> dict[str, JsonValue]:
    """Whether the pass rate is what the evalset asks for; null where nothing was decided."""
    rate = counts.pass_rate(grading)
    observed = "nothing was decided" if rate is None else f"{rate:.4g}"
    return {
        "name": REPORT_EVALUATOR,
        "scope": "report",
        "score": rate,
        "passed": None if rate is None else rate >= threshold,
        "threshold": threshold,
        "observed": rate,
        "summary": f"pass rate {observed}, asked for {threshold:g}",
    }


def usage_of(views: Iterable[TaskView]) -> dict[str, JsonValue]:
    """The tokens of a run, each call counted once; empty where no agent told any."""
    tasks = [view.task for view in views]
    inputs = [task.input_tokens for task in tasks if task.input_tokens is not None]
    outputs = [task.output_tokens for task in tasks if task.output_tokens is not None]
    if not inputs and not outputs:
        return {}
    total = sum(inputs) + sum(outputs)
    return {"input_tokens": sum(inputs), "output_tokens": sum(outputs), "total_tokens": total, "requests": len(tasks)}


def _graded(view: TaskView) -> Score | None:
    """The score that has the evalset's checks, else the first there is."""
    graded = next((score for score in view.scores if "checks" in score.detail), None)
    return graded if graded is not None else next(iter(view.scores), None)
