"""Plans of a workspace as rows: what they are, whether they can be run, what became of them the last time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.display import short_path
from tui_eval.errors import Fault
from tui_eval.spec.references import missing_variable
from tui_eval.text_query import TextQuery
from tui_eval.tui.plan_reading import CheckedPlan, RequestPreview
from tui_eval.tui.projections.runs import STATE_LOOKS, state_cell, when
from tui_eval.tui.text import plural
from tui_eval.tui.widgets.cells import Cell, CellValue, Column, Row
from tui_eval.tui.widgets.counts import counts

if TYPE_CHECKING:
    from tui_eval.spec.workspace import Found
    from tui_eval.store.run_queries import RunOverview

PLANS = (
    Column("state", "check", 13, priority=9, sort="state"),
    Column("name", "plan", 14, weight=3, most=40, priority=10, sort="name"),
    Column("kind", "kind", 13, priority=3, sort="kind"),
    Column("requests", "requests", 8, priority=4, right=True),
    Column("counts", "last run", 14, weight=2, most=34, priority=8),
    Column("when", "when", 12, priority=6, sort="when"),
    Column("file", "file", 16, weight=3, priority=5, sort="file"),
)
REQUESTS = (
    Column("name", "request", 12, weight=2, most=36, priority=10),
    Column("solution", "solution", 18, weight=3, priority=8),
    Column("dataset", "dataset", 16, weight=2, most=48, priority=7),
    Column("evaluators", "evaluators", 12, weight=2, most=40, priority=6),
    Column("execution", "execution", 14, weight=1, most=44, priority=4),
)
FAULTS = (
    Column("place", "place", 8, priority=9),
    Column("path", "key", 24, weight=1, most=48, priority=4),
    Column("message", "what is wrong, and what to do", 46, weight=4, priority=10),
)


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One file of the list: as found, as checked (None: not yet), and its last run (None: there is none)."""

    found: Found
    checked: CheckedPlan | None
    last: RunOverview | None


def plan_row(item: PlanItem, folder: Path, now: datetime) -> Row:
    """The row of a plan; its key is the path."""
    found, checked, last = item.found, item.checked, item.last
    return Row(
        found.path,
        (
            validity(checked),
            Cell(found.name, "title"),
            Cell(found.kind, "muted"),
            str(len(checked.requests)) if checked is not None and checked.requests else Cell("-", "muted"),
            last_run(last),
            Cell(when(last.run.created_at, now) if last else "", "muted"),
            Cell(short_path(found.path, folder), "muted"),
        ),
    )


def validity(checked: CheckedPlan | None) -> Cell:
    """``✓ valid``, ``✗ 3 faults``, ``? 1 variable`` (nothing but that is missing), ``… checking``."""
    if checked is None:
        return Cell("… checking", "muted")
    if count := len(faults_of(checked)):
        return Cell(f"✗ {plural(count, 'fault')}", "failed")
    if variables := variables_of(checked):
        return Cell(f"? {plural(len(variables), 'variable')}", "unscored")
    if checked.warnings:
        return Cell(f"✓ {plural(len(checked.warnings), 'warning')}", "warning")
    return Cell("✓ valid", "passed")


def asked_variable(fault: Fault) -> str:
    """The environment variable that this fault says is missing, "" for another fault. A launch asks for it: the plan is
    not wrong."""
    return "" if fault.warning else missing_variable(fault.message)


def variables_of(checked: CheckedPlan) -> list[str]:
    """The variables that a launch of this plan would ask for, each once."""
    return list(dict.fromkeys(name for fault in checked.faults if (name := asked_variable(fault))))


def faults_of(checked: CheckedPlan) -> list[Fault]:
    """What is wrong with the plan itself."""
    return [fault for fault in checked.faults if not asked_variable(fault)]


def faults_title(checked: CheckedPlan | None) -> str:
    """The title of the panel of faults: ``Faults 2``, or ``Variables 1`` where nothing else is missing."""
    if checked is None:
        return "Faults 0"
    if (variables := variables_of(checked)) and not (checked.warnings or faults_of(checked)):
        return f"Variables {len(variables)}"
    return f"Faults {len(checked.faults) + len(checked.warnings)}"


def last_run(last: RunOverview | None) -> CellValue:
    """What the last run gave: the counts when it was completed, its state before them when not."""
    if last is None:
        return Cell("never run", "muted")
    shown = counts(last.counters, words=False)
    state = state_cell(last.state)
    return shown if STATE_LOOKS[last.state][0] == "✓" else (Cell(f"{state.text} ", state.style), *shown)


def ordered(items: Iterable[PlanItem], column: str, descending: bool, folder: Path) -> list[PlanItem]:
    """In the order of the paths, or by a column; what has no such value comes last either way."""
    by_path = sorted(items, key=lambda item: item.found.path)
    value = _SORTS.get(column)
    if value is None:
        return by_path[::-1] if descending else by_path
    known = [item for item in by_path if value(item) is not None]
    return sorted(known, key=value, reverse=descending) + [item for item in by_path if value(item) is None]


_SORTS: dict[str, Callable[[PlanItem], Any]] = {
    "state": lambda item: None if item.checked is None else (-len(faults_of(item.checked)), -len(item.checked.faults)),
    "name": lambda item: item.found.name.casefold(),
    "kind": lambda item: item.found.kind,
    "when": lambda item: None if item.last is None else -item.last.run.created_at,
}


def matches(found: Found, wanted: TextQuery, folder: Path) -> bool:
    """Whether the name, the path and the kind match."""
    return wanted.matches(f"{found.name}\n{short_path(found.path, folder)}\n{found.kind}")


def request_row(request: RequestPreview) -> Row:
    """The row of a request; its key is its place in the plan."""
    data = request.data
    return Row(
        request.position,
        (
            Cell(request.name, "title"),
            solution_text(data),
            dataset_text(data),
            evaluators_text(data),
            Cell(execution_text(_map(data, "execution")), "muted"),
        ),
    )


def fault_row(place: int, fault: Fault, own: Path) -> Row:
    """The row of a fault or a warning; its key is its place in the list."""
    where = f"{fault.line}:{fault.column}" if fault.column else str(fault.line or "-")
    elsewhere = f"{os.path.basename(fault.file)}: " if fault.file and fault.file != str(own) else ""
    sign = Cell("! ", "warning") if fault.warning else Cell("✗ ", "failed")
    if asked_variable(fault):
        sign = Cell("? ", "unscored")
    hint = _hint(fault)
    message = (Cell(elsewhere, "title"), Cell(fault.message), Cell(f"  → {hint}" if hint else "", "accent"))
    return Row(place, ((sign, Cell(where)), Cell(fault.path, "muted"), message))


def request_text(request: RequestPreview) -> str:
    """The request in full as YAML, defaults merged in, typed credentials hidden."""
    import yaml

    return str(yaml.safe_dump(dict(request.data), sort_keys=False, allow_unicode=True, width=100))


def fault_text(fault: Fault) -> str:
    """All of a fault, for below the list."""
    hint = _hint(fault)
    return str(replace(fault, hint="")) + (f"\n→ {hint}" if hint else "")


def _hint(fault: Fault) -> str:
    return f"L asks for it; or {fault.hint}" if asked_variable(fault) else fault.hint


def solution_text(data: Mapping[str, Any]) -> str:
    """How the agent is called, in a line: ``http POST https://…``, ``command python agent.py``, ``use FILE``."""
    solution = data.get("solution")
    if not isinstance(solution, Mapping):
        named = (_id(data.get(name)) for name in ("harness", "model", "environment"))
        return " × ".join(part for part in named if part) or "-"
    kind = str(solution.get("type", ""))
    parts = [kind or f"use {solution.get('use', '?')}"]
    if "url" in solution:
        parts += [str(solution.get("method", "POST")), str(solution["url"])]
    for name in ("base_url", "model", "agentspec", "command", "function", "path"):
        if isinstance(solution.get(name), str):
            parts.append(solution[name])
    argv = solution.get("argv")
    parts += [str(part) for part in argv] if isinstance(argv, list) else []
    return " ".join(parts)


def dataset_text(data: Mapping[str, Any]) -> str:
    """Where the cases come from and which are taken: ``data/x.jsonl, 200 at random (seed 7)``."""
    dataset = data.get("dataset")
    if not isinstance(dataset, Mapping):
        return _id(data.get("benchmark")) or "-"
    cases = dataset.get("cases")
    source = plural(len(cases), "case") + " in the plan" if isinstance(cases, list) else str(dataset.get("path", "-"))
    return ", ".join([source, *sample_parts(_map(dataset, "sample"))])


def sample_parts(sample: Mapping[str, Any]) -> list[str]:
    """What a sample does, in words."""
    parts = []
    if (ids := sample.get("ids")) is not None:
        parts.append(plural(len(ids), "id") if isinstance(ids, list) else "ids")
    if sample.get("where"):
        parts.append(f"where {sample['where']}")
    if sample.get("limit") is not None:
        seed = sample.get("seed")
        parts.append(f"first {sample['limit']}" if seed is None else f"{sample['limit']} at random (seed {seed})")
    return parts


def evaluators_text(data: Mapping[str, Any]) -> str:
    evaluators = data.get("evaluators")
    if not isinstance(evaluators, list) or not evaluators:
        return "none" if "benchmark" not in data else "-"
    named = (each for each in evaluators if isinstance(each, Mapping))
    return ", ".join(str(each.get("name") or each.get("id") or f"use {each.get('use', '?')}") for each in named)


def execution_text(execution: Mapping[str, Any]) -> str:
    """Repeats, retries and the time an attempt may take, where they are not one, none and the default."""
    parts = []
    if isinstance(repeats := execution.get("n_repeat"), int) and repeats > 1:
        parts.append(f"{repeats}× each")
    if isinstance(retries := execution.get("max_retries"), int) and retries:
        parts.append(plural(retries, "retry", "retries"))
    for name, what in (("attempt_timeout_seconds", "an attempt"), ("task_timeout_seconds", "a task")):
        if isinstance(seconds := execution.get(name), int | float):
            parts.append(f"≤ {seconds:g} s {what}")
    return ", ".join(parts)


def _map(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = data.get(name)
    return value if isinstance(value, Mapping) else {}


def _id(value: object) -> str:
    """The id of a part of an orchestration, however it is written."""
    if isinstance(value, Mapping):
        return str(value.get("id") or value.get("name") or "")
    return value if isinstance(value, str) else ""
