"""Which kinds of solution and evaluator there are, and where their parts live. Nothing is imported before it is used.

A kind that ships is one line below. A third party adds one through an entry point (``tui_eval.solutions`` or
``tui_eval.evaluators``) that names a :class:`Kind`: its options model and the class that does the work.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any, cast

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Kind:
    """``options`` and ``implementation`` are ``module:Name``, imported on first use."""

    options: str
    implementation: str

    def options_model(self) -> type[BaseModel]:
        return cast(type[BaseModel], load(self.options))

    def implementation_class(self) -> Any:
        return load(self.implementation)


SOLUTIONS = {
    "http": Kind("tui_eval.spec.solution_options:HttpOptions", "tui_eval.solutions.http:HttpSolution"),
    "chat": Kind("tui_eval.spec.solution_options:ChatOptions", "tui_eval.solutions.chat:ChatSolution"),
    "command": Kind("tui_eval.spec.solution_options:CommandOptions", "tui_eval.solutions.command:CommandSolution"),
    "python": Kind("tui_eval.spec.solution_options:PythonOptions", "tui_eval.solutions.python:PythonSolution"),
}

EVALUATORS = {
    "exact": Kind("tui_eval.spec.evaluator_options:ExactOptions", "tui_eval.evaluators.text:Exact"),
    "contains": Kind("tui_eval.spec.evaluator_options:ContainsOptions", "tui_eval.evaluators.text:Contains"),
    "regex": Kind("tui_eval.spec.evaluator_options:RegexOptions", "tui_eval.evaluators.regex:Regex"),
    "json": Kind("tui_eval.spec.evaluator_options:JsonOptions", "tui_eval.evaluators.structure:Json"),
    "numeric": Kind("tui_eval.spec.evaluator_options:NumericOptions", "tui_eval.evaluators.numeric:Numeric"),
    "similarity": Kind(
        "tui_eval.spec.evaluator_options:SimilarityOptions", "tui_eval.evaluators.similarity:Similarity"
    ),
    "python": Kind(
        "tui_eval.spec.evaluator_options:PythonEvaluatorOptions", "tui_eval.evaluators.external:PythonFunction"
    ),
    "command": Kind("tui_eval.spec.evaluator_options:CommandEvaluatorOptions", "tui_eval.evaluators.external:Program"),
    "judge": Kind("tui_eval.spec.evaluator_options:JudgeOptions", "tui_eval.evaluators.judge:Judge"),
}


def load(reference: str) -> Any:
    """The object behind ``module:Name``."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


@cache
def solution_kinds() -> dict[str, Kind]:
    """Every solution kind by name: ours, then those of installed packages (which cannot replace ours)."""
    return _with_entry_points("tui_eval.solutions", SOLUTIONS)


@cache
def evaluator_kinds() -> dict[str, Kind]:
    """Every evaluator kind by name: ours, then those of installed packages (which cannot replace ours)."""
    return _with_entry_points("tui_eval.evaluators", EVALUATORS)


def _with_entry_points(group: str, own: dict[str, Kind]) -> dict[str, Kind]:
    kinds = dict(own)
    for point in entry_points(group=group):
        if point.name not in kinds:
            kinds[point.name] = cast(Kind, point.load())
    return kinds
