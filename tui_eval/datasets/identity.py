"""The id of each case, and finding ids that occur twice in any number of cases with little memory."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tui_eval.datasets.rows import BadRow, Item, Row, excerpt
from tui_eval.domain import Case, JsonValue, canonical_json
from tui_eval.errors import DatasetError, Fault
from tui_eval.spec.nearest import suggestion

LONGEST_ID = 500
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class NoIdRow(BadRow):
    """A record without the column of the ids."""


class NoIdColumn(DatasetError):
    """No record of the dataset has the column of the ids."""


Built: TypeAlias = Case | BadRow


class SeenHashes:
    """A set of 64-bit numbers in 16 to 32 bytes each (a Python set takes over 100): open addressing in one array."""

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * 1024))
        self._mask = 1023
        self._used = 0

    def add(self, number: int) -> bool:
        """Whether ``number`` was there already (modulo 2^64; 0 counts as 1)."""
        number = number & _MASK or 1
        slots, mask = self._slots, self._mask
        at = number & mask
        while found := slots[at]:
            if found == number:
                return True
            at = (at + 1) & mask
        slots[at] = number
        self._used += 1
        if self._used * 2 > mask:
            self._grow()
        return False

    def _grow(self) -> None:
        old = self._slots
        mask = self._mask = self._mask * 2 + 1
        slots = self._slots = array("Q", bytes(8 * (mask + 1)))
        for number in old:
            if number:
                at = number & mask
                while slots[at]:
                    at = (at + 1) & mask
                slots[at] = number


class ContentIds:
    """Ids made from content: 16 hex digits of SHA-256 over the canonical JSON. The second case with the same content
    gets ``-2``, the third ``-3``: the same at each load, whatever else is in the file."""

    def __init__(self) -> None:
        self._seen = SeenHashes()
        self._repeats: dict[str, int] = {}

    def next(self, columns: Mapping[str, JsonValue]) -> str:
        name = content_id(columns)
        if not self._seen.add(int(name, 16)):
            return name
        number = self._repeats.get(name, 1) + 1
        self._repeats[name] = number
        return f"{name}-{number}"


def content_id(columns: Mapping[str, JsonValue]) -> str:
    return hashlib.sha256(canonical_json(columns).encode("utf-8")).hexdigest()[:16]


def id_problem(value: JsonValue) -> str:
    """Why a column's value cannot be a case's id; empty when it can (a text, or a number by its JSON text)."""
    if isinstance(value, bool) or value is None or not isinstance(value, str | int | float):
        what = {bool: "true or false", list: "a list", dict: "an object"}.get(type(value), "null")
        return f"is {what}, expected a text or a number"
    text = id_text(value)
    if not text.strip():
        return "is empty"
    if len(text) > LONGEST_ID:
        return f"has {len(text)} characters, at most {LONGEST_ID} are allowed"
    if not text.isprintable() and (found := _CONTROL.search(text)):
        return f"has the control character U+{ord(found[0]):04X}: `{excerpt(text)}`"
    return ""


def id_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def build(items: Iterable[Item], column: str, name: str, before: int = 0) -> Iterator[Built]:
    """Cases with the ids of a column; ``before`` counts the records that came earlier.

    A record without a usable id is a fault. Raises NoIdColumn at the end when there were records and none had the
    column.
    """
    names: tuple[str, ...] = ()
    found = False
    for number, item in enumerate(items, start=before + 1):
        if isinstance(item, BadRow):
            yield item
            continue
        columns, line, _ = item
        value = columns.get(column)
        # The common case first: a short, printable text.
        if type(value) is str and len(value) <= LONGEST_ID and value.isprintable() and value.strip():
            found = True
            yield Case(value, columns, line)
        elif column in columns:
            found = True
            yield _unusual(item, column, name, number)
        else:
            names = names or tuple(columns)
            message = f"no column `{excerpt(column, 80)}`, which is to hold the id"
            yield NoIdRow(Fault(message, file=name, line=line, path=_record(item, number)))
    if names and not found and not before:
        message = f"no record has the column `{excerpt(column, 80)}`, which is to hold the id"
        hint = suggestion(column, names, label="columns") or "name a column that every record has"
        raise NoIdColumn([Fault(message, file=name, path="dataset.id", hint=hint)])


def build_generated(items: Iterable[Item], make_id: Callable[[Mapping[str, JsonValue]], str]) -> Iterator[Built]:
    """Cases whose ids are made from their content."""
    for item in items:
        if isinstance(item, BadRow):
            yield item
        else:
            yield Case(make_id(item.columns), item.columns, item.line, generated_id=True)


def _unusual(row: Row, column: str, name: str, number: int) -> Built:
    value = row.columns[column]
    if problem := id_problem(value):
        message = f"the id in column `{excerpt(column, 80)}` {problem}"
        return BadRow(Fault(message, file=name, line=row.line, path=_record(row, number)))
    return Case(id_text(value), row.columns, row.line)


def _record(row: Row, number: int) -> str:
    return "" if row.line else f"record {number}"
