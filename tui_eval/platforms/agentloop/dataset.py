"""The cases of an experiment plan, with everything about it that can be checked before the first call."""

from __future__ import annotations

from collections.abc import Mapping

from tui_eval.datasets.platform import PlatformRows
from tui_eval.errors import DatasetError, Fault, PlatformError, UsageError
from tui_eval.platforms.agentloop.client import AgentLoop
from tui_eval.platforms.agentloop.connecting import connected, waited_for
from tui_eval.platforms.agentloop.evaluators import check_evaluators, warning_about
from tui_eval.platforms.agentloop.nouns import PlatformPlan, text
from tui_eval.platforms.agentloop.rows import Loaded, load_rows
from tui_eval.spec.agentloop_options import AgentLoopOptions


def platform_rows(options: AgentLoopOptions, environment: Mapping[str, str]) -> PlatformRows:
    """The rows of the experiment plan. Blocks until all are there. Raises DatasetError."""
    return waited_for(_fetched(options, environment))


async def _fetched(options: AgentLoopOptions, environment: Mapping[str, str]) -> PlatformRows:
    try:
        async with connected(options, environment) as client:
            return await fetch(client, options)
    except (PlatformError, UsageError) as error:
        raise DatasetError([Fault(str(error), path="agentloop")]) from error


async def fetch(client: AgentLoop, options: AgentLoopOptions) -> PlatformRows:
    """Plan, rows and evaluators in one go. Raises PlatformError, and DatasetError for a plan that cannot be run here."""
    plan = await client.plan(options.experiment_plan_id)
    refuse_unrunnable(plan, options)
    loaded = await load_rows(client, plan, query=options.query, most=options.max_rows)
    project = options.project or (await client.get_space()).project
    if not project:
        message = f"the agent space {options.agent_space} names no log project"
        raise DatasetError([Fault(message, path="agentloop.project", hint="name one with `project`")])
    columns = await _columns(client, plan, loaded)
    faults = [] if not options.ground_truth_field else _ground_truth(options, columns)
    if options.evaluators:
        faults += (await check_evaluators(client, options.evaluators, columns)).faults
    if faults:
        raise DatasetError(faults)
    told_of = (warning_about(plan, options.evaluators), _unjudged(plan, options), _pipeline(plan))
    warnings = [warning for warning in told_of if warning is not None]
    return PlatformRows(
        label=f"agentloop: {options.agent_space}/{plan.dataset}",
        rows=loaded.rows,
        notes=(told(loaded),),
        warnings=tuple(warnings),
        detail={
            "plan_name": plan.name,
            "dataset": plan.dataset,
            "project": project,
            "judged": bool(plan.evaluators),
            "result_types": _result_types(plan),
        },
    )


def _unjudged(plan: PlatformPlan, options: AgentLoopOptions) -> Fault | None:
    if plan.evaluators or options.evaluators or not options.report:
        return None
    message = f"the platform's plan {plan.plan_id} has no evaluators: the platform will not judge the results"
    return Fault(
        message, path="agentloop.evaluators", hint="put one into its plan: p in AgentLoop's list", warning=True
    )


def told(loaded: Loaded) -> str:
    """How many rows were loaded of how many."""
    count = len(loaded.rows)
    if not loaded.more:
        return f"all {count} rows of the platform's plan were loaded"
    there = "more" if loaded.there is None else str(loaded.there)
    return f"{count} rows were loaded, there are {there} (max_rows)"


def refuse_unrunnable(plan: PlatformPlan, options: AgentLoopOptions) -> None:
    """Raises DatasetError for a plan that only the platform itself can run."""
    if plan.type != "offline":
        message = f"the experiment plan {options.experiment_plan_id} is {plan.type or 'of no known type'}, not offline"
        hint = "only offline plans can be run here; `tui-eval agentloop plans` lists them"
        raise DatasetError([Fault(message, path="agentloop.experiment_plan_id", hint=hint)])
    if not plan.dataset:
        message = f"the experiment plan {options.experiment_plan_id} names no dataset"
        raise DatasetError([Fault(message, path="agentloop.experiment_plan_id", hint="give it one on the platform")])


async def _columns(client: AgentLoop, plan: PlatformPlan, loaded: Loaded) -> list[str]:
    """The columns of the rows; of the dataset's schema, when there is no row to look at."""
    found = dict.fromkeys(name for row in loaded.rows for name in row)
    return list(found) if found else list((await client.dataset(plan.dataset)).columns)


def _pipeline(plan: PlatformPlan) -> Fault | None:
    if not plan.pipeline:
        return None
    message = f"the platform's plan names the pipeline {plan.pipeline}, which is not run here: its columns are missing"
    return Fault(message, path="agentloop.experiment_plan_id", warning=True)


def _ground_truth(options: AgentLoopOptions, columns: list[str]) -> list[Fault]:
    from tui_eval.spec.nearest import suggestion

    if options.ground_truth_field in columns:
        return []
    hint = suggestion(options.ground_truth_field, columns, label="its columns")
    message = f"`{options.ground_truth_field}` is not a column of the dataset"
    return [Fault(message, path="agentloop.ground_truth_field", hint=hint)]


def _result_types(plan: PlatformPlan) -> dict[str, str]:
    """What kind of result each evaluator gives, by its name and by the name of its result."""
    found: dict[str, str] = {}
    for evaluator in plan.evaluators:
        for name in ("evaluatorRef", "name", "resultName"):
            if text(evaluator, name):
                found[text(evaluator, name)] = text(evaluator, "resultType")
    return found
