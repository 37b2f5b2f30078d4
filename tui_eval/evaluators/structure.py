"""``json``: the output is JSON, fits a schema, and has the expected values."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from functools import lru_cache
from typing import Any

from tui_eval.domain import JsonValue, Score, canonical_json
from tui_eval.errors import EvaluatorError, WorkerError
from tui_eval.evaluators.base import EvaluatorSetup, Subject
from tui_eval.evaluators.differences import first_difference, shown
from tui_eval.evaluators.expected import VARIABLE, expected_value, score_name
from tui_eval.evaluators.paths import ABSENT, check_path, look_up
from tui_eval.spec.evaluator_options import NOT_GIVEN, JsonOptions

SLOW_KEYWORDS = ("pattern", "patternProperties", "uniqueItems")
"""Keywords whose check may take very long on a hostile output; with one of them it runs in a killable worker."""

_FENCE_OPEN = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")


class NotJson(ValueError):
    """A text is not JSON as RFC 8259 defines it (or repeats a key, which the RFC leaves open)."""


class Json:
    """The output is JSON of the wanted shape."""

    def __init__(self, options: JsonOptions, setup: EvaluatorSetup) -> None:
        self._options = options
        self._name = score_name(options)
        self._setup = setup
        self._schema = None if options.json_schema is None else canonical_json(options.json_schema)
        self._slow = _mentions_slow_keyword(options.json_schema)

    async def evaluate(self, subject: Subject) -> Score:
        try:
            value = self._value(subject.variables["output"])
        except NotJson as error:
            return Score(self._name, 0.0, False, f"the output is not JSON: {error}")
        reason = await self._against_schema(value) or self._against_values(value) or self._whole(value, subject)
        if reason is None:
            return Score(self._name, 1.0, True, "JSON as expected")
        return Score(self._name, 0.0, False, reason)

    def _value(self, output: JsonValue) -> JsonValue:
        if not isinstance(output, str):
            return output
        try:
            return parse_json(output)
        except NotJson:
            if not self._options.code_fence:
                raise
        return parse_json(fenced_text(output))

    async def _against_schema(self, value: JsonValue) -> str | None:
        if self._schema is None:
            return None
        workers = self._setup.workers if self._slow else None
        if workers is None:
            return schema_fault(self._schema, value)
        argument = {"schema": self._schema, "value": value}
        timeout = self._setup.timeout_seconds
        try:
            reply = await workers.call(f"{__name__}:schema_fault_in_worker", argument, timeout=timeout)
        except WorkerError as error:
            raise EvaluatorError(f"the schema could not be checked: {error}") from error
        if reply["error"]:
            raise EvaluatorError(reply["error"])
        return None if reply["fault"] is None else str(reply["fault"])

    def _against_values(self, value: JsonValue) -> str | None:
        for path, expected in self._options.equals.items():
            found = look_up(path, value)
            if found is ABSENT:
                return f"{path}: missing, expected {shown(expected)}"
            difference = first_difference(found, expected)
            if difference is not None:
                return f"{path}: {difference}"
        return None

    def _whole(self, value: JsonValue, subject: Subject) -> str | None:
        options = self._options
        if options.expected is NOT_GIVEN and VARIABLE not in options.variable_mapping:
            return None
        expected = expected_value(options.expected, subject)
        difference = first_difference(value, expected)
        if difference is not None and isinstance(expected, str) and not isinstance(value, str):
            difference += " (the expected value is a text; a CSV column that holds JSON belongs in json_columns)"
        return difference


def check_json_options(options: JsonOptions) -> list[str]:
    """What is wrong with the schema and the paths, to be told before a run. Empty when nothing is."""
    faults = [f"equals: {fault}" for path in options.equals if (fault := check_path(path))]
    if options.json_schema is not None:
        try:
            _validator(canonical_json(options.json_schema))
        except EvaluatorError as error:
            faults.append(str(error))
    return faults


def parse_json(text: str) -> JsonValue:
    """The value of a JSON text. Refuses NaN, Infinity, numbers out of range and repeated keys with :class:`NotJson`.

    Raises :class:`EvaluatorError` when it is nested too deeply to be read.
    """
    try:
        if text.startswith("\ufeff"):
            raise json.JSONDecodeError("Unexpected byte order mark", text, 0)
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise NotJson(f"{error.msg} ({place}), in {shown(text)}" if text.strip() else "the text is empty") from None
    except RecursionError:
        raise EvaluatorError("the output is nested too deeply to be read as JSON") from None


def fenced_text(text: str) -> str:
    """What stands in the only Markdown code fence of ``text`` (CommonMark 0.31, section 4.5: lines of three or more
    backticks or tildes). Raises :class:`NotJson` when there is none, more than one, or it is not closed."""
    blocks: list[list[str]] = []
    fence = ""
    for line in text.split("\n"):
        if fence:
            mark = line.strip()
            if mark and set(mark) == {fence[0]} and len(mark) >= len(fence):
                fence = ""
            else:
                blocks[-1].append(line)
        elif found := _FENCE_OPEN.match(line.rstrip("\r")):
            fence = found[1]
            blocks.append([])
    if fence:
        raise NotJson("the code fence is not closed")
    if len(blocks) != 1:
        raise NotJson(f"it has {len(blocks)} code fences, expected one" if blocks else "it has no code fence either")
    return "\n".join(blocks[0])


def schema_fault(schema: str, value: JsonValue) -> str | None:
    """Where ``value`` does not fit ``schema`` (a JSON text), the first place only; None when it fits."""
    try:
        error = next(_validator(schema).iter_errors(value), None)
    except _unresolvable() as problem:  # asked for only when something was raised
        raise EvaluatorError(f"schema: {problem} cannot be resolved (schemas are never fetched)") from None
    except (ArithmeticError, RecursionError, re.error) as problem:
        raise EvaluatorError(f"the schema could not be checked: {type(problem).__name__}: {problem}") from None
    if error is None:
        return None
    path = "$" + "".join(f"[{shown(step, 40)}]" for step in error.absolute_path)
    return f"{path}: {shown(error.instance)} does not fit {_rule(error)}"


def _rule(error: Any) -> str:
    """The keyword that a value breaks, with what it says; a schema that is ``false`` has none and takes no value."""
    return "false" if error.validator is None else f"{error.validator}: {shown(error.validator_value)}"


def schema_fault_in_worker(argument: dict[str, Any]) -> dict[str, Any]:
    """:func:`schema_fault` for the worker process."""
    try:
        return {"fault": schema_fault(argument["schema"], argument["value"]), "error": ""}
    except EvaluatorError as error:
        return {"fault": None, "error": str(error)}


def _unresolvable() -> type[Exception]:
    from referencing.exceptions import Unresolvable

    return Unresolvable


@lru_cache(maxsize=32)
def _validator(schema_text: str) -> Any:
    """A validator that never fetches anything. The draft is 2020-12 unless ``$schema`` names another known one."""
    import jsonschema
    from jsonschema.validators import validator_for
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    schema = json.loads(schema_text)
    dialect = schema.get("$schema") if isinstance(schema, dict) else None
    unknown: Any = None
    kind: Any = validator_for(schema, default=unknown if dialect else jsonschema.Draft202012Validator)
    if kind is None:
        raise EvaluatorError(f"schema: `$schema` {shown(dialect)} is not a known draft")
    try:
        kind.check_schema(schema, format_checker=kind.FORMAT_CHECKER)
    except jsonschema.SchemaError as error:
        path = "".join(f".{step}" for step in error.absolute_path)
        raise EvaluatorError(
            f"schema{path}: {shown(error.instance)} does not fit {error.validator}: {shown(error.validator_value)}"
        ) from None
    except RecursionError:
        raise EvaluatorError("schema: nested too deeply") from None
    return kind(schema, registry=REGISTRY)


def _mentions_slow_keyword(schema: Any) -> bool:
    stack = [schema]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            if any(keyword in part for keyword in SLOW_KEYWORDS):
                return True
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
    return False


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise NotJson(f"the key {shown(twice)} is there twice")
    return values


def _no_constant(name: str) -> JsonValue:
    raise NotJson(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJson(f"the number {shown(text)} is out of range")
    return number


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise NotJson(f"the number {shown(text)} has too many digits ({len(text)})") from None


# Made once: making a decoder takes longer than reading a usual output.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_integer
)
