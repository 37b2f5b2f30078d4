"""What a program wrote, as text, and which part of it is the output."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tui_eval.domain import JsonValue
from tui_eval.errors import SolutionError
from tui_eval.solutions.extract import Extractor, Missing
from tui_eval.solutions.strict_json import InvalidJson, RepeatedKeys, parse_json
from tui_eval.solutions.terminal_codes import without_terminal_codes
from tui_eval.solutions.wording import snippet

_ESCAPE_LENGTH = 4  # \xNN


@dataclass(frozen=True, slots=True)
class Text:
    """``text`` of ``name`` (``stdout``, ``stderr``); ``note`` says what a reader should know about it, or is empty."""

    name: str
    text: str
    note: str = ""


def decoded(data: bytes, name: str) -> Text:
    """``data`` as UTF-8. A byte that is not UTF-8 stands as ``\\xNN``, never as U+FFFD: what is evaluated and stored
    still tells which byte it was, and the note says so."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        where = error.start
    else:
        return Text(name, text)
    text = data.decode("utf-8", "backslashreplace")
    wrong = (len(text.encode()) - len(data)) // (_ESCAPE_LENGTH - 1)
    note = f"{name} is not UTF-8: {wrong} of its {len(data)} bytes, the first at {where}, stand as \\xNN"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        note += " (it looks like UTF-16)"
    return Text(name, text, note)


def tail_decoded(data: bytes, *, cut: bool) -> str:
    """The last bytes of an output as text; ``cut`` says that bytes before them are missing (perhaps of a character)."""
    if cut:
        data = re.sub(rb"\A[\x80-\xbf]{1,3}", b"", data)
        return "…" + data.decode("utf-8", "backslashreplace")
    return data.decode("utf-8", "backslashreplace")


def evaluated(text: str, strip_codes: bool) -> str:
    """The text that evaluators see: without a BOM, without line ends at its end (as ``$(…)`` in a shell), and without
    terminal codes unless they are wanted."""
    text = text.removeprefix("\ufeff")
    if strip_codes:
        text = without_terminal_codes(text)
    return text.rstrip("\r\n")


def json_output(
    text: Text, strip_codes: bool, extractor: Extractor | None, allow_null: bool, notes: list[str]
) -> JsonValue:
    """The output of a program that prints one JSON value (or the part of it that the extractor finds). What a reader
    should know of it is added to ``notes``.

    ``""``, ``false``, ``0``, empty lists and objects are outputs like any other. Raises SolutionError ``bad_answer``
    for what is not JSON, for a path that leads nowhere, and for null unless ``allow_null``.
    """
    source = evaluated(text.text, strip_codes)
    if not source.strip():
        raise SolutionError("bad_answer", f"{text.name} is empty, a JSON value was expected (output: json)")
    if text.note:
        raise SolutionError("bad_answer", f"{text.note}; JSON must be UTF-8")
    repeated = RepeatedKeys()
    try:
        document = parse_json(source, repeated=repeated)
    except InvalidJson as error:
        hint = "print other messages on stderr"
        raise SolutionError(
            "bad_answer", f"{text.name} is not one JSON value: {error}; it begins with `{snippet(source, 80)}` ({hint})"
        ) from error
    notes += repeated.notes()
    value = document if extractor is None else extractor.find(document, text.name)
    if isinstance(value, Missing):
        raise SolutionError("bad_answer", f"no output: {value.reason}")
    if value is None and not allow_null:
        raise SolutionError("bad_answer", "the output is null (allow_null: true takes it as an output)")
    return _plain(value) if strip_codes else value


def _plain(value: JsonValue) -> JsonValue:
    """``value`` with the terminal codes of its texts removed (keys stay as they are)."""
    if isinstance(value, str):
        return without_terminal_codes(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
