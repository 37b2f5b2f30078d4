"""An AgentCompass orchestration as rows and texts: its requests, their sections, what to know before the start."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.spec.references import missing_variable
from tui_eval.tui.agentcompass_draft import (
    COMPONENTS,
    DEFAULTS,
    GENERAL,
    NAME,
    SECTIONS,
    TOP_RUNTIME,
    WHOLE,
    CompassDraft,
    Owner,
    effective_id,
    inherited,
    path_of,
    request_name,
    requests_of,
    section,
)
from tui_eval.tui.projections.launch import value_text
from tui_eval.tui.projections.preflight import (
    Note,
    cannot_start,
    fault_text,
    missing_notes,
    variable_notes,
)
from tui_eval.tui.text import plural
from tui_eval.tui.widgets.cells import Cell, CellValue, Column, Row

if TYPE_CHECKING:
    from tui_eval.errors import Fault
    from tui_eval.tui.agentcompass_reading import Examined, Installed

OWNERS = (
    Column("name", "request", 14, weight=2, most=40, priority=10),
    Column("benchmark", "benchmark", 14, weight=2, most=34, priority=9),
    Column("harness", "harness", 12, weight=1, most=24, priority=6),
    Column("environment", "environment", 12, weight=1, most=20, priority=4),
    Column("model", "model", 10, weight=1, most=30, priority=7),
    Column("state", "✗", 3, priority=8),
)
PARTS = (
    Column("part", "part", 12, priority=10),
    Column("value", "", 14, weight=2, most=34, priority=9),
    Column("settings", "settings (grey: from the defaults)", 24, weight=3, priority=8),
    Column("state", "✗", 3, priority=7),
)
PART_TITLES = {GENERAL: "name, limits", TOP_RUNTIME: "runtime", "runtime": "reuse"}
"""What parts are called where it is not their key."""
_LONGEST = 60  # characters of one value in a list


# -- the requests --


def owners(draft: CompassDraft) -> list[Owner]:
    """Everything that has sections, in the order of the screen."""
    return [] if draft.broken else [WHOLE, DEFAULTS, *range(len(requests_of(draft.data)))]


def owner_rows(draft: CompassDraft, faults: Iterable[Fault]) -> list[Row]:
    """The orchestration, its defaults and its requests; the keys are the owners."""
    found = list(faults)
    return [_owner_row(draft, owner, found) for owner in owners(draft)]


def _owner_row(draft: CompassDraft, owner: Owner, faults: Sequence[Fault]) -> Row:
    state = _fault_cell(sum(1 for fault in faults if owner_of(draft.data, fault) == owner))
    if owner == WHOLE:
        limit = draft.data.get("task_concurrency", 32)
        return Row(WHOLE, (Cell("orchestration", "accent"), Cell(f"{limit} tasks at once", "muted"), "", "", "", state))
    if owner == DEFAULTS:
        name = Cell("defaults", "accent")
    else:
        name = Cell(request_name(draft.data, int(owner)), "title")
    return Row(owner, (name, *(_id_cell(draft.data, owner, key) for key in (*COMPONENTS, "model")), state))


def _id_cell(data: Mapping[str, Any], owner: Owner, key: str) -> Cell:
    own = section(data, owner, key).get("id")
    identity = effective_id(data, owner, key)
    return Cell(identity or "-", "" if own is not None and identity else "muted")


def _fault_cell(count: int) -> Cell:
    return Cell(f"✗{count}", "failed") if count else Cell("")


def owner_of(data: Mapping[str, Any], fault: Fault) -> Owner:
    """Whose fault it is: the orchestration's where no request and no default is named."""
    path = f"{fault.path}."
    if path.startswith(f"{DEFAULTS}."):
        return DEFAULTS
    for position in range(len(requests_of(data))):
        if path.startswith(f"{path_of(data, position)}."):
            return position
    return WHOLE


def part_of(data: Mapping[str, Any], fault: Fault) -> tuple[Owner, str]:
    """The section that a fault is about, "" for none: something is missing altogether."""
    owner = owner_of(data, fault)
    if owner == WHOLE:
        first = fault.path.split(".", 1)[0]
        return owner, TOP_RUNTIME if first == "runtime" else GENERAL if first in ("name", "task_concurrency") else ""
    rest = fault.path[len(path_of(data, owner)) + 1 :]
    first = rest.split(".", 1)[0]
    if first in (*SECTIONS, NAME):
        return owner, first
    missing = (key for key in (*COMPONENTS, "model") if f"has no {key}:" in fault.message)
    return owner, NAME if "needs a name" in fault.message else next(missing, "")


# -- their sections --


def parts(owner: Owner) -> tuple[str, ...]:
    """The parts of an owner, in the order of the screen."""
    if owner == WHOLE:
        return (GENERAL, TOP_RUNTIME)
    return SECTIONS if owner == DEFAULTS else (NAME, *SECTIONS)


def part_title(key: str) -> str:
    return PART_TITLES.get(key, key)


def part_rows(draft: CompassDraft, owner: Owner, faults: Iterable[Fault]) -> list[Row]:
    """The parts of an owner; the keys are theirs. Typed credentials are hidden."""
    from tui_eval.platforms.agentcompass.credentials import hidden

    data = hidden(dict(draft.data))
    places = [part_of(draft.data, fault) for fault in faults]
    return [_part_row(data, owner, key, places.count((owner, key))) for key in parts(owner)]


def _part_row(data: Mapping[str, Any], owner: Owner, key: str, faults: int) -> Row:
    state = _fault_cell(faults)
    if key == NAME:
        name = request_name(data, int(owner))
        return Row(key, (key, Cell(name, "title"), "", state))
    own, above = section(data, owner, key), inherited(data, owner, key)
    value: CellValue = ""
    if key in (*COMPONENTS, "model"):
        value = _id_cell(data, owner, key)
    elif key == GENERAL:
        value = Cell(str(own.get("name", "")))
        own = {name: each for name, each in own.items() if name != "name"}
    from_above = {name: each for name, each in above.items() if name not in own}
    settings = (Cell(_settings(own)), Cell(_settings(from_above), "muted"))
    return Row(key, (part_title(key), value, settings, state))


def _settings(section: Mapping[str, Any]) -> str:
    return "".join(f"{name}={_value(value)}  " for name, value in section.items() if name != "id")


def _value(value: Any) -> str:
    text = value_text(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# -- what to know --


NOTE_LOOKS = {
    "python": ("✗ missing", "failed"),
    "missing": ("✗ variable", "failed"),
    "fault": ("✗ fault", "failed"),
    "warning": ("! warning", "warning"),
    "reuse": ("· reuse", "accent"),
    "calls": ("→ model", ""),
    "variable": ("✓ variable", "muted"),
    "version": ("✓ installed", "muted"),
}


def notes(
    draft: CompassDraft,
    examined: Examined | None,
    installed: Installed | None,
    environment: Mapping[str, str],
    typed: Mapping[str, str],
    workspace: Path,
) -> list[Note]:
    """Everything to know before the start, what stops it first. No value of a variable is in it."""
    missing = examined.missing if examined is not None else ()
    found = missing_notes(missing, {**environment, **typed})
    if examined is not None:
        # What is only missing has a line of its own.
        told = [fault for fault in examined.faults if missing_variable(fault.message) not in missing]
        found += [Note("fault", _told(each, workspace), part_of(draft.data, each)) for each in told]
    if installed is not None and installed.problem:
        found.append(Note("python", installed.problem))
    if examined is not None:
        found += [Note("warning", _told(each, workspace), part_of(draft.data, each)) for each in examined.warnings]
        found += [Note("reuse", text) for text in examined.reuse]
        found += [Note("calls", text) for text in callees(draft)]
    found += variable_notes(examined.references if examined is not None else (), environment, typed)
    if installed is not None and installed.interpreter is not None:
        python = installed.interpreter
        text = f"AgentCompass {python.agentcompass} in {python.path} (Python {python.python}, from {python.named_by})"
        found.append(Note("version", text))
    return found


def _told(fault: Fault, workspace: Path) -> str:
    """A fault on one line: its place in the file, else its path."""
    return fault_text(replace(fault, path="", column=0) if fault.line else fault, workspace)


def callees(draft: CompassDraft) -> list[str]:
    """Which model each request asks, each once: ``mock-ok at http://127.0.0.1:8000/v1``."""
    asked: dict[str, None] = {}
    for position in range(len(requests_of(draft.data))):
        model = {**inherited(draft.data, position, "model"), **section(draft.data, position, "model")}
        if model.get("id"):
            # What stands before an @ in an address is a password.
            where = f" at {re.sub('//[^/@]*@', '//', str(model['base_url']))}" if model.get("base_url") else ""
            asked[f"{model['id']}{where}"] = None
    return list(asked)


def headline(
    draft: CompassDraft, examined: Examined | None, installed: Installed | None, found: Sequence[Note]
) -> tuple[str, str]:
    """The first line of the page, and its style."""
    kinds = [note.kind for note in found]
    if examined is None or installed is None:
        return "▸ checking the orchestration…", "running"
    if stopping := cannot_start(found, *(["AgentCompass is not installed"] if "python" in kinds else [])):
        return stopping, "failed"
    warnings = kinds.count("warning")
    more = f", {plural(warnings, 'warning')}" if warnings else ""
    unsaved = ", not saved (w)" if draft.changed else ""
    return f"✓ ready to start{more}{unsaved}: press r", "passed"


def totals(examined: Examined | None) -> str:
    """``2 requests, 4 tasks at once, results in …``."""
    if examined is None or examined.loaded is None:
        return "How many tasks there are is known when AgentCompass has loaded the data."
    loaded = examined.loaded
    return (
        f"{plural(len(loaded.requests), 'request')}, {plural(loaded.task_concurrency, 'task')} at once, results in "
        f"{loaded.results_dir}"
    )


def wrong_name(draft: CompassDraft, position: int | None, text: str) -> str:
    """What is wrong with the name of the request at ``position`` (None: of a new one), "" for nothing."""
    if not text.strip():
        return "a request needs a name: it becomes the name of a folder"
    others = (each.get("name") for place, each in enumerate(requests_of(draft.data)) if place != position)
    return "another request is called that" if text.strip() in map(str, others) else ""


def why_not(examined: Examined | None, installed: Installed | None, found: Sequence[Note]) -> str:
    """What has to be done before the start, "" for nothing."""
    missing = [str(note.about) for note in found if note.kind == "missing"]
    if missing:
        return f"Type a value for {', '.join(missing)} first (enter on its line in 3)."
    if examined is None or installed is None:
        return "The orchestration is still being checked."
    return "The faults must be mended first; they stand in 3." if examined.faults else installed.problem


def question(draft: CompassDraft, examined: Examined) -> list[str]:
    """What the last question before the start says: who is asked, what is taken over, what is not saved."""
    count = len(requests_of(draft.data))
    lines = [
        f"AgentCompass works through {plural(count, 'request')}, and asks",
        *(f"  {each}" for each in callees(draft)),
    ]
    lines += ["", *examined.reuse] if examined.reuse else []
    if draft.changed and draft.path is not None:
        lines += ["", f"What was changed here is run; {draft.path.name} stays as it is."]
    return lines
