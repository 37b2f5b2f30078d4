"""What the evaluators of a task expected: read from the plan that is stored with the run, and from the case.

The syntax is that of ``variable_mapping`` (see ``evaluators.variables``): ``dataset.<column>``, the longest column
name first, then a path into its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tui_eval.domain import JsonValue

_DATASET = "dataset."
EXPECTED = "expected_output"


@dataclass(frozen=True, slots=True)
class Expectation:
    """What one or several evaluators (by the names of their scores) compared with. ``source`` is where it stands:
    ``dataset.answer``, or ``plan``. ``found`` is False when the case has no such column."""

    evaluators: tuple[str, ...]
    source: str
    value: JsonValue = None
    found: bool = True


def request_plan(plan: Mapping[str, Any], request: str) -> dict[str, Any]:
    """The section of a request in a stored plan, empty when it is not there (an imported run)."""
    sections = plan.get("requests")
    for section in sections if isinstance(sections, list) else ():
        if isinstance(section, dict) and section.get("name") == request:
            return section
    return {}


def expected_of(plan: Mapping[str, Any], request: str, case_input: Mapping[str, JsonValue]) -> tuple[Expectation, ...]:
    """Everything the evaluators of ``request`` expected of a case, each value once, in the order of the plan."""
    found: dict[str, Expectation] = {}
    evaluators = request_plan(plan, request).get("evaluators")
    for options in evaluators if isinstance(evaluators, list) else ():
        if not isinstance(options, dict):
            continue
        expectation = _expectation(options, case_input)
        if expectation is None:
            continue
        key = expectation.source if expectation.source != "plan" else repr(expectation.value)
        earlier = found.get(key)
        names = (*earlier.evaluators, *expectation.evaluators) if earlier else expectation.evaluators
        found[key] = Expectation(names, expectation.source, expectation.value, expectation.found)
    return tuple(found.values())


def _expectation(options: Mapping[str, Any], case_input: Mapping[str, JsonValue]) -> Expectation | None:
    name = str(options.get("name") or options.get("id") or "")
    mapping = options.get("variable_mapping")
    source = mapping.get(EXPECTED) if isinstance(mapping, dict) else None
    if isinstance(source, str) and source.startswith(_DATASET):
        known, value = column(source.removeprefix(_DATASET), case_input)
        return Expectation((name,), source, value, known)
    if "expected" in options:
        return Expectation((name,), "plan", options["expected"])
    return None


def column(path: str, case_input: Mapping[str, JsonValue]) -> tuple[bool, JsonValue]:
    """``(whether it is there, its value)`` of a column, or of a path into one."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        if name in case_input:
            return _inside(case_input[name], parts[count:])
    return False, None


def _inside(value: JsonValue, steps: list[str]) -> tuple[bool, JsonValue]:
    for step in steps:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(value):
            value = value[int(step[:9])]
        else:
            return False, None
    return True, value
