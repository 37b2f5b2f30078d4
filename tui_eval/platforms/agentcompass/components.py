"""Ids and parameters of benchmarks, harnesses and environments, checked against a catalogue.

AgentCompass itself finds an unknown parameter of a benchmark only when it constructs it, and then cancels every
request of the orchestration (contract, section 2).
"""

from __future__ import annotations

from collections.abc import Mapping

from tui_eval.platforms.agentcompass.catalog import NO_HARNESS, Catalog, Component
from tui_eval.platforms.agentcompass.checks import place_of
from tui_eval.spec.findings import Findings
from tui_eval.spec.nearest import suggestion
from tui_eval.spec.nodes import Node

RENAMED = {"verifier_network_policy": "evaluation_network_policy"}
"""Parameters that AgentCompass's own page of its SDK names otherwise than its code."""


def check_components(
    sections: Mapping[str, Node | None],
    ids: Mapping[str, str],
    catalog: Catalog,
    findings: Findings,
    *,
    preloaded: bool,
) -> None:
    """The three components of one request. With ``preloaded`` an id that is not in the catalogue is only a warning."""
    for kind, identity in ids.items():
        section = sections[kind]
        if not identity or section is None or (kind == "harness" and identity == NO_HARNESS):
            continue
        component = catalog.of(kind).get(identity)
        if component is None:
            known = [*catalog.of(kind), *([NO_HARNESS] if kind == "harness" else [])]
            findings.add(
                place_of(section, "id"),
                f"AgentCompass {catalog.version} has no {kind} `{identity}`"
                + (" of its own; a preloaded module must register it" if preloaded else ""),
                suggestion(identity, known),
                warning=preloaded,
            )
            continue
        _check_parameters(kind, section, component, findings)
    _check_pair(sections, ids, catalog, findings)


def _check_parameters(kind: str, section: Node, component: Component, findings: Findings) -> None:
    for key in section.value:
        if key not in ("id", "params") and key not in component.parameters:
            findings.add(
                place_of(section, key),
                f"the {kind} `{component.id}` has no parameter `{key}`",
                f"it is `{RENAMED[key]}` here" if key in RENAMED else suggestion(key, component.parameters),
            )
    for name, parameter in component.parameters.items():
        if parameter.get("required") and name not in section.value:
            findings.add(
                section.place,
                f"the {kind} `{component.id}` needs `{name}`",
                str(parameter.get("description", "")).rstrip("."),
            )


def _check_pair(
    sections: Mapping[str, Node | None], ids: Mapping[str, str], catalog: Catalog, findings: Findings
) -> None:
    """Benchmarks that make their own calls take the harness ``none``, and only they do."""
    benchmark, harness = catalog.of("benchmark").get(ids["benchmark"]), ids["harness"]
    section = sections["harness"]
    if benchmark is None or not harness or section is None:
        return
    if benchmark.harness_free and harness != NO_HARNESS:
        findings.add(
            place_of(section, "id"),
            f"the benchmark `{benchmark.id}` makes its own calls: it takes no harness `{harness}`",
            "write `harness: {id: none}`",
        )
    elif harness == NO_HARNESS and not benchmark.harness_free:
        findings.add(place_of(section, "id"), f"the benchmark `{benchmark.id}` needs a harness, not `none`")
