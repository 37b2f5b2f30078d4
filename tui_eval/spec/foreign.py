"""Recognising files of the neighbours by their keys: AgentCompass orchestrations, Datalayer evalsets, saved parts."""

from __future__ import annotations

from collections.abc import Collection

COMPASS_SECTIONS = frozenset(("benchmark", "harness", "model", "environment"))
EVALSET_KEYS = frozenset(("evalset_evaluators", "report_evaluators", "run_environment"))


def is_orchestration(keys: Collection[str], section_keys: Collection[str]) -> bool:
    """An AgentCompass orchestration (its contract, section 1): requests or defaults of a benchmark, harness or model.

    ``section_keys`` are the keys of its requests and defaults.
    """
    ours = {"solution", "dataset", "evaluators"} & set(section_keys)
    result = "status" in keys  # what a finished orchestration leaves behind
    return "requests" in keys and bool(COMPASS_SECTIONS & set(section_keys)) and not ours and not result


def is_evalset(keys: Collection[str]) -> bool:
    """A Datalayer evalset (its contract, section 1): a name and cases, or one of its own keys."""
    return "requests" not in keys and (("cases" in keys and "name" in keys) or bool(EVALSET_KEYS & set(keys)))
