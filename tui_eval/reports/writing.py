"""Text that is safe in a file and on the terminal it may be printed to, with nothing lost that can be kept."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import Any

from tui_eval.domain import JsonValue

TOO_DEEP = "(nested too deeply to be exported)"

# Control characters of both sets but tab and line feed, half surrogate pairs and the two characters XML forbids.
_CONTROL = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_ON_ONE_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
# In JSON every escape is lossless: also what some readers take for the end of a line, or that turns text around.
_ESCAPED_IN_JSON = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LONGEST_INTEGER_BITS = 13_000  # Python writes about 4,300 digits


def json_text(value: JsonValue) -> str:
    """``value`` as JSON on one line (RFC 8259). NaN and infinities, which JSON does not have, become null."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        text = json.dumps(_writable(value, 0), ensure_ascii=False, allow_nan=False)
    return _ESCAPED_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def visible(text: str, *, one_line: bool = False) -> str:
    """``text`` with control characters as visible escapes (``\\x1b``). Tabs and line breaks stay, unless it has to be
    on one line: then they, and characters that turn the direction of text, are escaped too."""
    return (_ON_ONE_LINE if one_line else _CONTROL).sub(_escape, text)


def output_text(value: JsonValue) -> str:
    """The text form of an output: a text is itself, anything else its JSON (see :func:`json_text`)."""
    return value if isinstance(value, str) else json_text(value)


def finite(number: float | None) -> float | None:
    """The number when it is one that every format can hold."""
    return number if number is not None and math.isfinite(number) else None


def iso(seconds: float | None) -> str | None:
    """Seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _SHORT.get(match[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _writable(value: Any, depth: int) -> JsonValue:
    if depth > 200:
        return TOO_DEEP
    if isinstance(value, dict):
        return {str(key): _writable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(item, depth + 1) for item in value]
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER_BITS:
        return hex(value)
    return value if value is None or isinstance(value, str | bool | int) else str(value)
