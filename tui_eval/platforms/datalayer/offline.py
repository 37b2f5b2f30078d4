"""Grading outputs that are there already against an evalset: no agent, no account, no network (but for a judge).

``evaluate_evalset`` and ``run_and_evaluate_evalset`` are called as Datalayer's programs call them, and give the same
``metrics`` (contract, section 4). What differs is on purpose: grading is strict unless ``grading="compat"``, outputs may
be named by case instead of standing in the evalset's order, and one that is missing is an error of its case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tui_eval.blocking import blocking
from tui_eval.domain import Case, JsonValue, Outcome, Score, outcome_of
from tui_eval.engine.trying import judge_outputs
from tui_eval.errors import UsageError
from tui_eval.platforms.datalayer.conversion import CONCURRENCY, Choices, plan_of
from tui_eval.platforms.datalayer.execute import EvalsetRefused
from tui_eval.platforms.datalayer.metrics import run_metrics
from tui_eval.reports.view import TaskView
from tui_eval.spec.evalset import EvalCase, Evalset, load_evalset
from tui_eval.spec.loading import load_plan
from tui_eval.store.records import TaskRecord

BROKEN = frozenset(("failed", "error"))
"""Statuses with which a case counts as failed whatever its output says."""
Outputs = Sequence[Any] | Mapping[str, Any]
Statuses = Sequence[str | None] | Mapping[str, str | None] | None


def evaluate_evalset(
    evalset_spec: Mapping[str, Any],
    outputs: Outputs,
    *,
    statuses: Sequence[str | None] | None = None,
    grading: str = "strict",
    judge: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The ``metrics`` of one output for each case: a text, an object with its ``text``, or None. See the module.

    ``outputs`` are in the order of the cases, or by the name of each. ``judge`` is the model of ``llm_judge``. Raises
    SpecError with every fault of the evalset, and EvalsetRefused (a ValueError) for outputs that fit no case.
    """
    work = async_evaluate_evalset(evalset_spec, outputs, statuses=statuses, grading=grading, judge=judge)
    return blocking("evaluate_evalset", work)


async def async_evaluate_evalset(
    evalset_spec: Mapping[str, Any],
    outputs: Outputs,
    *,
    statuses: Sequence[str | None] | None = None,
    grading: str = "strict",
    judge: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """:func:`evaluate_evalset` in a running event loop."""
    evalset = load_evalset(evalset_spec, require_cases=True)
    views = await graded(evalset, outputs, statuses=statuses, grading=grading, judge=judge)
    return metrics_of(evalset, views, grading)


def run_and_evaluate_evalset(
    evalset_spec: Mapping[str, Any],
    run_case: Callable[[dict[str, Any], int], Any],
    *,
    statuses: Sequence[str | None] | None = None,
    grading: str = "strict",
    judge: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Call ``run_case(case, index)`` for each case, one after the other, and grade what it returns: an output, or a
    mapping with ``output`` and perhaps ``status``. What it raises is an error of its own case."""
    evalset = load_evalset(evalset_spec, require_cases=True)
    outputs: list[Any] = []
    said: list[str | None] = []
    for index, case in enumerate(evalset.raw["cases"]):
        given = statuses[index] if statuses is not None and index < len(statuses) else None
        try:
            result = run_case(case, index)
        except Exception as error:  # a user's function: it costs its own case only
            result = {"output": None, "status": f"error: {type(error).__name__}: {error}"}
        if isinstance(result, Mapping) and ("output" in result or "status" in result):
            given = result.get("status") or given
            result = result.get("output")
        outputs.append(result)
        said.append(given)
    return evaluate_evalset(evalset_spec, outputs, statuses=said, grading=grading, judge=judge)


def metrics_of(evalset: Evalset, views: Sequence[TaskView], grading: str) -> dict[str, Any]:
    """The ``metrics`` of graded cases, with the pass rates that the evalset asks for."""
    return run_metrics(views, grading, evalset.gates if grading == "strict" else evalset.compat_gates)


async def graded(
    evalset: Evalset,
    outputs: Outputs,
    *,
    statuses: Statuses = None,
    grading: str = "strict",
    judge: Mapping[str, Any] | None = None,
    overrides: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> list[TaskView]:
    """Each case with its outcome and scores, in the order of the evalset. ``overrides`` are those of the plan it amounts
    to. Raises EvalsetRefused, SpecError."""
    given = list(_by_case(evalset, outputs))
    said = _statuses(evalset, statuses)
    try:
        plan = plan_of(evalset, Choices(["-"], grading=grading, judge=judge))
    except UsageError as error:
        raise EvalsetRefused(str(error)) from error
    plan["requests"] = [{"name": "outputs", "solution": {"type": "command", "argv": ["true"]}}]
    loaded = load_plan(plan, overrides=overrides, environment=environment)
    answered = [
        (position, Case(case.id, case.row()), _text(output, grading))
        for position, (case, output) in enumerate(zip(evalset.cases, given, strict=True))
        if not _trouble(output, said[position], grading)
    ]
    judged = await judge_outputs(
        loaded, loaded.requests[0], [(case, text) for _, case, text in answered], at_once=CONCURRENCY
    )
    scores = {position: found for (position, _, _), found in zip(answered, judged, strict=True)}
    return [
        _view(case, position, _text(given[position], grading), scores.get(position), said[position])
        for position, case in enumerate(evalset.cases)
    ]


def _by_case(evalset: Evalset, outputs: Outputs) -> Iterator[Any]:
    cases = evalset.cases
    if isinstance(outputs, Mapping):
        known = {name for case in cases for name in (case.id, case.spec.name)}
        unknown = [str(name) for name in outputs if name not in known]
        if unknown:
            raise EvalsetRefused(f"no case of the evalset is called {', '.join(unknown[:5])}")
        yield from (outputs.get(case.id, outputs.get(case.spec.name)) for case in cases)
        return
    if isinstance(outputs, str) or not isinstance(outputs, Sequence):
        raise EvalsetRefused("the outputs must be a list in the order of the cases, or a mapping by their names")
    if len(outputs) > len(cases):
        raise EvalsetRefused(f"there are {len(outputs)} outputs for {len(cases)} cases")
    yield from outputs
    yield from (None for _ in range(len(cases) - len(outputs)))


def _statuses(evalset: Evalset, statuses: Statuses) -> list[str]:
    if isinstance(statuses, Mapping):
        statuses = [statuses.get(case.id, statuses.get(case.spec.name)) for case in evalset.cases]
    said = [str(status or "").strip() for status in statuses or ()]
    if len(said) > len(evalset.cases):
        raise EvalsetRefused(f"there are {len(said)} statuses for {len(evalset.cases)} cases")
    return said + [""] * (len(evalset.cases) - len(said))


def _text(output: Any, grading: str) -> JsonValue:
    if isinstance(output, Mapping) and (grading == "compat" or isinstance(output.get("text"), str)):
        output = output.get("text")
    return "" if output is None and grading == "compat" else output  # the reference grades a missing output as a text


def _trouble(output: Any, status: str, grading: str) -> str:
    """Why a case has no usable answer, "" when it has one."""
    word = status.partition(":")[0].strip().lower()
    if word in BROKEN:
        return status if ":" in status else f"its status is {status}"
    return "" if grading == "compat" or _text(output, grading) is not None else "there is no output for this case"


def _view(case: EvalCase, position: int, output: JsonValue, scores: Sequence[Score] | None, status: str) -> TaskView:
    outcome = outcome_of(scores) if scores is not None else Outcome.ERROR
    message = "" if scores is not None else _trouble(output, status, "strict")
    values = [score.value for score in scores or () if score.value is not None]
    record = TaskRecord(
        id=position,
        run=0,
        request=0,
        position=position,
        case_key=0,
        case_id=case.id,
        repeat=0,
        line=case.line,
        work="",
        outcome=outcome,
        fingerprint="",
        evaluation_fingerprint="",
        reused_from=None,
        attempts=0,
        started_at=None,
        finished_at=None,
        latency=None,
        score=values[0] if values else None,
        error_kind="agent_error" if scores is None else "",
        message=message,
        output="",
        trace_id="",
        input_tokens=None,
        output_tokens=None,
    )
    return TaskView("outputs", record, case.row(), output, list(scores or ()))
