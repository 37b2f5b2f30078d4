"""When two JSON values are the same, and how to say briefly where they are not.

The rules, at every depth: numbers by exact value (1 is 1.0), true and false are no numbers, a text is never a number,
null is only null, lists item by item in order, objects by key whatever their order, texts character by character
(no Unicode normalisation, no trimming). NaN equals nothing.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

from tui_eval.domain import JsonValue, as_text
from tui_eval.errors import EvaluatorError

SIDE_LENGTH = 80
"""Most characters of either value in a reason."""

EXPLAINED_LENGTH = 100_000
"""Texts longer than this are compared in full, but not searched for a likely cause of the difference."""

_ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "absent"})()
_SIMPLE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Path = tuple[Any, ...]
Pair = tuple[Path, JsonValue, JsonValue]


def first_difference(
    found: JsonValue, expected: JsonValue, normal: Callable[[str], str] = lambda text: text
) -> str | None:
    """Where ``found`` first differs from ``expected``, as a reason of one line; None when they are the same.

    ``normal`` is applied to every text on both sides (not to keys). Depth is not limited by Python's recursion.
    """
    stack: list[Iterator[Pair]] = [iter([((), found, expected)])]
    while stack:
        pair = next(stack[-1], None)
        if pair is None:
            stack.pop()
            continue
        path, left, right = pair
        if (isinstance(left, dict) and isinstance(right, dict)) or (isinstance(left, list) and isinstance(right, list)):
            stack.append(_children(path, left, right))
        elif isinstance(left, str) and isinstance(right, str):
            left, right = normal(left), normal(right)
            if left != right:
                return _where(path) + text_difference(left, right)
        elif not _same_scalar(left, right):
            return _where(path) + _sides(left, right)
    return None


def text_difference(found: str, expected: str) -> str:
    """How two unequal texts differ: both around the first difference, its position, and the likely cause."""
    at = _first_unequal(found, expected)
    start = max(0, at - SIDE_LENGTH // 4)
    cause = _cause(found, expected)
    # Two normalisation forms look the same when drawn: their code points do not.
    ascii_only = "normalisation" in cause
    sides = f"{_excerpt(found, start, ascii_only)}, expected {_excerpt(expected, start, ascii_only)}"
    return f"{sides} (first difference at character {at + 1}{cause})"


def shown(value: JsonValue, length: int = SIDE_LENGTH) -> str:
    """The JSON of a value on one line, at most ``length`` characters, with control and invisible characters escaped."""
    if isinstance(value, str):
        return _excerpt(value, 0, False, length)
    try:
        # The plain encoder is lazy: a huge value costs no more than the part that is shown.
        text = ""
        for piece in json.JSONEncoder(ensure_ascii=False).iterencode(value):
            text += piece
            if len(text) > length:
                break
    except (TypeError, ValueError, RecursionError):
        text = f"({type(value).__name__})"
    return _cut(_visible(text), length)


def text_form(value: JsonValue) -> str:
    """The text form of a value. Raises :class:`EvaluatorError` when it is nested too deeply to be written."""
    try:
        return as_text(value)
    except RecursionError:
        raise EvaluatorError("the output is nested too deeply to be written as text") from None


def _children(path: Path, left: Any, right: Any) -> Iterator[Pair]:
    if isinstance(left, dict):
        for key, value in right.items():
            yield (*path, key), left.get(key, _ABSENT), value
        for key, value in left.items():
            if key not in right:
                yield (*path, key), value, _ABSENT
        return
    for position, (one, other) in enumerate(zip(left, right, strict=False)):
        yield (*path, position), one, other
    common = min(len(left), len(right))
    if len(left) > common:
        yield (*path, common), left[common], _ABSENT
    elif len(right) > common:
        yield (*path, common), _ABSENT, right[common]


def _same_scalar(left: JsonValue, right: JsonValue) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    return type(left) is type(right) and bool(left == right)


def _sides(left: JsonValue, right: JsonValue) -> str:
    if left is _ABSENT:
        return f"missing, expected {shown(right)}"
    if right is _ABSENT:
        return f"not expected, is {shown(left)}"
    note = ""
    if type(left) is not type(right) and shown(left).strip('"') == shown(right).strip('"'):
        note = f" (a {_kind(left)}, not a {_kind(right)})"
    return f"{shown(left)}, expected {shown(right)}{note}"


def _kind(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: "text", int: "number", float: "number", list: "list", dict: "object", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def _where(path: Path) -> str:
    if not path:
        return ""
    # The beginning and the end of a very deep path say enough.
    steps = [*path[:6], "…", *path[-3:]] if len(path) > 10 else list(path)
    text = "$"
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _SIMPLE_KEY.fullmatch(step):
            text += f".{step[:SIDE_LENGTH]}"
        else:
            text += f"[{shown(step, 40)}]" if step != "…" else "…"
    return f"{text}: "


def _first_unequal(one: str, other: str) -> int:
    """Position of the first different character (the shorter length when one begins with the other)."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _cause(found: str, expected: str) -> str:
    if max(len(found), len(expected)) > EXPLAINED_LENGTH:
        return ""
    if found.strip() == expected.strip():
        return "; they differ only in white space at the ends"
    if found.split() == expected.split():
        return "; they differ only in white space"
    if found.casefold() == expected.casefold():
        return "; they differ only in upper and lower case"
    for form, name in (("NFC", "Unicode normalisation form"), ("NFKC", "Unicode compatibility normalisation")):
        if unicodedata.normalize(form, found) == unicodedata.normalize(form, expected):  # type: ignore[arg-type]
            return f"; they differ only in {name}"
    return ""


def _excerpt(text: str, start: int, ascii_only: bool, length: int = SIDE_LENGTH) -> str:
    piece = text[start : start + length]
    body = _visible(json.dumps(piece, ensure_ascii=ascii_only))
    left = "…" if start else ""
    right = "…" if start + length < len(text) else ""
    room = length - len(left) - len(right)
    if len(body) > room:
        body, right = body[: room - 2] + '"', "…"
    return f"{left}{body}{right}"


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escaped(ord(character)) for character in text)


def _escaped(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
