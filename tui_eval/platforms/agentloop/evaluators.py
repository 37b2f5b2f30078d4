"""The evaluators of a plan's section against those of the platform: checked before the first call, and put together.

What is checked is what the platform's client checked up to version 1.0.2 (contract, section 5.1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tui_eval.errors import Fault, PlatformError
from tui_eval.platforms.agentloop.client import AgentLoop
from tui_eval.platforms.agentloop.nouns import PlatformEvaluator, PlatformPlan, listed, text
from tui_eval.spec.agentloop_options import AgentLoopEvaluator
from tui_eval.spec.nearest import suggestion

PATH = "agentloop.evaluators"


@dataclass(frozen=True, slots=True)
class Checked:
    """``faults`` stop a run. ``known`` are the platform's evaluators by name, as far as they were asked for."""

    faults: list[Fault]
    known: dict[str, PlatformEvaluator]


def key_of(evaluator: Mapping[str, Any]) -> str:
    """What makes two evaluators the same one: ``evaluatorRef``, else ``name``."""
    return text(evaluator, "evaluatorRef") or text(evaluator, "name")


async def check_evaluators(
    client: AgentLoop, evaluators: Sequence[AgentLoopEvaluator], columns: Collection[str]
) -> Checked:
    """Every variable is mapped, every mapped column is there, every reference exists. Raises PlatformError when the
    platform does not answer."""
    checked = Checked([], {})
    for place, evaluator in enumerate(evaluators):
        path = f"{PATH}.{place}"
        variables = await _variables(client, evaluator, path, checked)
        checked.faults.extend(mapping_faults(evaluator, variables, columns, path))
    return checked


def mapping_faults(
    evaluator: AgentLoopEvaluator, variables: Collection[str] | None, columns: Collection[str], path: str
) -> list[Fault]:
    """What is wrong with the mapping of an evaluator that has these ``variables`` (None: nobody says which), over a
    dataset with these ``columns``. ``path`` is the evaluator's own, "" for none."""
    name_of, mapping = evaluator.evaluator_ref or evaluator.name, evaluator.variable_mapping
    path = f"{path}.variable_mapping".lstrip(".")
    faults = []
    for name in variables or ():
        if name not in mapping:
            hint = f"write `{name}: experiment_input`, `experiment_output` or `dataset.<column>`"
            faults.append(Fault(f"the variable `{name}` of {name_of} is not mapped", path=path, hint=hint))
    for name in () if variables is None else (name for name in mapping if name not in variables):
        hint = suggestion(name, variables or (), label="its variables")
        faults.append(Fault(f"{name_of} has no variable `{name}`", path=f"{path}.{name}", hint=hint))
    for name, source in mapping.items():
        column = source.removeprefix("dataset.")
        if column != source and column not in columns:
            hint = suggestion(column, columns, label="its columns")
            faults.append(Fault(f"`{column}` is not a column of the dataset", path=f"{path}.{name}", hint=hint))
    return faults


async def _variables(
    client: AgentLoop, evaluator: AgentLoopEvaluator, path: str, checked: Checked
) -> tuple[str, ...] | None:
    """The variables that must be mapped, None where nobody says which there are."""
    if evaluator.evaluator_ref:
        try:
            found = await client.evaluator(evaluator.evaluator_ref)
        except PlatformError as error:
            if error.status != 404:
                raise
            message = f"the platform has no evaluator `{evaluator.evaluator_ref}`"
            hint = "`tui-eval agentloop evaluators` lists them"
            checked.faults.append(Fault(message, path=f"{path}.evaluator_ref", hint=hint))
            return None
        checked.known[evaluator.evaluator_ref] = found
        return found.variables or None
    names = tuple(
        text(one, "name") if isinstance(one, dict) else str(one) for one in listed(evaluator.config, "variables")
    )
    return names or None


def missing_from_plan(plan: PlatformPlan, evaluators: Sequence[AgentLoopEvaluator]) -> list[str]:
    """The evaluators of a section that the platform's plan does not have: it will not judge with them."""
    there = {key_of(one) for one in plan.evaluators}
    return [name for one in evaluators if (name := one.evaluator_ref or one.name) not in there]


def warning_about(plan: PlatformPlan, evaluators: Sequence[AgentLoopEvaluator]) -> Fault | None:
    """Said plainly: only the evaluators of the platform's own plan are honoured (contract, section 0, fact 1)."""
    missing = missing_from_plan(plan, evaluators)
    if not missing:
        return None
    honoured = ", ".join(key_of(one) for one in plan.evaluators) or "none"
    return Fault(
        f"the platform judges with the evaluators of its plan {plan.plan_id} ({honoured}) and ignores those of this "
        f"file that are not among them: {', '.join(missing)}",
        path=PATH,
        hint="`tui-eval agentloop update-plan PLAN`, or p on the pre-flight page, puts them into the platform's plan, "
        "after asking",
        warning=True,
    )


def merged(
    plan: PlatformPlan, evaluators: Sequence[AgentLoopEvaluator], known: Mapping[str, PlatformEvaluator]
) -> list[dict[str, Any]]:
    """The evaluators of the platform's plan, then those of the section that it lacks, as the platform writes them.

    Those of the plan win over local ones of the same reference or name; type and name of the result are filled in from
    the platform where the section leaves them out.
    """
    result = [dict(one) for one in plan.evaluators]
    there = {key_of(one) for one in result}
    for one in evaluators:
        if (one.evaluator_ref or one.name) in there:
            continue
        found = known.get(one.evaluator_ref)
        wire = {
            "evaluatorRef": one.evaluator_ref,
            "name": one.name,
            "type": one.type or (found.type if found else ""),
            "resultName": one.result_name or (found.metric if found else ""),
            "resultType": one.result_type,
            "filters": one.filters,
            "config": one.config,
            "variableMapping": one.variable_mapping,
        }
        result.append({key: value for key, value in wire.items() if value not in ("", {}, None)})
    return result
