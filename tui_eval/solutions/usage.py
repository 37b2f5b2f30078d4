"""Token counts as the servers name them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tui_eval.domain import JsonValue, Usage
from tui_eval.solutions.extract import Extractor


def usage_of(value: JsonValue, before: Usage | None = None) -> Usage | None:
    """The counts in an object like OpenAI's ``usage`` (or Anthropic's names for the same), over those of ``before``.

    A stream may tell the input tokens first and the output tokens last; what the later object leaves out stays.
    """
    if not isinstance(value, Mapping):
        return before
    inputs = _count(value, "prompt_tokens", "input_tokens")
    outputs = _count(value, "completion_tokens", "output_tokens")
    total = _count(value, "total_tokens")
    cost = _amount(value, "cost", "total_cost")
    if inputs is None and outputs is None and total is None and cost is None:
        return before
    if before is None:
        return Usage(inputs, outputs, total, cost)
    return Usage(
        before.input_tokens if inputs is None else inputs,
        before.output_tokens if outputs is None else outputs,
        before.total_tokens if total is None else total,
        before.cost if cost is None else cost,
    )


def usage_in(document: JsonValue, usage: Extractor | None, before: Usage | None = None) -> Usage | None:
    """The counts in a body or event: at the ``usage`` expression when there is one, else under ``usage``."""
    if usage is not None:
        return usage_of(usage.value(document), before)
    return usage_of(document.get("usage"), before) if isinstance(document, Mapping) else before


def finish_reason_of(document: JsonValue) -> str:
    """``choices[0].finish_reason`` as chat servers give it, empty without one."""
    choices = document.get("choices") if isinstance(document, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    reason = first.get("finish_reason") if isinstance(first, Mapping) else None
    return reason if isinstance(reason, str) else ""


def _count(value: Mapping[str, JsonValue], *names: str) -> int | None:
    number = _amount(value, *names)
    return None if number is None or number > 2**53 else int(number)


def _amount(value: Mapping[str, JsonValue], *names: str) -> float | None:
    for name in names:
        if name not in value:
            continue
        number = value[name]
        if isinstance(number, int | float) and not isinstance(number, bool):
            try:
                if math.isfinite(number) and number >= 0:
                    return float(number)
            except OverflowError:  # an integer beyond any float
                continue
    return None
