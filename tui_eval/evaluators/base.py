"""What an evaluator is to the engine: variables of one answered task in, score out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tui_eval.domain import JsonValue, Score

if TYPE_CHECKING:
    from tui_eval.processes.workers import WorkerPool

Ask = Callable[[list[dict[str, Any]]], Awaitable[str]]
"""Sends chat messages to the judge's endpoint (limits, retries and host limits applied by the engine) and returns the
reply's text. Raises :class:`~tui_eval.errors.EvaluatorError` when the endpoint gives none."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One answered task as an evaluator sees it. ``variables`` is what its ``variable_mapping`` names, already read
    from the case and the answer (``output`` is always there)."""

    case_id: str
    variables: Mapping[str, JsonValue]
    trace_id: str = ""


@dataclass(frozen=True, slots=True)
class EvaluatorSetup:
    """What an evaluator gets when it is made, once per request of a plan.

    ``workers`` are the killable processes for code that may hang; ``ask`` is there for judges only, and ``ask_model``
    gives the same for another model of the judge's endpoint; ``resolve`` puts the values of ``${NAME}`` into a text.
    """

    folder: Path
    environment: Mapping[str, str]
    workers: WorkerPool | None = None
    ask: Ask | None = None
    ask_model: Callable[[str], Ask] | None = None
    timeout_seconds: float = 60.0
    resolve: Callable[[str], str] = field(default=lambda text: text)


class Evaluator(Protocol):
    """One check. Made once per request as ``cls(options, setup)``, used from many tasks at the same time.

    Making one executes nothing. ``negate`` (``not`` in the plan) is applied by the engine, not here.
    """

    async def evaluate(self, subject: Subject) -> Score:
        """The score. Raises :class:`~tui_eval.errors.EvaluatorError` when it cannot decide (never a verdict by default)."""
        ...
