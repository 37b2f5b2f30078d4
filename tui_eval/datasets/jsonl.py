"""JSON lines: one object a line, lines ended by LF (CRLF too), blank lines allowed, the last line break optional."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_eval.datasets import json_blocks, json_documents
from tui_eval.datasets.encoding import Line, TextEncoding, detect, lines_of, read_lines, whole_lines
from tui_eval.datasets.files import InputFile, refuse_foreign
from tui_eval.datasets.json_text import NotJson, Refused, StrictDecoder
from tui_eval.datasets.limits import Limits
from tui_eval.datasets.rows import BEGIN, BadRow, Block, Item, Place, Reading, Row, bad_row, excerpt
from tui_eval.spec.model import Dataset

# A file that is one JSON array: it begins with a list of objects, or a list that is not closed on its line.
_ARRAY = re.compile(r"[ \t\r\n]*\[[ \t\r\n]*(\{|\][ \t\r\n]*$|$)")
_BLANK = b" \t\r"


def read(file: InputFile, options: Dataset, limits: Limits, reading: Reading, start: Place = BEGIN) -> Iterator[Item]:
    """The records of a file in order. Raises DatasetError for what ends the reading (not for a broken line)."""
    head = file.head()
    refuse_foreign(file, head, "JSON lines")
    encoding = detect(file, head, options.encoding, reading)
    if _ARRAY.match(head[encoding.mark :].decode(encoding.codec, "ignore")):
        reading.notes.append("read as a JSON array, although the name says JSON lines")
        return json_documents.read(file, options, limits, reading)
    return records(read_lines(file, encoding, limits.record, start), file.name)


def blocks(file: InputFile, options: Dataset, limits: Limits, reading: Reading) -> Iterator[Block | Item]:
    """The same records as :func:`read` gives, many at a time where nothing is wrong with their lines."""
    head = file.head()
    refuse_foreign(file, head, "JSON lines")
    found = Reading()
    encoding = detect(file, head, options.encoding, found)
    if not encoding.byte_lines or _ARRAY.match(head[encoding.mark :].decode(encoding.codec, "ignore")):
        yield from read(file, options, limits, reading)
        return
    reading.notes += found.notes
    place = Place(encoding.mark, 1)
    for piece in whole_lines(file.chunks(encoding.mark), limits.record):
        if len(piece) > limits.record:
            yield from records(read_lines(file, encoding, limits.record, place), file.name)
            return
        block = _block(piece, encoding, place.line)
        if block is None:
            yield from records(lines_of(piece, encoding, limits.record, place), file.name)
        elif block.rows:
            yield block
        place = Place(place.offset + len(piece), place.line + piece.count(b"\n"))


def _block(piece: bytes, encoding: TextEncoding, line: int) -> Block | None:
    """The records of some whole lines; None when one of them wants a closer look."""
    try:
        found = json_blocks.objects(piece.decode(encoding.codec))
    except UnicodeDecodeError:
        return None
    if found is None:
        return None
    lines = found.lines
    numbers = range(line, line + len(lines)) if isinstance(lines, range) else [line + number for number in lines]
    return Block(found.rows, numbers, found.texts)


def count(file: InputFile, options: Dataset, limits: Limits) -> int | None:
    """How many lines are not blank, without reading what is on them; None when the lines cannot be told that way."""
    head = file.head()
    refuse_foreign(file, head, "JSON lines")
    encoding = detect(file, head, options.encoding, Reading())
    if not encoding.byte_lines or _ARRAY.match(head[encoding.mark :].decode(encoding.codec, "ignore")):
        return None
    found, begun = 0, False
    for chunk in file.chunks(encoding.mark):
        first, *others = chunk.split(b"\n")
        begun = begun or bool(first.strip(_BLANK))
        if others:
            found += begun
            begun = bool(others.pop().strip(_BLANK))
            found += sum(1 for line in others if line and line.strip(_BLANK))
    return found + begun


def records(lines: Iterator[Line], name: str) -> Iterator[Item]:
    """One item for each line that is not blank."""
    decode = StrictDecoder().decode
    for line in lines:
        number, offset, text, _, problem, hint, _ = line
        if problem:
            yield bad_row(problem, name, line=number, hint=hint)
            continue
        if not text or (text.isspace() and not text.strip(" \t\r")):
            continue
        try:
            value = decode(text)
        except NotJson as error:
            if not text.startswith("\ufeff"):
                yield _broken(line, error, name)
                continue
            # Files that were joined together carry a byte order mark in the middle; it is no part of the record.
            try:
                value = decode(text[1:])
            except NotJson as inner:
                yield _broken(line, inner, name)
                continue
        if isinstance(value, dict):
            yield Row(value, number, offset)
        else:
            message = f"{json_documents.kind_of(value)}, expected an object; the line begins `{excerpt(text.strip())}`"
            yield bad_row(message, name, line=number, column=1, hint="each line is one JSON object")


def _broken(line: Line, error: NotJson, name: str) -> BadRow:
    text = line.text.strip()
    message = f"not valid JSON: {error.message}; the line begins `{excerpt(text)}`"
    hint = "each line is one whole JSON object"
    if isinstance(error, Refused):
        message = f"{error.message}; the line begins `{excerpt(text)}`"
        hint = ""
    elif "\0" in text:
        hint = "it holds NUL characters: the file is damaged here"
    elif not line.ended and (error.message == "unterminated string" or error.position >= len(line.text) - 5):
        hint = "the file ends here without a line break; it may have been cut off"
    elif text in ("{", "["):
        hint = "each line is one whole JSON object; for one document over several lines set `format: json`"
    return bad_row(message, name, line=line.number, column=error.position + 1, hint=hint)
