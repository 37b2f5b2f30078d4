"""Putting the evaluators of a plan file into the platform's own plan, the only place where the platform honours them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tui_eval.errors import SpecError
from tui_eval.platforms.agentloop.connecting import connected
from tui_eval.platforms.agentloop.dataset import refuse_unrunnable
from tui_eval.platforms.agentloop.evaluators import check_evaluators, merged
from tui_eval.spec.agentloop_options import AgentLoopOptions


async def proposed(
    options: AgentLoopOptions, environment: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The evaluators that the platform's plan has, and those it would have. Raises PlatformError, UsageError, and
    SpecError for evaluators that do not fit the platform's or the dataset's columns."""
    async with connected(options, environment) as client:
        plan = await client.plan(options.experiment_plan_id)
        refuse_unrunnable(plan, options)
        columns = (await client.dataset(plan.dataset)).columns
        checked = await check_evaluators(client, options.evaluators, list(columns))
        if checked.faults:
            raise SpecError(checked.faults)
        return [dict(one) for one in plan.evaluators], merged(plan, options.evaluators, checked.known)


async def update(
    options: AgentLoopOptions, environment: Mapping[str, str], evaluators: Sequence[Mapping[str, Any]]
) -> None:
    """Give the platform's plan these evaluators. Raises PlatformError."""
    async with connected(options, environment) as client:
        await client.update_plan(options.experiment_plan_id, {"evaluators": [dict(one) for one in evaluators]})
