"""What the reference's own evaluators compare, for compat grading: checked against agent-runtimes 1.5.85, value by value.

Texts are Python's (``True``, ``['a']``), upper and lower case are told apart by ``str.lower``, and a needle from the
expected value keeps its white space (Datalayer contract, section 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_eval.domain import JsonValue

RUBRIC = (
    "You are grading the answer an AI agent gave to a data analysis task. Judge whether the answer is correct and "
    "complete against the expected output, and be strict about numbers: a number that differs is wrong."
)
"""What ``llm_judge`` judges by when its arguments name no rubric."""
FAILURE_MODES = (
    *("wrong_answer", "incomplete", "hallucination", "format", "refused", "tool_misuse", "timeout", "other"),
)
"""What a judge may call the way in which an answer failed, unless its arguments name others."""


def text_of(value: JsonValue) -> str:
    """The text of an output or an expected value: that under ``text`` of an object, "" for none."""
    if isinstance(value, Mapping):
        value = value.get("text")
    return "" if value is None else str(value)


def needles_of(arguments: Mapping[str, Any], expected: JsonValue) -> list[str]:
    """What ``contains`` looks for; empty ones, which are in every output, left out."""
    tokens = arguments.get("tokens")
    if isinstance(tokens, list) and tokens:
        needles = [str(token) for token in tokens]
    else:
        single = arguments.get("substring", arguments.get("value"))
        needles = [str(single) if single is not None else text_of(expected)]
    return [needle for needle in needles if needle]


def is_in(needle: str, output: str, arguments: Mapping[str, Any]) -> bool:
    if arguments.get("case_sensitive"):
        return needle in output
    return needle.lower() in output.lower()
