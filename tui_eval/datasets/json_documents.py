"""JSON documents: a list of objects (read element by element, however long), or a list inside a document.

With ``records`` (JMESPath to the list) the document is held in memory, up to a limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain

from tui_eval.datasets.encoding import detect, read_text
from tui_eval.datasets.expressions import compiled, search
from tui_eval.datasets.files import InputFile, refuse_foreign
from tui_eval.datasets.json_text import WHITESPACE, NotJson, Refused, StrictDecoder
from tui_eval.datasets.limits import DOCUMENT_SETTING, RECORD_SETTING, Limits
from tui_eval.datasets.rows import BEGIN, UNKNOWN, Item, Place, Reading, Row, bad_row, excerpt, listed, refusal
from tui_eval.domain import JsonValue, as_text
from tui_eval.errors import DatasetError
from tui_eval.spec.model import Dataset

_BLANKS = re.compile(r"[ \t\n\r]*")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NEAR_THE_END = 16
_KINDS = {list: "an array", dict: "an object", str: "a text", bool: "true or false", int: "a number", float: "a number"}


def read(file: InputFile, options: Dataset, limits: Limits, reading: Reading, start: Place = BEGIN) -> Iterator[Item]:
    """The records of a document in order. Raises DatasetError where it stops being JSON."""
    head = file.head()
    refuse_foreign(file, head, "JSON")
    texts = read_text(file, detect(file, head, options.encoding, reading))
    if options.records is not None:
        yield from _inside(_document(texts, file, limits), options.records, file.name)
        return
    text = Window(texts)
    text.skip_blanks()
    if not text.rest():
        reading.notes.append("the file is empty")
    elif text.next_is("["):
        yield from _elements(text, file.name, limits)
    else:
        raise _no_list(text, file, limits)


class Window:
    """The part of a long text that is being looked at; it knows the line and column of its position."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._texts = texts
        self.text = ""
        self.at = 0
        self.line = 1
        self._counted = 0  # lines before this position in `text` are in `line`
        self._line_start = 0  # where the current line begins, relative to `text`; may be negative

    def remaining(self) -> Iterator[str]:
        """The text behind the window."""
        return self._texts

    def rest(self) -> int:
        return len(self.text) - self.at

    def more(self, least: int = 1) -> bool:
        """Takes in at least ``least`` further characters; False (and nothing moves) when there are none."""
        pieces = []
        got = 0
        while got < least and (piece := next(self._texts, "")):
            pieces.append(piece)
            got += len(piece)
        if got:
            self.place(self.at)
            self.text = "".join([self.text[self.at :], *pieces])
            self._line_start -= self.at
            self._counted = self.at = 0
        return got > 0

    def skip_blanks(self) -> None:
        while True:
            found = _BLANKS.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.rest() or not self.more():
                return

    def next_is(self, character: str) -> bool:
        """Steps over ``character`` if it comes next."""
        if self.text.startswith(character, self.at):
            self.at += 1
            return True
        return False

    def place(self, position: int) -> tuple[int, int]:
        """Line and column, both from 1, of a position at or behind all those asked for before."""
        if found := self.text.count("\n", self._counted, position):
            self.line += found
            self._line_start = self.text.rindex("\n", self._counted, position) + 1
        self._counted = position
        return self.line, position - self._line_start + 1


def _elements(text: Window, name: str, limits: Limits) -> Iterator[Item]:
    decoder = StrictDecoder()
    text.skip_blanks()
    closed = text.next_is("]")
    while not closed:
        line, column = text.place(text.at)
        try:
            value, end = _element(text, decoder, limits, name)
        except Refused as error:
            line, column = text.place(error.position)
            yield bad_row(error.message, name, line=line, column=column)
            end = error.end
        else:
            if isinstance(value, dict):
                yield Row(value, line, UNKNOWN)
            else:
                message = f"{kind_of(value)}, expected an object: `{excerpt(text.text[text.at : end])}`"
                yield bad_row(message, name, line=line, column=column, hint="each element is one JSON object")
        text.at = end
        text.skip_blanks()
        closed = text.next_is("]")
        if not closed and not text.next_is(","):
            raise _broken(text, text.at, "expected `,` or `]` after an element", name)
        text.skip_blanks()
    text.skip_blanks()
    if text.rest():
        hint = "one list holds all records; for one value a line set `format: jsonl`"
        raise _broken(text, text.at, "something follows after the end of the list", name, hint)


def _element(text: Window, decoder: StrictDecoder, limits: Limits, name: str) -> tuple[JsonValue, int]:
    """The value that begins where the window stands; takes in more text as long as it may only be cut off."""
    while True:
        try:
            value, end = decoder.decode_at(text.text, text.at)
        except Refused:
            raise
        except NotJson as error:
            far = error.position < len(text.text) - _NEAR_THE_END
            if far and not error.message.startswith("unterminated string"):
                raise _broken(text, error.position, f"not valid JSON: {error.message}", name) from None
            if text.rest() > limits.record:
                line, column = text.place(text.at)
                message = f"an element of more than {limits.record} characters"
                hint = f"close its quotes, or raise the limit with the environment variable {RECORD_SETTING}"
                raise refusal(message, name, line=line, column=column, hint=hint) from None
            if not text.more(text.rest()):
                message = f"not valid JSON: {error.message}"
                hint = "the file may have been cut off" if not far else ""
                raise _broken(text, error.position, message, name, hint) from None
        else:
            # A number at the very end may go on in the next piece.
            if end < len(text.text) or isinstance(value, dict | list | str) or not text.more():
                return value, end


def list_inside(document: JsonValue, expression: str, name: str) -> list[JsonValue]:
    """What ``records`` finds. Raises DatasetError when that is no list."""
    found = search(compiled(expression, "dataset.records"), document, "dataset.records", name)
    if isinstance(found, list):
        return found
    message = f"`records: {excerpt(expression)}` finds {kind_of(found)}, expected a list of objects"
    raise refusal(message, name, path="dataset.records", hint=records_hint(document))


def _inside(document: JsonValue, expression: str, name: str) -> Iterator[Item]:
    for number, value in enumerate(list_inside(document, expression, name), start=1):
        if isinstance(value, dict):
            yield Row(value, 0, UNKNOWN)
        else:
            message = f"{kind_of(value)}, expected an object: `{excerpt(as_text(value))}`"
            yield bad_row(message, name, path=f"record {number}")


def _document(texts: Iterator[str], file: InputFile, limits: Limits) -> JsonValue:
    if file.size > limits.json_document:
        message = f"the document has {file.size} bytes, at most {limits.json_document} are read as a whole"
        hint = f"raise it with the environment variable {DOCUMENT_SETTING}, or save the records as JSON lines"
        raise refusal(message, file.name, hint=hint)
    whole = Window(iter(("".join(texts),)))
    whole.more()
    try:
        return StrictDecoder().decode(whole.text)
    except NotJson as error:
        message = error.message if isinstance(error, Refused) else f"not valid JSON: {error.message}"
        hint = "for one value a line set `format: jsonl`" if error.message.startswith("something follows") else ""
        raise _broken(whole, error.position, message, file.name, hint) from None


def _no_list(text: Window, file: InputFile, limits: Limits) -> DatasetError:
    """The refusal of a document that is no list: says what it is and how to get at the list in it."""
    try:
        _, end = StrictDecoder().decode_at(text.text, text.at)
        if text.text[end:].lstrip(WHITESPACE).startswith(("{", "[")):
            hint = "set `format: jsonl`"
            return refusal("this is one JSON value a line, expected one list of objects", file.name, hint=hint)
    except NotJson:
        pass  # cut off, or not JSON: reading the whole document will tell
    document = _document(chain([text.text[text.at :]], text.remaining()), file, limits)
    message = f"the document is {kind_of(document)}, expected a list of objects"
    if isinstance(document, dict):
        message = f"the document is an object with the keys {listed(list(document)) or '(none)'}, expected a list"
    return refusal(message, file.name, line=text.line, hint=records_hint(document))


def records_hint(document: JsonValue) -> str:
    """How to get at the list of records in a document that is something else."""
    if not isinstance(document, dict):
        return "`records` is a JMESPath to the list inside the document"
    for key, value in document.items():
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            return f"set `records: {key if _PLAIN_KEY.fullmatch(key) else json.dumps(key)}`"
    if document and all(isinstance(value, dict) for value in document.values()):
        return "set `records: values(@)` to take its values (their keys are then lost)"
    return "set `records` to a JMESPath to the list of objects"


def kind_of(value: JsonValue) -> str:
    """What a JSON value is, for a message: ``null``, ``an array``, …"""
    return _KINDS.get(type(value), "null")


def _broken(text: Window, position: int, message: str, name: str, hint: str = "") -> DatasetError:
    line, column = text.place(position)
    near = excerpt(text.text[position : position + 41].split("\n")[0])
    return refusal(f"{message}, at `{near}`" if near else message, name, line=line, column=column, hint=hint)
