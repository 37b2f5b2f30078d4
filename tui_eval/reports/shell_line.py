"""The request of an attempt as a line for a shell, made from what is stored: secrets are ``${NAME}`` there.

Everything is quoted for a POSIX shell. ``${NAME}`` is left to the shell only where the plan's own solution names it:
a text of a dataset that looks like a reference is never expanded.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlencode

from tui_eval.domain import JsonValue, as_text

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLACEHOLDERS = ("(new for each attempt)", "(made for each attempt)")
_OF_CURL = frozenset(("accept-encoding", "content-length"))
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def references(solution: JsonValue) -> frozenset[str]:
    """The names of all ``${NAME}`` in the solution of a stored plan."""
    return frozenset(_REFERENCE.findall(json.dumps(solution, ensure_ascii=False)))


def shell_line(sent: Mapping[str, Any], names: Collection[str]) -> str | None:
    """``sent`` (the stored request) as a ``curl`` command, or as the command that was run; None for other kinds."""
    if isinstance(sent.get("url"), str):
        return _curl(sent, names)
    if sent.get("argv") or sent.get("shell"):
        return _command(sent, names)
    return None


def _curl(sent: Mapping[str, Any], names: Collection[str]) -> str:
    lines = [f"curl --globoff --compressed --request {quoted(as_text(sent.get('method', 'GET')), names)}"]
    lines[0] += f" --url {quoted(sent['url'], names)}"
    headers = sent.get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        text = as_text(value)
        if name.lower() in _OF_CURL or any(placeholder in text for placeholder in _PLACEHOLDERS):
            continue
        lines.append(f"--header {quoted(f'{name}: {text}' if text else f'{name};', names)}")
    body = _body(sent)
    if body is not None:
        lines.append(f"--data-raw {quoted(body, names)}")
    return " \\\n  ".join(lines)


def _body(sent: Mapping[str, Any]) -> str | None:
    if "body" in sent:
        return json.dumps(sent["body"], ensure_ascii=False)
    if "form" in sent:
        form = sent["form"]
        pairs = {name: as_text(value) for name, value in form.items()} if isinstance(form, dict) else None
        return as_text(form) if pairs is None else urlencode(pairs)
    return as_text(sent["text"]) if "text" in sent else None


def _command(sent: Mapping[str, Any], names: Collection[str]) -> str:
    parts = []
    env = sent.get("env")
    for name, value in env.items() if isinstance(env, dict) else ():
        if not any(placeholder in as_text(value) for placeholder in _PLACEHOLDERS):
            parts.append(quoted(f"{name}={as_text(value)}", names))
    words = sent.get("argv")
    if isinstance(words, list):
        command = " ".join(quoted(as_text(word), names) for word in words)
    else:
        command = f"sh -c {quoted(as_text(sent['shell']), ())}"
    if parts:
        command = f"env {' '.join(parts)} {command}"
    if isinstance(sent.get("stdin"), str):
        command = f"printf %s {quoted(sent['stdin'], names)} | {command}"
    return f"cd {quoted(as_text(sent['cwd']), names)} && {command}" if sent.get("cwd") else command


def quoted(text: str, names: Collection[str]) -> str:
    """``text`` as one word for a shell; ``${NAME}`` of ``names`` stays open in double quotes."""
    parts: list[str] = []
    place = 0
    for found in _REFERENCE.finditer(text):
        if found[1] in names:
            parts += [_quoted_text(text[place : found.start()]), f'"{found[0]}"']
            place = found.end()
    parts.append(_quoted_text(text[place:]))
    return "".join(parts) or "''"


def _quoted_text(text: str) -> str:
    """In single quotes; with control characters as escapes of ``$'…'``, so that none is typed into a terminal."""
    if not text:
        return ""
    if not _CONTROL.search(text.replace("\n", "")):
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", escaped) + "'"
