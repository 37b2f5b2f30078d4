"""Short ways to ask an evaluator, for the tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, cast

from tui_eval.domain import Score
from tui_eval.evaluators.base import Ask, EvaluatorSetup, Subject
from tui_eval.processes.workers import WorkerPool
from tui_eval.spec.kinds import EVALUATORS

UNMAPPED: Any = object()


def setup(*, ask: Ask | None = None, workers: WorkerPool | None = None, timeout: float = 10.0) -> EvaluatorSetup:
    return EvaluatorSetup(Path.cwd(), os.environ, workers=workers, ask=ask, timeout_seconds=timeout)


def evaluator(kind: str, *, with_setup: EvaluatorSetup | None = None, **options: Any) -> Any:
    """The evaluator of a kind, made through the same registry as in a run."""
    entry = EVALUATORS[kind]
    model = entry.options_model()(id=kind, **options)
    return entry.implementation_class()(model, with_setup or setup())


def judged(kind: str, output: Any, mapped: Any = UNMAPPED, /, **options: Any) -> Score:
    """The score of ``output``; ``mapped`` is the expected value when it comes from a column of the case."""
    variables = {"output": output}
    if mapped is not UNMAPPED:
        options["variable_mapping"] = {"expected_output": "dataset.expected"}
        variables["expected_output"] = mapped
    return finished(evaluator(kind, **options).evaluate(Subject("case-1", variables)))


def finished(evaluation: Coroutine[Any, Any, Score]) -> Score:
    """The score of an evaluation that waits for nothing, without the cost of an event loop."""
    try:
        evaluation.send(None)
    except StopIteration as end:
        return cast(Score, end.value)
    evaluation.close()
    raise AssertionError("the evaluation waited for something")
