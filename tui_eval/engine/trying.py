"""One attempt, or one judgement, outside of any run: the same code as in a run, and nothing is written down."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tui_eval.domain import Answer, Case, JsonValue, Score
from tui_eval.engine.data import TaskDescription, TaskResult
from tui_eval.engine.judging import judge_answer
from tui_eval.engine.prepare import PreparedRequest, prepare_request
from tui_eval.engine.slots import Slots
from tui_eval.engine.task import Surroundings, begin, run_task

if TYPE_CHECKING:
    from tui_eval.spec.loading import LoadedPlan, LoadedRequest


@dataclass(frozen=True, slots=True)
class Sends:
    """What a request would send for a case, secrets hidden, and the host it goes to (None: to no host)."""

    sent: dict[str, Any]
    host: str | None


async def preview_case(loaded: LoadedPlan, request: LoadedRequest, case: Case) -> Sends:
    """What would be sent; nothing is. Raises TemplateError when the case cannot be rendered."""
    prepared = _prepared(loaded, request, Slots(1), os.environ, judged=False)
    try:
        rendered = prepared.template.render(case, 0)
        return Sends(prepared.solution.preview(rendered), prepared.solution.host(rendered))
    finally:
        await prepared.aclose()


async def try_case(
    loaded: LoadedPlan,
    request: LoadedRequest,
    case: Case,
    *,
    judged: bool,
    environment: Mapping[str, str] | None = None,
) -> TaskResult:
    """Call the agent exactly once for ``case`` (no retry, whatever the plan says), and judge the answer if ``judged``.

    Whatever goes wrong with the agent or an evaluator is in the result, as in a run. The limits of the plan hold.
    """
    slots = _slots(loaded)
    prepared = _prepared(loaded, request, slots, environment, judged=judged)
    try:
        task = TaskDescription(0, request.name, 0, case.id, case.input, line=case.line)
        return await run_task(task, prepared, Surroundings(slots), begin(task))
    finally:
        await prepared.aclose()


async def judge_output(
    loaded: LoadedPlan,
    request: LoadedRequest,
    case: Case,
    output: JsonValue,
    *,
    environment: Mapping[str, str] | None = None,
) -> Sequence[Score]:
    """The scores of the request's evaluators for an output that is there already. No agent is called; what was sent
    (``experiment_input``) are the case's columns."""
    (scores,) = await judge_outputs(loaded, request, [(case, output)], environment=environment)
    return scores


async def judge_outputs(
    loaded: LoadedPlan,
    request: LoadedRequest,
    answered: Sequence[tuple[Case, JsonValue]],
    *,
    environment: Mapping[str, str] | None = None,
    at_once: int = 1,
) -> list[Sequence[Score]]:
    """:func:`judge_output` for several cases, ``at_once`` of them at the same time; the scores in their order."""
    prepared = _prepared(loaded, request, _slots(loaded), environment, judged=True)
    places = asyncio.Semaphore(at_once)

    async def judged(case: Case, output: JsonValue) -> Sequence[Score]:
        async with places:
            return await judge_answer(prepared.evaluators, case, Answer(output=output), dict(case.input))

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(judged(case, output)) for case, output in answered]
        return [task.result() for task in tasks]
    finally:
        await prepared.aclose()


def _slots(loaded: LoadedPlan) -> Slots:
    runtime = loaded.plan.runtime
    return Slots(1, limits=runtime.provider_limits, qps=runtime.qps)


def _prepared(
    loaded: LoadedPlan,
    request: LoadedRequest,
    slots: Slots,
    environment: Mapping[str, str] | None,
    *,
    judged: bool,
) -> PreparedRequest:
    once = request.execution.model_copy(update={"max_retries": 0, "retry_pattern_list": []})
    request = replace(request, execution=once, evaluators=request.evaluators if judged else ())
    grace = loaded.plan.runtime.cleanup_grace_seconds
    return prepare_request(request, slots, folder=loaded.folder, grace=grace, environment=environment)
