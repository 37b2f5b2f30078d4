"""Recognising files of the neighbours by their keys: AgentCompass orchestrations, Datalayer evalsets, saved parts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

COMPASS_SECTIONS = frozenset(("benchmark", "harness", "model", "environment"))
COMPASS_WORDS = ("benchmark", "harness", "model", "environment", "\\")
"""A text with none of these cannot be an orchestration (the backslash: a key may be written in escapes)."""
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


def sections_of(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The defaults and the requests of an orchestration's data."""
    defaults = data.get("defaults")
    if isinstance(defaults, Mapping):
        yield defaults
    requests = data.get("requests")
    for request in requests if isinstance(requests, list) else ():
        if isinstance(request, Mapping):
            yield request
