"""What a report is made of: a task with everything that belongs to it, and the facts that only the plan knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    """``n_repeat`` of a request as the plan has it (``attempts.k`` in an orchestration of AgentCompass); 1 when the plan
    does not say (an imported run)."""
    defaults = run.plan.get("defaults")
    for section in _requests(run):
        if section.get("name") == request:
            own, inherited = _execution(section), _execution(defaults)
            return next((count for one in (own, inherited) if (count := _repeats(one)) is not None), 1)
    return 1


def _execution(section: JsonValue) -> dict[str, Any]:
    execution = section.get("execution") if isinstance(section, dict) else None
    return execution if isinstance(execution, dict) else {}


def _repeats(execution: Mapping[str, Any]) -> int | None:
    attempts = execution.get("attempts")
    for count in (execution.get("n_repeat"), attempts.get("k") if isinstance(attempts, dict) else None):
        if isinstance(count, int) and count > 0:
            return count
    return None


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
