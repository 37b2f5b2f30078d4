"""The components of AgentCompass with their parameters: of the version we know, or of the one that is installed.

``catalog.json`` beside this file was taken from AgentCompass 1.0.1. The bridge gives one of the same shape for the
package that it finds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tui_eval.errors import UsageError

KNOWN_VERSION = "1.0.1"
"""The version that the embedded catalogue and the rules of this package were measured on."""

NO_HARNESS = "none"
"""The harness id of benchmarks that make their own calls."""

SHARED_ENVIRONMENT = frozenset(
    "setup evaluation_setup resources run_resources evaluation_resources baseline_network_policy "  # noqa: SIM905
    "evaluation_baseline_network_policy run_network_policy evaluation_network_policy evaluation_environment_mode "
    "env_variables run_env_variables evaluation_env_variables evaluation_environment_env_variables "
    "require_startup_env".split()
)
"""Parameters that every environment takes (the fields of AgentCompass's EnvironmentSpec)."""
_OUTPUT_ONLY = frozenset(("model",))
"""Fields of a benchmark that AgentCompass fills in itself."""


@dataclass(frozen=True, slots=True)
class Component:
    """One benchmark, harness or environment. ``parameters`` are its fields as AgentCompass describes them."""

    id: str
    description: str
    parameters: Mapping[str, Mapping[str, Any]]
    harness_free: bool = False


@dataclass(frozen=True, slots=True)
class Catalog:
    """All components of one version, by kind (``benchmark``, ``harness``, ``environment``) and id."""

    version: str
    components: Mapping[str, Mapping[str, Component]] = field(repr=False)

    def of(self, kind: str) -> Mapping[str, Component]:
        return self.components.get(kind, {})


@cache
def embedded_catalog() -> Catalog:
    """The catalogue of :data:`KNOWN_VERSION`."""
    return catalog_of(json.loads((Path(__file__).parent / "catalog.json").read_text(encoding="utf-8")))


def read_catalog(path: Path) -> Catalog:
    """The catalogue in a file that was written when an installed version was asked for it. Raises UsageError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path}: the components of the installed AgentCompass cannot be read ({error}); the page of an orchestration "
            "asks for them again"
        ) from error
    return catalog_of(_map(data))


def catalog_of(data: Mapping[str, Any]) -> Catalog:
    """A catalogue from its JSON form; what has an unexpected shape is left out."""
    components = {
        kind: {
            name: _component(kind, name, entry)
            for name, entry in _map(data.get(kind)).items()
            if isinstance(entry, Mapping)
        }
        for kind in ("benchmark", "harness", "environment")
    }
    return Catalog(str(data.get("version", "")), components)


def _component(kind: str, name: str, entry: Mapping[str, Any]) -> Component:
    fields = {str(one["name"]): one for one in entry.get("fields") or () if isinstance(one, Mapping) and "name" in one}
    if kind == "benchmark":
        fields = {key: value for key, value in fields.items() if key not in _OUTPUT_ONLY}
    if kind == "environment":
        fields = {**{name: {} for name in sorted(SHARED_ENVIRONMENT)}, **fields}
    return Component(name, str(entry.get("description", "")), fields, bool(entry.get("harness_free")))


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
