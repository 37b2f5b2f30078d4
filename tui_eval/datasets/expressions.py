"""JMESPath over cases and documents, with its errors turned into faults."""

from __future__ import annotations

from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult

from tui_eval.datasets.rows import excerpt, refusal
from tui_eval.domain import JsonValue

# What the interpreter lets through beside its own errors when an expression meets data it was not made for.
_FAILURES = (JMESPathError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)


def compiled(expression: str, path: str) -> ParsedResult:
    """Raises DatasetError, with the position, for an expression that is not JMESPath."""
    try:
        return jmespath.compile(expression)
    except _FAILURES as error:
        text = " ".join(str(error).split())
        hint = "see jmespath.org for the syntax; literals are written `like this` in backquotes"
        raise refusal(f"`{excerpt(expression)}` is not a JMESPath: {text}", "", path=path, hint=hint) from error


def search(expression: ParsedResult, data: JsonValue, path: str, name: str, line: int = 0) -> Any:
    """What the expression finds. Raises DatasetError when it cannot be applied (a function given a wrong type)."""
    try:
        return expression.search(data)
    except _FAILURES as error:
        text = " ".join(str(error).split())
        message = f"`{excerpt(expression.expression)}` cannot be applied: {text[:300]}"
        hint = "guard it, for example `field && function(field)`"
        raise refusal(message, name, line=line, path=path, hint=hint) from error


def truthy(value: JsonValue) -> bool:
    """JMESPath's own rule: false, null and empty texts, lists and objects are false; everything else, 0 too, is true."""
    return value is not None and value is not False and not (isinstance(value, str | list | dict) and not value)
