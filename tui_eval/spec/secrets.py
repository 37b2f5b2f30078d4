"""Keeping known values out of everything that is written: history, logs, exports, messages.

The values are those of ``${NAME}`` references and of credentials typed into the plan. Each is found as it is, and
URL-encoded (any characters, any case, several times over), JSON- or HTML-escaped (several times over), in Python's
repr, base64 (standard and URL-safe, at any offset, so inside ``base64("user:VALUE")`` too) and hexadecimal. Where a text
was cut and says so (``…``), a piece of :data:`SHORTEST_PIECE` characters is enough.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import groupby
from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.spec.credentials import (
    HIDDEN,
    hidden_places,
    hide_credentials,
    hide_plan,
    is_secret_name,
    restore_hidden,
)

SHORTEST = 6
"""Characters of the shortest value that is searched for: a shorter one would blank ordinary text."""

SHORTEST_PIECE = 12
"""Characters of the shortest piece of a value that is looked for beside the ``…`` of a cut text. Fewer (``https://``,
``password``) may be an ordinary word."""
_CUT = "…"

# Letters and digits need no percent sign: text where they have one was encoded whole, as some do to get past a filter.
_NEEDLESSLY_ENCODED = re.compile(r"%(?:25)*(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])")

_HTML = {"&": "amp|#38", "<": "lt|#60", ">": "gt|#62", '"': "quot|#34|#x22", "'": "apos|#39|#x27"}
_SHORT_ESCAPES = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


class Secrets:
    """The values to keep out, and :meth:`redact` to do it. ``values`` by name of the variable (shown as ``${NAME}``),
    ``extra`` are typed credentials (shown as ``********``). ``too_short`` names the variables that are not searched
    for. Never shows a value of its own accord."""

    def __init__(self, values: Mapping[str, str] | None = None, extra: Iterable[str] = ()) -> None:
        values = values or {}
        self.too_short = tuple(sorted(name for name, value in values.items() if value and len(value) < SHORTEST))
        shown = {value: HIDDEN for value in extra if len(value) >= SHORTEST}
        shown.update((value, f"${{{name}}}") for name, value in values.items() if len(value) >= SHORTEST)
        # The longest first: one value may be part of another.
        ordered = sorted(shown, key=lambda value: (-len(value), value))
        self._cuttable = [(value, shown[value]) for value in ordered if len(value) > SHORTEST_PIECE]
        self._forms = [form for value in ordered for form in _forms(value, shown[value])]
        self._encoded = [_Encoded(value, shown[value]) for value in ordered]
        self._shortest = min((len(form.anchor) for form in self._forms), default=0)
        self._numbers = any(value.lstrip("-").replace(".", "", 1).isdecimal() for value in ordered)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self._forms)} forms>"

    def __bool__(self) -> bool:
        return bool(self._forms)

    def redact(self, text: str) -> str:
        """``text`` without the values; the same object when none is in it."""
        if len(text) < self._shortest:
            return text
        for form in self._forms_for(text):
            if form.anchor in text:
                text = form.pattern.sub(form.replacement, text)
        return self._without_cut_values(text) if self._cuttable and _CUT in text else text

    def find(self, text: str) -> list[tuple[int, int, str]]:
        """Where the values are, in order and apart: start, end, and what is shown in their place."""
        found = [
            (match.start(), match.end(), form.replacement(match))
            for form in self._forms_for(text)
            if form.anchor in text
            for match in form.pattern.finditer(text)
        ]
        apart: list[tuple[int, int, str]] = []
        for start, end, shown in sorted(found, key=lambda one: (one[0], -one[1])):
            if not apart or start >= apart[-1][1]:
                apart.append((start, end, shown))
            elif end > apart[-1][1]:
                apart[-1] = (apart[-1][0], end, apart[-1][2])
        return apart

    def _forms_for(self, text: str) -> Iterable[_Form]:
        """The forms to look for in ``text``: those that need a look at each character only where one gives cause."""
        if "%" in text and _NEEDLESSLY_ENCODED.search(text):
            return (*self._forms, *self._encoded)
        return self._forms

    def _without_cut_values(self, text: str) -> str:
        """``text`` without the first part of a value before a ``…`` and the last part of one behind it."""
        for value, shown in self._cuttable:
            if value[:SHORTEST_PIECE] not in text and value[-SHORTEST_PIECE:] not in text:
                continue
            parts = text.split(_CUT)
            for at, part in enumerate(parts):
                sizes = range(min(len(value), len(part)), SHORTEST_PIECE - 1, -1)
                if at < len(parts) - 1:
                    size = next((size for size in sizes if part.endswith(value[:size])), 0)
                    parts[at] = part = part[: len(part) - size] + (shown if size else "")
                if at:
                    size = next((size for size in sizes if part.startswith(value[-size:])), 0)
                    parts[at] = (shown if size else "") + part[size:]
            text = _CUT.join(parts)
        return text

    def redact_bytes(self, data: bytes) -> bytes:
        """Like :meth:`redact` for UTF-8 (and anything else; what is not UTF-8 stays as it is)."""
        text = data.decode("utf-8", "surrogateescape")
        redacted = self.redact(text)
        return data if redacted is text else redacted.encode("utf-8", "surrogateescape")

    def redact_value(self, value: JsonValue) -> JsonValue:
        """JSON data without the values, in keys too; the same object when none is in it."""
        if not self._forms or not self._is_in(value):
            return value
        holder: list[Any] = [None]
        pending: list[tuple[Any, Any, Any]] = [(holder, 0, value)]
        while pending:  # not recursive: what an agent sends may be nested deeply
            target, key, item = pending.pop()
            if isinstance(item, dict):
                copy: dict[Any, Any] = {}
                target[key] = copy
                for name, child in item.items():
                    redacted = self.redact(name) if isinstance(name, str) else name
                    copy[redacted] = None
                    pending.append((copy, redacted, child))
            elif isinstance(item, list | tuple):
                target[key] = items = [None] * len(item)
                pending.extend((items, index, child) for index, child in enumerate(item))
            else:
                target[key] = self._scalar(item)
        return holder[0]

    def _scalar(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact(value)
        if self._numbers and isinstance(value, int | float) and not isinstance(value, bool):
            text = json.dumps(value)
            redacted = self.redact(text)
            return value if redacted is text else redacted
        return value

    def _is_in(self, value: JsonValue) -> bool:
        pending = [value]
        while pending:
            item = pending.pop()
            if isinstance(item, dict):
                pending.extend(item.keys())
                pending.extend(item.values())
            elif isinstance(item, list | tuple):
                pending.extend(item)
            elif self._scalar(item) is not item:
                return True
        return False


class _Form:
    """One way a value may be written. ``anchor`` is a piece of it that is never written differently, so that a text
    without it needs no further look."""

    def __init__(self, text: str, shown: str, before: str = "", after: str = "") -> None:
        self.anchor = _anchor(text)
        self._source = (text, before, after)
        self._shown = shown

    def replacement(self, match: re.Match[str]) -> str:
        return self._shown

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        text, before, after = self._source
        return re.compile(before + "".join(map(_written, text)) + after)


class _Encoded(_Form):
    """A value of which letters and digits too are percent-encoded, all of them or some."""

    def __init__(self, text: str, shown: str) -> None:
        super().__init__(text, shown)
        self.anchor = "%"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        text, *_ = self._source
        return re.compile("".join(map(_perhaps_encoded, text)))


def _forms(value: str, shown: str) -> Iterable[_Form]:
    yield _Form(value, shown)
    raw = value.encode("utf-8", "surrogatepass")
    yield _Form(raw.hex(), shown)
    yield _Form(raw.hex().upper(), shown)
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + raw).decode().rstrip("=")
        first = (offset * 8 + 5) // 6
        last = (offset + len(raw)) * 8 // 6
        core = encoded[first:last]
        # The characters at both ends also hold bits of the neighbours; they go too, where there are any.
        before = "[A-Za-z0-9+/_-]?" if offset else ""
        after = "(?:[A-Za-z0-9+/_-]?(?:=|%(?:25)*3[dD]){0,2})" if (offset + len(raw)) * 8 % 6 else ""
        yield _Form(core, shown, before, after)
        if "+" in core or "/" in core:
            yield _Form(core.replace("+", "-").replace("/", "_"), shown, before, after)


def _anchor(text: str) -> str:
    """The longest run of characters that no encoding here changes."""
    runs = ["".join(group) for same, group in groupby(text, lambda one: one.isascii() and one.isalnum()) if same]
    return max(runs, key=len, default="")


def _written(character: str) -> str:
    """A pattern for every way one character of a value may be written."""
    if character.isascii() and character.isalnum():
        return character
    raw = character.encode("utf-8", "surrogatepass")
    ways = [re.escape(character), "".join(f"%(?:25)*{_hex(f'{byte:02x}')}" for byte in raw)]
    units = character.encode("utf-16-be", "surrogatepass").hex()
    ways.append("".join(rf"\\+u{_hex(units[at : at + 4])}" for at in range(0, len(units), 4)))
    ways.append("".join(rf"\\+x{_hex(f'{byte:02x}')}" for byte in raw))
    if character in "\"'\\/":
        ways.append(r"\\+" + re.escape(character))
    if character in _SHORT_ESCAPES:
        ways.append(r"\\+" + _SHORT_ESCAPES[character])
    if character == " ":
        ways.append(r"\+")
    if character in _HTML:
        ways.append(f"&(?:amp;)*(?:{_HTML[character]});")
    return f"(?:{'|'.join(ways)})"


def _perhaps_encoded(character: str) -> str:
    if character.isascii() and character.isalnum():
        return f"(?:{character}|%(?:25)*{_hex(f'{ord(character):02x}')})"
    return _written(character)


def _hex(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)


__all__ = [
    "HIDDEN",
    "SHORTEST",
    "Secrets",
    "hidden_places",
    "hide_credentials",
    "hide_plan",
    "is_secret_name",
    "restore_hidden",
]
