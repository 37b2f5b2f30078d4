"""How error messages quote what came from outside: short, on one line, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tui_eval.domain import JsonValue, as_text
from tui_eval.solutions.strict_json import mend

QUOTED = 200
"""Most characters of a body or message that an error quotes."""


def snippet(text: str, length: int = QUOTED) -> str:
    """The first ``length`` characters, runs of white space as one space, with … when something was cut."""
    head = mend(" ".join(text[: length * 4].split()))
    return head[:length] + "…" if len(head) > length or len(text) > length * 4 else head


def keys_of(document: Mapping[str, JsonValue]) -> str:
    """``its keys are: a, b`` (at most 20 of them)."""
    names = [snippet(str(name), 60) for name in list(document)[:20]]
    if not names:
        return "it has no keys at all"
    more = f" and {len(document) - len(names)} more" if len(document) > len(names) else ""
    return f"its keys are: {', '.join(names)}{more}"


def type_name(value: JsonValue) -> str:
    """What a reader calls a JSON value's type."""
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "a truth value",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names.get(type(value), "a value")


def agent_message(document: JsonValue) -> str | None:
    """What a JSON body says went wrong under ``error``, None when it has no such key or it is null, false or empty."""
    error = document.get("error") if isinstance(document, Mapping) else None
    if not error:
        return None
    if isinstance(error, Mapping):
        for name in ("message", "detail", "msg", "type", "code"):
            if error.get(name):
                return snippet(as_text(error[name]))
    return snippet(as_text(error))


def status_message(document: JsonValue) -> str | None:
    """As :func:`agent_message`, and the other places where servers put the reason of a bad status."""
    found = agent_message(document)
    if found is None and isinstance(document, Mapping):
        for name in ("message", "detail", "title", "errors"):
            if document.get(name):
                return snippet(as_text(document[name]))
    return found


def seconds(value: float) -> str:
    """A time for people: what is left of a limit has no more than milliseconds."""
    return f"{round(value, 3) or value:g} s"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def joined(parts: Iterable[str]) -> str:
    """Message parts that are there, with ``; `` between."""
    return "; ".join(part for part in parts if part)
