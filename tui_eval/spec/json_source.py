"""JSON text (RFC 8259) -> a tree that knows where each part was typed. Duplicate names and NaN are refused."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tui_eval.errors import Fault
from tui_eval.spec.lines import Lines
from tui_eval.spec.nodes import DEPTH, Node, Path, Place

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[^\s,:\[\]{}\"]{1,40}")
_CONSTANTS = {"null": None, "true": True, "false": False}
_LONGEST_NUMBER = 1000


_SCAN_STRING: Any = json.JSONDecoder().parse_string  # type: ignore[attr-defined]


class _Stop(Exception):
    """The text is not JSON from here on; what was found is in the reader's faults."""


def compose(text: str, file: str) -> tuple[Node | None, list[Fault]]:
    """The tree and the faults; the tree is None when the text is not JSON."""
    reader = _Reader(text, file)
    try:
        root = reader.value((), 0)
        reader.skip_space()
        if reader.at < len(text):
            reader.stop("text after the end of the JSON value", hint="one file holds one plan")
    except _Stop:
        return None, reader.faults
    return root, reader.faults


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.lines = Lines(text, file)
        self.faults: list[Fault] = []
        self.at = 0

    def stop(self, message: str, at: int | None = None, hint: str = "") -> None:
        self.faults.append(self.lines.place(self.at if at is None else at).fault(message, hint))
        raise _Stop

    def skip_space(self) -> str:
        """The next character that is not white space, empty at the end."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def value(self, path: Path, depth: int) -> Node:
        character = self.skip_space()
        place = self.lines.place(self.at, path)
        if depth > DEPTH:
            self.stop(f"more than {DEPTH} levels of maps and lists inside each other")
        if character == "{":
            return self._map(place, depth)
        if character == "[":
            return self._list(place, depth)
        if character == '"':
            return Node(self._string(), place)
        return self._plain(place)

    def _map(self, place: Place, depth: int) -> Node:
        node = Node({}, place)
        self.at += 1
        if self.skip_space() == "}":
            self.at += 1
            return node
        while True:
            if self.skip_space() != '"':
                self.stop("a name in double quotes is expected here", hint=self._advice())
            key_at = self.at
            key = self._string()
            here = self.lines.place(key_at, (*place.path, key))
            if key in node.keys:
                first = node.keys[key].line
                self.faults.append(
                    here.fault(
                        f"`{key}` is there twice in one map, on line {first} and on line {here.line}",
                        "keep one of them",
                    )
                )
            if self.skip_space() != ":":
                self.stop("`:` is expected here", hint=self._advice())
            self.at += 1
            node.keys.setdefault(key, here)
            node.value[key] = self.value(here.path, depth + 1)
            if self._ends("}"):
                return node

    def _list(self, place: Place, depth: int) -> Node:
        items: list[Node] = []
        self.at += 1
        if self.skip_space() == "]":
            self.at += 1
            return Node(items, place)
        while True:
            items.append(self.value((*place.path, len(items)), depth + 1))
            if self._ends("]"):
                return Node(items, place)

    def _ends(self, closing: str) -> bool:
        character = self.skip_space()
        if character not in (",", closing) or not character:
            self.stop(f"`,` or `{closing}` is expected here", hint=self._advice())
        self.at += 1
        if character == "," and self.skip_space() == closing:
            self.stop(f"a comma before `{closing}`", hint="JSON allows none there")
        return character == closing

    def _string(self) -> str:
        start = self.at
        try:
            text, self.at = _SCAN_STRING(self.text, start + 1, True)
        except json.JSONDecodeError as error:
            message, hint = _string_fault(error.msg)
            self.stop(message, min(error.pos, len(self.text)), hint)
            raise AssertionError from error
        if any("\ud800" <= character <= "\udfff" for character in text):
            self.stop("half a surrogate pair in a text: it cannot be stored as UTF-8", start)
        return str(text)

    def _plain(self, place: Place) -> Node:
        match = _NUMBER.match(self.text, self.at)
        word = _WORD.match(self.text, self.at)
        if match and word and (match.end() >= word.end() or match.end() - match.start() >= 40):
            typed = match.group()
            self.at = match.end()
            return Node(self._number(typed, place), place, typed)
        if word and word.group() in _CONSTANTS:
            self.at = word.end()
            return Node(_CONSTANTS[word.group()], place, word.group())
        if not word:
            what = f"`{self.text[self.at]}`" if self.at < len(self.text) else "the end of the file"
            self.stop(f"a value is expected here, not {what}", hint=self._advice())
        elif word.group().lstrip("-") in ("NaN", "Infinity"):
            self.stop(f"{word.group()} is not JSON", hint="numbers must be finite")
        self.stop(f"`{word.group() if word else ''}` is not JSON", hint=self._advice() or "texts need double quotes")
        raise AssertionError

    def _number(self, typed: str, place: Place) -> int | float:
        if len(typed) > _LONGEST_NUMBER:
            self.stop(f"a number of {len(typed)} digits", hint="write it as a text")
        if typed.lstrip("-").isdecimal():
            return int(typed)
        number = float(typed)
        if not math.isfinite(number):
            self.stop(f"{typed[:40]} is too large for a number")
        return number

    def _advice(self) -> str:
        if self.text.startswith(("//", "/*", "#"), self.at):
            return "JSON has no comments; name the file .yaml to have them"
        if self.text.startswith("'", self.at):
            return "JSON texts stand in double quotes"
        if self.text.startswith("{{", self.at):
            return 'quote templates: "{{ … }}"'
        return ""


def _string_fault(message: str) -> tuple[str, str]:
    """What is wrong with a text, and what to do, for a message of Python's reader."""
    if message.startswith("Unterminated"):
        return "the text that starts here is never closed", "a quote is missing, or the file was cut off"
    if message.startswith("Invalid control character"):
        return "a line break or control character inside a text", "write it as an escape: \\n"
    return "an escape that JSON does not have", "a backslash itself is written \\\\"
