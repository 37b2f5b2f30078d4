"""A launch as rows and texts: plans to choose, what a check found, what was changed, how long it may take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tui_eval.display import duration, short_path
from tui_eval.spec.references import missing_variable
from tui_eval.tui.projections.preflight import (
    Note,
    cannot_start,
    fault_text,
    missing_notes,
    variable_notes,
)
from tui_eval.tui.projections.runs import state_cell, when
from tui_eval.tui.text import plural
from tui_eval.tui.widgets.cells import Cell, Column, Row
from tui_eval.tui.widgets.counts import percent

if TYPE_CHECKING:
    from tui_eval.spec.compose import Setting
    from tui_eval.spec.workspace import Found
    from tui_eval.store.run_queries import RunOverview
    from tui_eval.tui.launch_check import CheckedRequest, Verdict
    from tui_eval.tui.launch_draft import Draft

BUILD = ""
"""The key of the row that leads to composing a plan."""
PLANS = (
    Column("plan", "plan", 20, weight=2, most=60, priority=10),
    Column("file", "file", 16, weight=2, most=70, priority=6),
    Column("state", "last run", 13, priority=8),
    Column("rate", "pass", 6, priority=7, right=True),
    Column("when", "when", 12, priority=5),
)
PARTS = (Column("name", "name", 12, weight=2, most=40, priority=9), Column("note", "", 10, weight=3, priority=2))
REQUESTS = (
    Column("name", "request", 16, weight=3, most=50, priority=10),
    Column("solution", "solution", 8, priority=4),
    Column("cases", "cases", 9, priority=6, right=True),
    Column("tasks", "tasks", 6, priority=8, right=True),
    Column("calls", "calls≤", 6, priority=9, right=True),
    Column("about", "about", 10, priority=3, right=True),
    Column("to", "calls to", 14, weight=3, priority=7),
)


def plan_rows(plans: Iterable[Found], last: Mapping[str, RunOverview], workspace: Path, now: datetime) -> list[Row]:
    """The plans of the workspace with their last runs (by the file's path), below the row to compose one."""
    rows = [Row(BUILD, (Cell("+ compose a plan", "accent"), Cell("from parts", "muted"), "", "", ""))]
    for found in plans:
        overview = last.get(str(found.path))
        shown = short_path(found.path, workspace)
        if overview is None:
            cells: tuple[Any, ...] = (Cell("never run", "muted"), "", "")
        else:
            made = Cell(when(overview.run.created_at, now), "muted")
            cells = (state_cell(overview.state), percent(overview.counters.pass_rate), made)
        rows.append(Row(str(found.path), (Cell(found.name, "title"), Cell(shown, "muted"), *cells)))
    return rows


def request_rows(verdict: Verdict, seconds: Mapping[str, float], values: Mapping[str, str]) -> list[Row]:
    """A row a request, its key is the name. ``seconds`` is the median task of each, ``values`` those of variables."""
    return [
        Row(
            request.name,
            (
                Cell(request.name, "title"),
                request.solution,
                _cases(request),
                f"{request.tasks:,}",
                f"{request.calls:,}",
                Cell(f"{duration(seconds[request.name])}/task" if request.name in seconds else "-", "muted"),
                ", ".join(called(request, values)),
            ),
        )
        for request in verdict.requests
    ]


def _cases(request: CheckedRequest) -> str:
    if request.cases is None or request.selected is None:
        return "-"
    return f"{request.cases:,}" if request.selected == request.cases else f"{request.selected:,}/{request.cases:,}"


def called(request: CheckedRequest, values: Mapping[str, str]) -> list[str]:
    """Hosts, programs and functions of a request, each once."""
    hosts = (host(text, values) for text in request.hosts)
    return list(dict.fromkeys((*hosts, *request.commands, *request.functions)))


def host(text: str, values: Mapping[str, str]) -> str:
    """The host of an address whose ``${NAME}`` are looked up in ``values``; nothing else of a value is shown."""
    from tui_eval.spec.references import find_references, replace_references

    if "${" not in text or any(not values.get(name) for name in find_references(text)):
        return text
    filled = replace_references(text, lambda name: values[name])
    try:
        return urlsplit(filled if "//" in filled else f"//{filled}").netloc.rpartition("@")[2] or text
    except ValueError:
        return text


NOTE_LOOKS = {
    "fault": ("✗ fault", "failed"),
    "missing": ("✗ missing", "failed"),
    "warning": ("! warning", "warning"),
    "sample": ("· sample", "accent"),
    "change": ("~ change", "accent"),
    "host": ("→ host", ""),
    "program": ("» program", ""),
    "function": ("» function", ""),
    "variable": ("✓ variable", "muted"),
}


def notes(
    verdict: Verdict | None,
    draft: Draft,
    base: Mapping[str, Any] | None,
    references: Sequence[str],
    environment: Mapping[str, str],
    typed: Mapping[str, str],
    workspace: Path,
) -> list[Note]:
    """Everything to know before the start, what stops it first. No value of a variable is in it."""
    values = {**environment, **typed}
    missing = [name for name in references if not values.get(name)]
    found = missing_notes(missing, values)
    if verdict is not None:
        told = [fault for fault in verdict.faults if missing_variable(fault.message) not in missing]
        found += [Note("fault", fault_text(fault, workspace)) for fault in told]
        found += [Note("warning", fault_text(fault, workspace)) for fault in verdict.warnings]
    found += [Note("change", setting_text(each, base), each.place) for each in draft.settings]
    found += [Note("change", typed_text(text, draft.names, base), text) for text in draft.typed]
    if verdict is not None:
        found += _callees(verdict, values)
    return found + variable_notes(references, environment, typed)


def _callees(verdict: Verdict, values: Mapping[str, str]) -> list[Note]:
    """Who is called and what is executed, each once, with the number of requests when it is not all of them."""
    users: dict[tuple[str, str], list[str]] = {}
    for request in verdict.requests:
        for kind, texts in (
            ("host", [host(text, values) for text in request.hosts]),
            ("program", request.commands),
            ("function", request.functions),
        ):
            for text in dict.fromkeys(texts):
                users.setdefault((kind, text), []).append(request.name)
    order = ("host", "program", "function")
    everywhere = len(verdict.requests)
    return [
        Note(kind, text if len(names) == everywhere else f"{text}  ({', '.join(names)})")
        for (kind, text), names in sorted(users.items(), key=lambda item: order.index(item[0][0]))
    ]


def offered_samples(
    plan: Mapping[str, Any], folder: Path, samples: Mapping[Path, Mapping[str, Any]], workspace: Path
) -> list[Note]:
    """Samples chosen on the datasets screen for datasets of this plan, where it takes others. To be taken, or not."""
    found = []
    for request in plan.get("requests", ()):
        path = at(request, ("dataset", "path"))
        sample = samples.get(folder / path) if isinstance(path, str) else None
        if sample and at(request, ("dataset", "sample")) != sample:
            file = short_path(folder / path, workspace)
            text = f"{request['name']}: enter takes the sample chosen for {file}: {value_text(dict(sample))}"
            found.append(Note("sample", text, (request["name"], dict(sample))))
    return found


def setting_text(setting: Setting, base: Mapping[str, Any] | None) -> str:
    """``requests.json.execution.n_repeat: 1 → 3``: a change as the difference from the plan."""
    before = "?" if base is None else value_text(base_value(setting, base))
    return f"{setting.shown_path}: {before} → {value_text(setting.value)}"


def typed_text(text: str, names: Sequence[str], base: Mapping[str, Any] | None) -> str:
    """The same for an override as it was typed; one that means nothing stands as it is (the check says why)."""
    from tui_eval.spec.compose import Setting
    from tui_eval.spec.credentials import is_secret_name
    from tui_eval.spec.findings import Findings
    from tui_eval.spec.overrides import parse_overrides

    parsed = parse_overrides([text], names, Findings())
    if not parsed:
        return text.partition("=")[0]
    steps = tuple(str(step) for step in parsed[0].steps)
    if is_secret_name(steps[-1]):
        return f"{text.partition('=')[0]}: … → … (hidden)"
    return setting_text(Setting(parsed[0].request, steps, parsed[0].value.data()), base)


def value_text(value: Any) -> str:
    """A value as people read it in a plan; a missing one is ``default``."""
    import json

    if value is MISSING:
        return "default"
    if isinstance(value, str) and value:
        return value
    return json.dumps(value, ensure_ascii=False)


MISSING: Any = type("Missing", (), {"__repr__": lambda self: "missing"})()
"""What stands where a plan says nothing."""


def base_value(setting: Setting, base: Mapping[str, Any]) -> Any:
    """What the plan says where a setting goes; for every request: what they agree on, else a text that says it."""
    from tui_eval.spec.compose import EVERY

    if setting.request is None:
        return at(base, setting.path)
    values = [
        at(request, setting.path)
        for request in base.get("requests", ())
        if setting.request in (EVERY, request.get("name"))
    ]
    if not values:
        return MISSING
    return values[0] if all(value == values[0] for value in values) else "(differs)"


def at(data: Any, path: Sequence[str]) -> Any:
    """The value at a path of maps (and of lists, by number or by the name of an entry), :data:`MISSING` when there is
    none."""
    for step in path:
        if isinstance(data, list):
            named = {str(place): each for place, each in enumerate(data)}
            named |= {str(each.get("name") or each.get("id")): each for each in data if isinstance(each, dict)}
            data = named
        if not isinstance(data, Mapping) or step not in data:
            return MISSING
        data = data[step]
    return data


@dataclass(frozen=True, slots=True)
class Limits:
    """What holds calls back: tasks in flight, most calls in flight by host, calls started a second by host."""

    concurrency: int = 8
    hosts: Mapping[str, int] | None = None
    qps: Mapping[str, float] | None = None


def limits_of(plan: Mapping[str, Any]) -> Limits:
    """The limits that a resolved plan sets."""
    runtime = plan.get("runtime") or {}
    return Limits(int(plan.get("task_concurrency", 8)), runtime.get("provider_limits"), runtime.get("qps"))


def estimate(
    requests: Sequence[CheckedRequest], seconds: Mapping[str, float], limits: Limits, values: Mapping[str, str]
) -> float | None:
    """About how many seconds the run takes, from the median task of each request; None when one of them has none.

    The slowest of: everything at full concurrency, each host at its limit, each host at its rate, one task.
    """
    if not requests or any(request.name not in seconds for request in requests if request.tasks):
        return None
    work = {request.name: request.tasks * seconds.get(request.name, 0.0) for request in requests}
    bounds = [sum(work.values()) / max(1, limits.concurrency), *(seconds.get(each.name, 0.0) for each in requests)]
    by_host: dict[str, list[CheckedRequest]] = {}
    for request in requests:
        for text in dict.fromkeys(request.hosts[:1]):
            by_host.setdefault(host(text, values).lower(), []).append(request)
    for name, users in by_host.items():
        if limit := (limits.hosts or {}).get(name):
            bounds.append(sum(work[each.name] for each in users) / limit)
        if rate := (limits.qps or {}).get(name):
            bounds.append(sum(each.tasks for each in users) / rate)
    return max(bounds)


def headline(verdict: Verdict | None, found: Sequence[Note], problem: str = "") -> tuple[str, str]:
    """The first line of the pre-flight page, and its style."""
    if problem:
        return f"✗ {problem}", "failed"
    if verdict is None:
        return "▸ checking the plan and its datasets…", "running"
    if stopping := cannot_start(found):
        return stopping, "failed"
    warnings = f", {plural(len(verdict.warnings), 'warning')}" if verdict.warnings else ""
    return f"✓ ready to start{warnings}: press r", "passed"


def totals(verdict: Verdict | None, seconds: float | None, limits: Limits) -> str:
    """``3 requests, 72 tasks, at most 216 calls of the agent, 16 at a time, about 12 s``."""
    if verdict is None or not verdict.requests:
        return ""
    about = f"about {duration(seconds)}" if seconds is not None else "no earlier run to estimate the time from"
    return (
        f"{plural(len(verdict.requests), 'request')}, {plural(verdict.tasks, 'task')}, "
        f"at most {plural(verdict.calls, 'call')} of the agent, {limits.concurrency} at a time, {about}"
    )
