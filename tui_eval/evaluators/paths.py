"""JMESPath that tells "not there" from null.

The JMESPath specification gives null for both. Along plain steps (fields, positions, pipes, ``||`` and ``&&``) they
are told apart here; a projection on something that is no list or object counts as not there; what a function or a
comparison gives is taken as it is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError, JMESPathTypeError
from jmespath.visitor import TreeInterpreter

from tui_eval.domain import JsonValue
from tui_eval.errors import EvaluatorError

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "absent"})()

_STEPS = frozenset({"subexpression", "index_expression", "pipe"})
_PROJECTIONS = frozenset({"projection", "value_projection", "filter_projection", "flatten", "slice"})


def look_up(expression: str, value: JsonValue) -> JsonValue:
    """What ``expression`` finds in ``value``, or :data:`ABSENT`.

    A function that is given a value of a type it does not take finds nothing. Raises :class:`EvaluatorError` when the
    expression itself cannot be evaluated (an unknown function, a wrong number of arguments).
    """
    try:
        return _walk(_parsed(expression), value)
    except JMESPathTypeError:
        return ABSENT
    except (JMESPathError, RecursionError) as error:
        raise EvaluatorError(f"`{expression}` cannot be evaluated: {_brief(error)}") from None


def check_path(expression: str) -> str | None:
    """What is wrong with ``expression`` as it is written; None when it is JMESPath."""
    try:
        _parsed(expression)
    except JMESPathError as error:
        return f"`{expression}` is not JMESPath: {_brief(error)} (a key with other characters is written in quotes)"
    return None


@lru_cache(maxsize=256)
def _parsed(expression: str) -> Any:
    return jmespath.compile(expression).parsed


def _walk(node: Any, value: JsonValue) -> JsonValue:
    kind = node["type"]
    children = node.get("children", [])
    if kind in _STEPS:
        for child in children:
            value = _walk(child, value)
            if value is ABSENT:
                return ABSENT
        return value
    if kind == "field":
        return value.get(node["value"], ABSENT) if isinstance(value, dict) else ABSENT
    if kind == "index":
        position = node["value"]
        there = isinstance(value, list) and -len(value) <= position < len(value)
        return value[position] if there else ABSENT
    if kind in ("or_expression", "and_expression"):
        left = _walk(children[0], value)
        empty = left is ABSENT or left is None or left is False or left in ("", [], {})
        return _walk(children[1], value) if empty == (kind == "or_expression") else left
    found = TreeInterpreter().visit(node, value)
    return ABSENT if found is None and kind in _PROJECTIONS else found


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
