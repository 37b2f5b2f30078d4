"""Values of the command line and of programs put over those of an orchestration file, as AgentCompass does it.

Maps merge at every depth, everything else is replaced (contract, section 1, "Merge"): a limit for one environment leaves
those of the others as they are. ``*`` in place of a request stands for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tui_eval.spec.findings import Findings
from tui_eval.spec.nodes import Node, Place, node_of, with_value
from tui_eval.spec.nodes import Path as KeyPath

EVERY = "*"


def with_settings(root: Node, settings: Mapping[KeyPath, Any], findings: Findings) -> Node:
    """A copy of ``root`` with the settings applied in their order; one whose path leads nowhere is a finding."""
    for path, value in settings.items():
        for steps, part in _parts(path, value):
            try:
                root = _with(root, steps, node_of(part, Place(path=path)))
            except LookupError as error:
                findings.add(Place(path=path), str(error), "name a request, its number from 0, or * for every one")
                break
    return root


def _parts(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, Any]]:
    """What is to be replaced; an empty map is a value like any other."""
    if not isinstance(value, Mapping) or not value:
        yield path, value
        return
    for key, item in value.items():
        yield from _parts((*path, str(key)), item)


def _with(root: Node, path: KeyPath, value: Node) -> Node:
    requests = root.get("requests")
    if path[:2] != ("requests", EVERY) or requests is None or not requests.is_list:
        return with_value(root, path, value)
    items = [with_value(item, path[2:], value) for item in requests.value]
    return replace(root, value={**root.value, "requests": replace(requests, value=items)})
