"""The configuration files that AgentCompass merges under an orchestration (contract, section 1, "Merge").

It takes the user's file, then the nearest ``config.yaml`` in the working folder *or any folder above it*, then those
named with ``--config``. A stray one changes a launch or ends it, so every file that counts is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tui_eval.errors import SpecError
from tui_eval.platforms.agentcompass.scalars import as_compass_reads
from tui_eval.spec.findings import Findings
from tui_eval.spec.nodes import Node, Place, merge
from tui_eval.spec.source import compose, read_text

_KINDS = {"benchmark": "benchmarks", "harness": "harnesses", "environment": "environments"}


@dataclass(slots=True)
class ConfigStack:
    """The files that are merged, lowest first, and their merged content."""

    files: tuple[Path, ...] = ()
    root: Node | None = field(default=None, repr=False)

    def section(self, name: str) -> Node | None:
        node = self.root.get(name) if self.root is not None else None
        return node if node is not None and node.is_map else None

    def component(self, kind: str, identity: str) -> Node | None:
        """The parameters that the files give to a component."""
        section = self.section(_KINDS[kind])
        node = section.get(identity) if section is not None else None
        return node if node is not None and node.is_map else None


def read_stack(
    folder: Path, environment: Mapping[str, str], named: tuple[Path, ...], findings: Findings
) -> ConfigStack:
    """Read the files that AgentCompass, started in ``folder``, would merge. What is wrong with them is told."""
    stack = ConfigStack()
    for path, is_named in [*((path, False) for path in _found(folder, environment)), *((path, True) for path in named)]:
        if path in stack.files:
            continue
        node = _read(path, findings)
        if node is None:
            continue
        stack.files = (*stack.files, path)
        stack.root = merge(stack.root, node)
        if not is_named:
            findings.warn(
                Place(str(path)),
                "AgentCompass merges this file under the orchestration",
                "keep it if that is meant; else start from another folder",
            )
    return stack


def _found(folder: Path, environment: Mapping[str, str]) -> list[Path]:
    home = environment.get("XDG_CONFIG_HOME", "")
    base = Path(home).expanduser() if home else Path(environment.get("HOME") or Path.home()) / ".config"
    candidates = [base / "agentcompass" / "config.yaml"]
    here = folder.resolve()
    nearest = next((one / "config.yaml" for one in (here, *here.parents) if (one / "config.yaml").exists()), None)
    return [path for path in (*candidates, *((nearest,) if nearest else ())) if path.exists()]


def _read(path: Path, findings: Findings) -> Node | None:
    try:
        text = read_text(path, str(path))
    except SpecError as error:
        findings.extend(error.faults)
        return None
    if not text.strip():
        return Node({}, Place(str(path)))
    root, faults = compose(text, str(path))
    findings.extend(faults)
    if root is None:
        return None
    root = as_compass_reads(root)
    if not root.is_map:
        findings.add(root.place, "a configuration file of AgentCompass must be a map of keys")
        return None
    if "models" in root.value:
        findings.add(
            root.keys["models"],
            "AgentCompass refuses `models` in a configuration file, and with it the whole launch",
            "remove them, or start from a folder that does not lie below this file",
        )
    return root
