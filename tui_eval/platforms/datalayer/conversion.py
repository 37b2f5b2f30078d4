"""From an evalset to a plan: one request for each agentspec, all on the same cases, under one limit.

The plan is an ordinary one and can be written to a file and changed; the evalset stays the file it is (the dataset's
``path``), or is kept whole in the plan's ``datalayer`` section where it came as data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.errors import UsageError
from tui_eval.spec.compose import dataset_path
from tui_eval.spec.datalayer_options import GRADED
from tui_eval.spec.evalset import Evalset

CONCURRENCY = 4
CHAT_SECONDS = 180.0
"""Longest chat of one case (contract, section 3: the reference's default, here a real total)."""
TARGETS = ("local", "cloud")
GRADINGS = ("strict", "compat")


@dataclass(frozen=True, slots=True)
class Choices:
    """What an evalset leaves open. ``section`` is added to the plan's ``datalayer`` section (``server``, ``cloud``,
    ``report`` …), ``judge`` is the model of ``llm_judge``. ``run_limit`` is how often each case is asked. ``folder`` is
    where the plan will lie: an evalset below it is named from there, any other by its absolute path."""

    agentspec_ids: Sequence[str]
    execution_target: str = "local"
    grading: str = "strict"
    run_limit: int = 1
    concurrency: int = CONCURRENCY
    request_timeout_seconds: float = CHAT_SECONDS
    check_output_schema: bool = False
    judge: Mapping[str, Any] | None = None
    section: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None


def plan_of(evalset: Evalset, choices: Choices) -> dict[str, Any]:
    """The plan, as data. Raises UsageError for choices that leave nothing to run, before anything is created."""
    specs = checked_agentspecs(choices.agentspec_ids)
    if choices.execution_target not in TARGETS:
        raise UsageError(f"execution target `{choices.execution_target}`: expected local or cloud")
    if choices.grading not in GRADINGS:
        raise UsageError(f"grading `{choices.grading}`: expected strict or compat")
    if not evalset.cases:
        raise UsageError(f"{evalset.path or evalset.spec.name}: the evalset has no cases: there is nothing to run")
    name = evalset.spec.name.strip()[:200] or "evalset"
    plan: dict[str, Any] = {"version": 1, "name": name}
    if evalset.spec.description:
        plan["description"] = evalset.spec.description
    plan["tags"] = list(dict.fromkeys([*evalset.spec.tags, "datalayer", f"grading-{choices.grading}"]))
    plan["task_concurrency"] = choices.concurrency
    plan["datalayer"] = _section(evalset, choices)
    plan["defaults"] = {
        "dataset": _dataset(evalset, choices.folder),
        "evaluators": [_evaluator(evalset, choices)],
        "execution": _execution(choices),
    }
    plan["requests"] = [
        {"name": spec, "solution": _solution(spec, choices.execution_target), "tags": ["agentspec"]} for spec in specs
    ]
    return plan


def checked_agentspecs(given: Iterable[str]) -> list[str]:
    """The agentspecs as they are to be run, each once. Raises UsageError when there is none."""
    specs = [spec.strip() for spec in given]
    if not specs or not all(specs):
        raise UsageError("name at least one agentspec to run the evalset against (--agentspec NAME)")
    twice = [spec for spec, count in Counter(specs).items() if count > 1]
    if twice:
        raise UsageError(f"agentspec `{twice[0]}` is named twice: each is run once, `n_repeat` asks more often")
    return specs


def rows_of(evalset: Evalset) -> list[dict[str, JsonValue]]:
    return [case.row() for case in evalset.cases]


def _dataset(evalset: Evalset, folder: Path | None) -> dict[str, Any]:
    if evalset.path is None:
        return {"cases": rows_of(evalset), "id": "id"}
    path = Path(evalset.path).absolute()
    if folder is not None and path.is_relative_to(folder):
        path = path.relative_to(folder)
    return {"path": dataset_path(str(path)), "format": "evalset"}


def _section(evalset: Evalset, choices: Choices) -> dict[str, Any]:
    section: dict[str, Any] = {"execution_target": choices.execution_target, "grading": choices.grading}
    if choices.execution_target == "cloud":
        section["cloud"] = {
            "concurrency": choices.concurrency,
            "request_timeout_seconds": choices.request_timeout_seconds,
        }
    if evalset.path is None:
        section["spec"] = _literal(evalset.raw)
    for key, value in choices.section.items():
        inner = section.get(key)
        section[key] = {**inner, **value} if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return section


def _literal(value: Any) -> Any:
    """``value`` for a section in which ``${NAME}`` is a reference: in an evalset it is a text."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, Mapping):
        return {key: _literal(item) for key, item in value.items()}
    return [_literal(item) for item in value] if isinstance(value, list) else value


def _solution(spec: str, target: str) -> dict[str, Any]:
    if target == "cloud":
        return {"type": "datalayer_cloud", "agentspec": spec}
    return {"type": "agent_runtimes", "agentspec": spec, "prompt": "{{ prompt }}"}


def _evaluator(evalset: Evalset, choices: Choices) -> dict[str, Any]:
    """In the cloud the platform grades; its verdicts are read back with the answers."""
    if choices.execution_target == "cloud":
        return {"id": "datalayer_platform"}
    name = "datalayer" if choices.grading == "strict" else "datalayer (compat)"
    evaluator: dict[str, Any] = {"id": "datalayer", "name": name, "variable_mapping": dict(GRADED)}
    evaluator["grading"] = choices.grading
    if choices.judge is not None:
        evaluator["judge"] = dict(choices.judge)
    schema = evalset.spec.schemas.get("output_schema")
    if choices.check_output_schema:
        if not isinstance(schema, dict | bool):
            raise UsageError(f"{evalset.path or evalset.spec.name}: the evalset has no output_schema to check against")
        evaluator["output_schema"] = schema
    return evaluator


def _execution(choices: Choices) -> dict[str, Any]:
    execution: dict[str, Any] = {}
    if choices.run_limit != 1:
        execution["n_repeat"] = choices.run_limit
    if choices.execution_target == "local":
        execution["attempt_timeout_seconds"] = choices.request_timeout_seconds
    else:
        execution["attempt_timeout_seconds"] = None  # a launch has limits of its own, in `datalayer.cloud`
    return execution
