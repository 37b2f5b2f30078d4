"""What a report is made of: a task with everything that belongs to it, and the facts that only the plan knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tui_eval.domain import JsonValue, Outcome, Score
from tui_eval.store.records import AttemptRecord, RunRecord, TaskRecord


@dataclass(slots=True)
class TaskView:
    """One task of the request named ``request``. ``output`` is the whole output of its last answer, None without one;
    attempts may come without their payloads."""

    request: str
    task: TaskRecord
    input: dict[str, JsonValue] = field(default_factory=dict)
    output: JsonValue = None
    scores: list[Score] = field(default_factory=list)
    attempts: list[AttemptRecord] = field(default_factory=list)

    @property
    def answered(self) -> bool:
        """True when there is a usable answer; tells an output that is null from no output."""
        return self.task.outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.UNSCORED)


def repeats_of(run: RunRecord, request: str) -> int:
    """``n_repeat`` of a request as the plan has it; 1 when the plan does not say (an imported run)."""
    for section in _requests(run):
        if section.get("name") == request:
            execution = section.get("execution")
            repeats = execution.get("n_repeat") if isinstance(execution, dict) else None
            return repeats if isinstance(repeats, int) and repeats > 0 else 1
    return 1


def evaluator_names(run: RunRecord, requests: Sequence[str]) -> list[str]:
    """The score names of these requests, each once, in the order of the plan."""
    names: dict[str, None] = {}
    for section in _requests(run):
        if section.get("name") not in requests:
            continue
        evaluators = section.get("evaluators")
        for evaluator in evaluators if isinstance(evaluators, list) else ():
            name = (evaluator.get("name") or evaluator.get("id")) if isinstance(evaluator, dict) else None
            if isinstance(name, str):
                names[name] = None
    return list(names)


def _requests(run: RunRecord) -> Iterator[dict[str, Any]]:
    sections = run.plan.get("requests")
    for section in sections if isinstance(sections, list) else ():
        if isinstance(section, dict):
            yield section
