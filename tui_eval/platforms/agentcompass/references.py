"""``${NAME}`` in an orchestration: the whole of a value or nothing (contract, section 1).

AgentCompass puts nothing where a variable is not set, silently; here that is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tui_eval.platforms.agentcompass.fields import ENV_MAPS
from tui_eval.spec.findings import Findings
from tui_eval.spec.nodes import Node, Place

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ANY = re.compile(r"\$\{[^}]*\}")
_LATE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^{}]*)?\}")


def name_of(value: object) -> str | None:
    """The variable a value refers to, None when it is no reference."""
    match = REFERENCE.fullmatch(value.strip()) if isinstance(value, str) else None
    return match.group(1) if match else None


def expanded(node: Node, environment: Mapping[str, str]) -> Node:
    """A copy with the values of the environment in place (for checks; never stored)."""
    return _expanded(node, environment, ())


def _expanded(node: Node, environment: Mapping[str, str], path: tuple[str, ...]) -> Node:
    if node.is_map:
        if _is_late(path):
            return node
        children = {key: _expanded(child, environment, (*path, key)) for key, child in node.value.items()}
        return replace(node, value=children)
    if node.is_list:
        return replace(node, value=[_expanded(child, environment, path) for child in node.value])
    name = name_of(node.value)
    return node if name is None else replace(node, value=environment.get(name, ""), typed=None)


def check_references(root: Node, environment: Mapping[str, str], findings: Findings, *, check_set: bool) -> None:
    """Tell references that AgentCompass refuses, and variables that are not set (with ``check_set``)."""
    for path, node, place in root.leaves():
        if not isinstance(node.value, str) or "${" not in node.value:
            continue
        keys = tuple(str(step) for step in path)
        if _is_late(keys[:-1]) or any(_is_late(keys[:end]) for end in range(1, len(keys))):
            _check_late(node.value, environment, place, findings, check_set=check_set)
            continue
        name = name_of(node.value)
        if name is not None:
            if check_set and not environment.get(name, "").strip():
                _tell_missing(name, environment, place, findings)
        elif match := _ANY.search(node.value):
            shown = match.group()[:40]
            findings.add(
                place,
                f"`{shown}` is only a part of this value (or has a default): AgentCompass takes a reference only as the whole value",
                "write `${NAME}` alone, and put the whole text into that variable",
            )


def _check_late(
    text: str, environment: Mapping[str, str], place: Place, findings: Findings, *, check_set: bool
) -> None:
    for match in _LATE.finditer(text):
        if check_set and match.group(2) is None and not environment.get(match.group(1), "").strip():
            _tell_missing(match.group(1), environment, place, findings)


def _tell_missing(name: str, environment: Mapping[str, str], place: Place, findings: Findings) -> None:
    state = "is set but empty" if name in environment else "is not set"
    findings.add(
        place,
        f"the environment variable `{name}` {state}: AgentCompass would take an empty text for it",
        f"set it: export {name}=…",
    )


def names_in(value: object) -> set[str]:
    """Every variable that plain data refers to."""
    return {match.group(1) for text in _texts(value) for match in _LATE.finditer(text)}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _is_late(path: tuple[str, ...]) -> bool:
    return bool(path) and path[-1] in ENV_MAPS and ("environment" in path[:-1] or "environments" in path[:-1])
