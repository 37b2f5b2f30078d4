"""Which evaluators the platform judges with: what a form of one starts from, is checked against, and would change.

In threads: the platform or what it said last. Nothing here touches a widget.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.domain import JsonValue
from tui_eval.errors import Fault, PlatformError
from tui_eval.spec.agentloop_options import AgentLoopEvaluator, AgentLoopOptions
from tui_eval.tui.agentloop_reading import Where

if TYPE_CHECKING:
    from tui_eval.platforms.agentloop.nouns import PlatformEvaluator

_INPUTS = frozenset(("input", "query", "question", "prompt", "experiment_input"))
_OUTPUTS = frozenset(("output", "answer", "response", "actual_output", "experiment_output"))
_EXPECTED = ("expected_output", "expected", "ground_truth", "reference", "reference_output", "answer", "label")


@dataclass(frozen=True, slots=True)
class Judging:
    """What can judge a plan: the evaluators of the platform, the columns of its dataset, and who judges it now.

    ``trouble`` says why ``evaluators`` and ``columns`` are not from just now.
    """

    evaluators: tuple[PlatformEvaluator, ...]
    columns: tuple[str, ...]
    judging: frozenset[str]
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """The evaluators that the platform's plan has, and those it would have."""

    before: Sequence[Mapping[str, Any]] = field(repr=False)
    after: Sequence[Mapping[str, Any]] = field(repr=False)

    @property
    def added(self) -> Sequence[Mapping[str, Any]]:
        return self.after[len(self.before) :]


def judging(history: Path, where: Where, plan_id: str, environment: Mapping[str, str]) -> Judging:
    """Ask the platform about a plan, its dataset and all evaluators. Raises PlatformError, UsageError, HistoryError."""
    from tui_eval.platforms.agentloop.connecting import connected
    from tui_eval.platforms.agentloop.evaluators import key_of
    from tui_eval.platforms.agentloop.picking import EVALUATORS, listing

    async def asked() -> Judging:
        async with connected(where.options(plan_id), environment) as client:
            plan = await client.plan(plan_id)
            columns = (await client.dataset(plan.dataset)).columns if plan.dataset else {}
        found = await listing(history, EVALUATORS, where.options(), environment, time.time())
        there = frozenset(key_of(one) for one in plan.evaluators)
        return Judging(tuple(found.items), tuple(columns), there, found.trouble)

    return asyncio.run(asked())


def evaluator_section(name: str, variables: Sequence[str], columns: Collection[str]) -> dict[str, Any]:
    """Where the form of an evaluator begins: its variables, mapped to what their names say."""
    mapping = {variable: source for variable in variables if (source := _source(variable, columns))}
    return {"evaluator_ref": name, **({"variable_mapping": mapping} if mapping else {})}


def _source(variable: str, columns: Collection[str]) -> str:
    """What a variable is called after, "" when that is anybody's guess."""
    if variable in _INPUTS:
        return "experiment_input"
    if variable in _OUTPUTS:
        return "experiment_output"
    if variable in columns:
        return f"dataset.{variable}"
    if variable in _EXPECTED:
        return next((f"dataset.{column}" for column in _EXPECTED if column in columns), "")
    return ""


def evaluator_faults(
    data: Mapping[str, JsonValue], variables: Sequence[str] | None, columns: Collection[str]
) -> Iterable[Fault]:
    """Everything wrong with an evaluator's section: by itself, then with its variables and the dataset's columns."""
    from tui_eval.platforms.agentloop.evaluators import mapping_faults
    from tui_eval.spec.findings import Findings
    from tui_eval.spec.nodes import Place, node_of
    from tui_eval.spec.validation import validated

    findings = Findings()
    try:
        node = node_of(dict(data), Place())
    except ValueError as error:
        return [Fault(str(error))]
    evaluator = validated(AgentLoopEvaluator, node, findings)
    faults = list(findings.faults(""))
    return faults if evaluator is None or faults else mapping_faults(evaluator, variables, columns, "")


def ask_variables(where: Where, name: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The variables of an evaluator of the platform; empty where it names none. Raises PlatformError, UsageError."""
    from tui_eval.platforms.agentloop.connecting import connected

    async def asked() -> tuple[str, ...]:
        async with connected(where.options(), environment) as client:
            return (await client.evaluator(name)).variables

    return asyncio.run(asked())


def section_options(source: Any, overrides: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Any:
    """The ``agentloop`` section of a plan with its references filled in, None when it has none. Raises SpecError."""
    from tui_eval.spec.loading import load_plan

    loaded = load_plan(source, overrides=overrides, environment=environment, folder=folder, check_environment=False)
    section = loaded.platforms.get("agentloop")
    return None if section is None else section.options


def proposal(options: AgentLoopOptions, environment: Mapping[str, str]) -> Change:
    """What putting a section's evaluators into the platform's plan would change. Raises as ``updating.proposed``."""
    from tui_eval.platforms.agentloop.updating import proposed

    return Change(*asyncio.run(proposed(options, environment)))


def carry_out(options: AgentLoopOptions, change: Change, environment: Mapping[str, str]) -> None:
    """Give the platform's plan its evaluators. Raises PlatformError: also when they are no longer those that the change
    started from, for someone else changed them meanwhile."""
    from tui_eval.platforms.agentloop.updating import proposed, update

    async def carried_out() -> None:
        before, _ = await proposed(options, environment)
        if before != list(change.before):
            raise PlatformError("the evaluators of the platform's plan were changed meanwhile: look at them again")
        await update(options, environment, change.after)

    asyncio.run(carried_out())
