"""JSON laid out for reading, with nothing but white space changed: numbers, escapes and double keys stay as they came."""

from __future__ import annotations

import json
import re

from tui_eval.domain import JsonValue

MOST_CHARACTERS = 20_000_000
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_INDENT = "  "


def value_text(value: JsonValue, raw: bool) -> str:
    """A value as text: a text is itself (laid out when it is JSON and not ``raw``), anything else its JSON."""
    if isinstance(value, str):
        return value if raw else laid_out(value)
    return json.dumps(value, ensure_ascii=False, indent=None if raw else 2)


def laid_out(text: str) -> str:
    """A text that is a JSON object or list with a line for each member; any other text as it is."""
    if text.lstrip()[:1] not in ("{", "[") or len(text) > MOST_CHARACTERS or not _is_json(text):
        return text
    parts: list[str] = []
    depth = 0
    before = ""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in "}]":
            depth -= 1
            if before not in "{[":
                parts.append("\n" + _INDENT * depth)
        elif before and before in "{[":
            parts.append("\n" + _INDENT * depth)
        if before == ",":
            parts.append("\n" + _INDENT * depth)
        parts.append(token + " " if token == ":" else token)
        if token in "{[":
            depth += 1
        before = token
    return "".join(parts)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
