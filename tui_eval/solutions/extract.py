"""JMESPath expressions over answers, with the difference that JMESPath itself does not make: null or not there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter

from tui_eval.domain import JsonValue
from tui_eval.errors import Fault, SpecError
from tui_eval.solutions.wording import keys_of, plural, type_name


@dataclass(frozen=True, slots=True)
class Missing:
    """There is nothing at a path. ``reason``: ``response has no `text`; its keys are: other``."""

    reason: str


class Extractor:
    """One compiled expression. ``option`` is the name of the option it came from."""

    def __init__(self, expression: str, option: str) -> None:
        """Raises SpecError for an expression that is not JMESPath."""
        self.expression = expression.strip()
        try:
            self._compiled = jmespath.compile(self.expression)
        except JMESPathError as error:
            message = f"`{self.expression}` is not a JMESPath expression: {' '.join(str(error).split())}"
            raise SpecError([Fault(message, path=f"solution.{option}")]) from error
        self._tree = cast(dict[str, Any], self._compiled.parsed)
        self._steps = _is_path(self._tree)

    def find(self, document: JsonValue, subject: str = "response") -> JsonValue | Missing:
        """The value at the expression; None only for a null that is really there.

        Where a plain path (keys and indexes) leads nowhere the reason names the step and what is there instead. Any
        other expression (functions, filters) that gives null is taken for matching nothing. ``subject`` is the word
        for ``document`` in the reason.
        """
        try:
            value = self._compiled.search(document)
        except JMESPathError as error:
            return Missing(f"`{self.expression}` cannot be applied: {' '.join(str(error).split())}")
        if value is not None:
            return value
        if self._steps:
            return _walk(self._tree, document, "", subject)[0]
        shape = f"; {keys_of(document)}" if isinstance(document, dict) else f", which is {type_name(document)}"
        return Missing(f"`{self.expression}` matched nothing in the {subject}{shape}")

    def value(self, document: JsonValue) -> JsonValue:
        """As :meth:`find`, with None for missing as well."""
        found = self.find(document)
        return None if isinstance(found, Missing) else found


def extractor(expression: str | None, option: str) -> Extractor | None:
    """The extractor of an option; None when it is not given or empty."""
    return Extractor(expression, option) if expression is not None and expression.strip() else None


def is_true(value: JsonValue) -> bool:
    """Truth as users of ``error_when`` mean it: null, false, 0, and empty texts, lists and objects are not true."""
    return bool(value)


_PATH_NODES = frozenset({"field", "index", "subexpression", "index_expression", "pipe", "identity", "current"})


def _is_path(node: dict[str, Any]) -> bool:
    if node["type"] == "or_expression":
        return all(_is_path(child) for child in node["children"])
    return node["type"] in _PATH_NODES and all(_is_path(child) for child in node.get("children", []))


def _walk(node: dict[str, Any], value: JsonValue, where: str, subject: str) -> tuple[JsonValue | Missing, str]:
    """The value of a path and the text of the way to it."""
    kind = node["type"]
    if kind == "field":
        return _field(node["value"], value, where, subject)
    if kind == "index":
        return _index(node["value"], value, where, subject)
    if kind == "or_expression":
        first = TreeInterpreter().visit(node["children"][0], value)
        return (first, where) if first else _walk(node["children"][1], value, where, subject)
    for child in node.get("children", []):
        value, where = _walk(child, value, where, subject)
        if isinstance(value, Missing):
            break
    return value, where


def _field(name: str, value: JsonValue, where: str, subject: str) -> tuple[JsonValue | Missing, str]:
    place = f"`{where}`" if where else subject
    if not isinstance(value, dict):
        return Missing(f"{place} is {type_name(value)} and has no `{name}`"), where
    if name not in value:
        return Missing(f"{place} has no `{name}`; {keys_of(value)}"), where
    return value[name], f"{where}.{name}" if where else name


def _index(index: int, value: JsonValue, where: str, subject: str) -> tuple[JsonValue | Missing, str]:
    place = f"`{where}`" if where else subject
    if not isinstance(value, list):
        return Missing(f"{place} is {type_name(value)} and has no item {index}"), where
    if not -len(value) <= index < len(value):
        return Missing(f"{place} has no item {index}: it has {plural(len(value), 'item')}"), where
    return value[index], f"{where}[{index}]"
