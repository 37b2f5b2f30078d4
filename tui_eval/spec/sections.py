"""Putting the sections of a request together: saved files (``use``), the defaults, the request's own keys.

The order, weakest first: the defaults' saved file, the defaults' keys, the request's saved file, the request's keys.
Maps merge at every depth, lists and scalars are replaced. A solution of another type, and cases or a platform
instead of a file (or the other way round), replace what the defaults say.
"""

from __future__ import annotations

import os
from pathlib import Path

from tui_eval.errors import SpecError
from tui_eval.spec.findings import Findings
from tui_eval.spec.nodes import Node, merge, without
from tui_eval.spec.source import compose, read_text

DEEPEST_USE = 5
_OF_A_FILE = ("path", "format", "encoding", "records", "delimiter", "json_columns", "skip_bad_lines")


class SavedFiles:
    """Saved solutions, evaluators and datasets below one folder, each read once."""

    def __init__(self, folder: Path, findings: Findings) -> None:
        self._folder = folder
        self._findings = findings
        self._read: dict[str, Node | None] = {}

    def with_use(self, node: Node, chain: tuple[str, ...] = ()) -> Node:
        """A section with its ``use: FILE`` replaced by that file's content, under the section's other keys.

        Where the file cannot be used, which is a fault then, the section keeps its ``use``: what it lacks is no other.
        """
        use = node.get("use")
        if use is None:
            return node
        place = node.keys["use"]
        if not isinstance(use.value, str) or not use.value:
            self._findings.add(place, "`use` names a saved file", "for example `use: solutions/prod.yaml`")
            return node
        if use.value in chain or len(chain) >= DEEPEST_USE:
            self._findings.add(place, f"`{use.value}` is used by itself, or more than {DEEPEST_USE} files deep")
            return node
        if not self._is_inside(use.value):
            self._findings.add(
                place, f"`{use.value}` is outside the plan's folder", "name a file below the plan's folder"
            )
            return node
        saved = self._saved(use.value)
        if saved is None:
            return node
        rest = without(node, ("use",))
        merged = merge(self.with_use(saved, (*chain, use.value)), rest)
        return merged if merged is not None else rest

    def _is_inside(self, name: str) -> bool:
        if os.path.isabs(name) or ".." in Path(name).parts or "\0" in name:
            return False
        return (self._folder / name).resolve().is_relative_to(self._folder.resolve())

    def _saved(self, name: str) -> Node | None:
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def _load(self, name: str) -> Node | None:
        path = self._folder / name
        try:
            root, faults = compose(read_text(path, str(path)), str(path))
        except SpecError as error:
            self._findings.extend(error.faults)
            return None
        self._findings.extend(faults)
        if root is not None and not root.is_map:
            self._findings.add(root.place, "a saved file must hold a map of keys")
            return None
        return root


def merge_solution(base: Node | None, own: Node | None) -> Node | None:
    """A request's solution over the defaults'; another ``type`` starts afresh."""
    if base is not None and own is not None and _differ(base.get("type"), own.get("type")):
        return own
    return merge(base, own)


def merge_dataset(base: Node | None, own: Node | None) -> Node | None:
    """A request's dataset over the defaults'; of a file, cases and a platform the one replaces the others."""
    if base is not None and base.is_map and own is not None and own.is_map:
        if "path" in own.value and "cases" not in own.value:
            base = without(base, ("cases", "platform"))
        elif ("cases" in own.value or "platform" in own.value) and "path" not in own.value:
            base = without(base, (*_OF_A_FILE, "cases", "platform"))
    return merge(base, own)


def _differ(base: Node | None, own: Node | None) -> bool:
    return base is not None and own is not None and base.value != own.value
