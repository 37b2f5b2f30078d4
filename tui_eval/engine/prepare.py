"""A loaded request made ready to run: template, solution, evaluators and limits in one place. Opens and starts nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.domain import JsonValue
from tui_eval.engine.judging import PreparedEvaluator, judge_asker
from tui_eval.engine.retry import RetryRules
from tui_eval.engine.slots import Lane, Slots
from tui_eval.evaluators.base import EvaluatorSetup
from tui_eval.processes.workers import WorkerPool
from tui_eval.solutions.base import Limits, Solution, SolutionSetup
from tui_eval.spec import kinds
from tui_eval.spec.references import resolve

if TYPE_CHECKING:
    from tui_eval.spec.requests import LoadedEvaluator, LoadedRequest
    from tui_eval.spec.templates import RequestTemplate

WORKERS_FOR_EVALUATORS = 4
"""Most processes at once for the evaluators of one request (regex, python): more than the cores rarely help."""


@dataclass(slots=True)
class PreparedRequest:
    """One request, ready for ``run_task``. Close it with :meth:`aclose`. ``keeps_limits``: a solution of ours, which
    ends by itself when its limits say so (those of third parties are guarded from outside too)."""

    name: str
    lane: Lane
    template: RequestTemplate
    solution: Solution
    evaluators: tuple[PreparedEvaluator, ...]
    limits: Limits
    rules: RetryRules
    task_timeout: float | None
    workers: WorkerPool
    keeps_limits: bool = False
    judges: tuple[Solution, ...] = ()
    baggage: Callable[[Mapping[str, JsonValue]], Mapping[str, str] | None] | None = None

    async def aclose(self) -> None:
        """Close the solution, the judges' connections and the workers, also when one of them fails to."""
        errors: list[Exception] = []
        for closing in (self.solution.aclose, *(judge.aclose for judge in self.judges), self.workers.aclose):
            try:
                await closing()
            except Exception as error:
                errors.append(error)
        if errors:
            raise ExceptionGroup(f"closing request {self.name}", errors)


def prepare_request(
    request: LoadedRequest,
    slots: Slots,
    *,
    folder: Path,
    grace: float,
    environment: Mapping[str, str] | None = None,
    services: Mapping[str, Any] | None = None,
    baggage: Callable[[Mapping[str, JsonValue]], Mapping[str, str] | None] | None = None,
) -> PreparedRequest:
    """Make the parts of ``request``. ``grace`` is the time in seconds between TERM and KILL of a child process;
    ``services`` are what platforms do for solutions; ``baggage`` gives what the calls for a case's columns carry as W3C baggage."""
    environment = os.environ if environment is None else environment
    execution = request.execution

    def resolved(text: str) -> str:
        return resolve(text, environment)

    solution_class = kinds.solution_kinds()[request.solution_type].implementation_class()
    setup = SolutionSetup(
        folder=folder,
        environment=environment,
        concurrency=slots.capacity,
        resolve=resolved,
        services=services or {},
    )
    limits = Limits(
        total=execution.attempt_timeout_seconds,
        connect=execution.connect_timeout_seconds,
        idle=execution.idle_timeout_seconds,
        grace=grace,
    )
    workers = WorkerPool(size=WORKERS_FOR_EVALUATORS, folder=folder, environment=environment)
    timeout = execution.evaluation_timeout_seconds
    judging = [
        _prepare_evaluator(loaded, slots, limits, timeout, workers, setup, resolved) for loaded in request.evaluators
    ]
    return PreparedRequest(
        name=request.name,
        lane=slots.lane(request.name),
        template=request.template,
        solution=solution_class(request.solution, setup),
        evaluators=tuple(evaluator for evaluator, _ in judging),
        limits=limits,
        rules=RetryRules.of(execution),
        task_timeout=execution.task_timeout_seconds,
        workers=workers,
        keeps_limits=request.solution_type in kinds.SOLUTIONS,
        judges=tuple(judge for _, judge in judging if judge is not None),
        baggage=baggage,
    )


def _prepare_evaluator(
    loaded: LoadedEvaluator,
    slots: Slots,
    limits: Limits,
    timeout: float,
    workers: WorkerPool,
    setup: SolutionSetup,
    resolved: Callable[[str], str],
) -> tuple[PreparedEvaluator, Solution | None]:
    """The evaluator, and the connection to the model that it asks, None when it asks none."""
    judge, asking = None, None
    judged_by = getattr(loaded.options, "judge_options", None)
    judge_options = judged_by() if judged_by is not None else None
    if judge_options is not None:
        judge, asking = judge_asker(judge_options, slots, limits, setup)
    evaluator_setup = EvaluatorSetup(
        folder=setup.folder,
        environment=setup.environment,
        workers=workers,
        ask=asking("") if asking is not None else None,
        ask_model=asking,
        timeout_seconds=timeout,
        resolve=resolved,
    )
    evaluator = kinds.evaluator_kinds()[loaded.id].implementation_class()(loaded.options, evaluator_setup)
    prepared = PreparedEvaluator(
        name=loaded.name,
        evaluator=evaluator,
        mapping=dict(getattr(loaded.options, "variable_mapping", {})),
        negate=bool(getattr(loaded.options, "negate", False)),
        timeout=timeout,
        instant=loaded.id in INSTANT,
    )
    return prepared, judge


INSTANT = frozenset({"exact", "contains", "json", "numeric", "similarity"})
"""Evaluators that only compute for a moment: they need no time limit and no task of their own."""
