"""JSON read strictly (RFC 8259): what Python's reader lets pass and would do harm later is refused, with its place.

Refused: a key twice in one object (Python keeps the last), NaN and Infinity, numbers beyond what a float or Python
can hold, halves of surrogate pairs (no UTF-8 can store them), nesting beyond :data:`~tui_eval.datasets.limits.MAX_DEPTH`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, cast

from tui_eval.datasets.limits import MAX_DEPTH
from tui_eval.datasets.rows import excerpt
from tui_eval.domain import JsonValue

WHITESPACE = " \t\n\r"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)
_NUMBER = re.compile(r"-?\d[\d.eE+-]*")
_CONSTANTS = ("NaN", "Infinity", "-Infinity")
_SURROGATE_MESSAGE = "half of a surrogate pair (`\\ud800` to `\\udfff` alone) is not a character"


class NotJson(ValueError):
    """A text that is not JSON at all, from ``position`` on (a count of characters)."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


class Refused(NotJson):
    """A value whose end was found (``end``) but that must not be used."""

    def __init__(self, message: str, position: int, end: int) -> None:
        super().__init__(message, position)
        self.end = end


class StrictDecoder:
    """Decodes one value after another out of a text."""

    def __init__(self) -> None:
        self._suspect = False
        self._scan = self._scanner(parse_int=None)
        self._scan_long = self._scanner(parse_int=self._long_number)

    def _scanner(self, parse_int: Callable[[str], int] | None) -> Callable[[str, int], tuple[JsonValue, int]]:
        decoder: Any = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_float=self._float,
            parse_constant=self._constant,
            parse_int=parse_int,
        )
        return cast(Callable[[str, int], tuple[JsonValue, int]], decoder.scan_once)

    def decode(self, text: str) -> JsonValue:
        """The value of a text that holds one value and nothing else but white space. Raises NotJson."""
        start = len(text) - len(text.lstrip(WHITESPACE))
        value, end = self.decode_at(text, start)
        if end != len(text) and (rest := text[end:].lstrip(WHITESPACE)):
            raise NotJson("something follows after the end of the value", len(text) - len(rest))
        return value

    def decode_at(self, text: str, start: int) -> tuple[JsonValue, int]:
        """The value that begins exactly at ``start`` and where it ends. Raises NotJson, or Refused behind its end."""
        self._suspect = False
        try:
            value, end = self._scan(text, start)
        except StopIteration as stop:
            raise NotJson("expected a value", stop.value) from None
        except json.JSONDecodeError as error:
            message = error.msg.removesuffix(" starting at")
            raise NotJson(message[:1].lower() + message[1:], error.pos) from None
        except RecursionError:
            raise NotJson(f"nested more than {MAX_DEPTH} deep", start) from None
        except ValueError:
            # Python reads at most about 4,300 digits; read on to find where the value ends.
            value, end = self._scan_long(text, start)
            self._suspect = True
        if self._suspect:
            raise Refused(*_reason(text, start, end), end)
        if text.count("[", start, end) + text.count("{", start, end) > MAX_DEPTH and depth(value) > MAX_DEPTH:
            raise Refused(f"nested more than {MAX_DEPTH} deep", start, end)
        if (found := _SURROGATE.search(text, start, end)) and not storable(value):
            raise Refused(_SURROGATE_MESSAGE, found.start(), end)
        return value, end

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) != len(pairs):
            self._suspect = True
        return built

    def _float(self, text: str) -> float:
        value = float(text)
        if value - value != 0.0:  # infinite
            self._suspect = True
        return value

    def _constant(self, text: str) -> None:
        self._suspect = True

    def _long_number(self, text: str) -> int:
        return int(text) if len(text) < 4000 else 0


def depth(value: JsonValue) -> int:
    """How many lists and objects are inside each other, without recursion."""
    level, inside = 0, [value]
    while inside := [item for item in inside if isinstance(item, list | dict)]:
        level += 1
        inside = [child for item in inside for child in (item.values() if isinstance(item, dict) else item)]
    return level


def storable(value: JsonValue) -> bool:
    """Whether every text in a JSON value can be stored as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def value_problem(value: Any) -> str:
    """Why a Python value from another source (YAML, a plan, Parquet) is not a JSON value; empty when it is one."""
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        item, level = waiting.pop()
        if level > MAX_DEPTH:
            return f"nested more than {MAX_DEPTH} deep"
        if isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    return f"the key `{excerpt(str(key))}` is not a text"
            waiting.extend((part, level + 1) for part in item)
            waiting.extend((part, level + 1) for part in item.values())
        elif isinstance(item, list):
            waiting.extend((part, level + 1) for part in item)
        elif isinstance(item, str):
            if not item.isascii() and any("\ud800" <= character <= "\udfff" for character in item):
                return _SURROGATE_MESSAGE
        elif isinstance(item, float):
            if not math.isfinite(item):
                return f"{item} is not a JSON number"
        elif item is not None and not isinstance(item, bool | int):
            return f"a value of type {type(item).__name__} is not JSON"
    return ""


def _reason(text: str, start: int, end: int) -> tuple[str, int]:
    """What is wrong with a value that parsed but is suspect, and where. Slow; only runs for a fault."""
    open_objects: list[set[str] | None] = []
    previous = ""
    for token in _TOKEN.finditer(text, start, end):
        piece = token.group()
        if piece in "{[":
            open_objects.append(set() if piece == "{" else None)
        elif piece in "}]":
            open_objects.pop()
        elif piece[0] == '"':
            keys = open_objects[-1] if open_objects else None
            if keys is not None and previous in ("{", ","):
                key = json.loads(piece, strict=False)
                if key in keys:
                    return f"key `{excerpt(key)}` twice in one object", token.start()
                keys.add(key)
        elif piece in _CONSTANTS:
            return f"`{piece}` is not a JSON number", token.start()
        elif _NUMBER.fullmatch(piece) and not _fits(piece):
            return f"the number `{excerpt(piece, 20)}` is too large; write it as text", token.start()
        previous = piece
    return "a value that cannot be used", start


def _fits(number: str) -> bool:
    try:
        return math.isfinite(float(number)) if any(mark in number for mark in ".eE") else len(str(int(number))) > 0
    except ValueError:
        return False
