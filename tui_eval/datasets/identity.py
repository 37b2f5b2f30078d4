"""The id of each case, and finding ids that occur twice in any number of cases with little memory."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, TypeAlias

from tui_eval.datasets.rows import UNKNOWN, BadRow, Block, Item, Row, excerpt
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


class CaseBlock(NamedTuple):
    """Cases that follow each other, many at a time: a :class:`Block` with the ids. ``generated``: they are made from
    the content."""

    ids: list[str]
    rows: Sequence[Mapping[str, JsonValue]]
    lines: Sequence[int]
    texts: Sequence[str]
    generated: bool = False

    def cases(self) -> Iterator[Case]:
        return map(Case, self.ids, self.rows, self.lines, repeat(self.generated))


def rows_of(block: Block) -> Iterator[Row]:
    """The records of a block one by one (where they begin in the file is not known)."""
    return map(Row, block.rows, block.lines, repeat(UNKNOWN))


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

    def repeated(self, numbers: Iterable[int]) -> list[int]:
        """Adds all; those of them that were there already. What :meth:`add` does, quicker for many."""
        slots, mask, used = self._slots, self._mask, self._used
        found = []
        for number in numbers:
            key = number & _MASK or 1
            at = key & mask
            while (there := slots[at]) and there != key:
                at = (at + 1) & mask
            if there:
                found.append(number)
                continue
            slots[at] = key
            used += 1
            if used * 2 > mask:
                self._used = used
                self._grow()
                slots, mask = self._slots, self._mask
        self._used = used
        return found

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
        return self._numbered(content_id(columns))

    def block(self, block: Block) -> CaseBlock:
        texts = block.texts or list(map(canonical_json, block.rows))
        names = [hashlib.sha256(text.encode("utf-8")).hexdigest()[:16] for text in texts]
        return CaseBlock(list(map(self._numbered, names)), block.rows, block.lines, texts, generated=True)

    def _numbered(self, name: str) -> str:
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


class IdColumn:
    """Makes cases with the ids of a column; ``before`` counts the records that came earlier."""

    def __init__(self, column: str, name: str, before: int = 0) -> None:
        self._column = column
        self._name = name
        self._number = self._before = before
        self._names: tuple[str, ...] = ()
        self._found = False

    def built(self, item: Item) -> Built:
        """The case of a record; a record without a usable id is a fault."""
        self._number += 1
        if isinstance(item, BadRow):
            return item
        columns, line, _ = item
        value = columns.get(self._column)
        # The common case first: a short, printable text.
        if type(value) is str and len(value) <= LONGEST_ID and value.isprintable() and value.strip():
            self._found = True
            return Case(value, columns, line)
        if self._column in columns:
            self._found = True
            return self._unusual(item)
        self._names = self._names or tuple(columns)
        message = f"no column `{excerpt(self._column, 80)}`, which is to hold the id"
        return NoIdRow(Fault(message, file=self._name, line=line, path=_record(item, self._number)))

    def built_block(self, block: Block) -> Iterator[CaseBlock | Built]:
        """The cases of many records: together when all ids are usable texts or whole numbers, else one by one."""
        values = [row.get(self._column) for row in block.rows]
        kinds = set(map(type, values))
        ids: list[str] = list(map(str, values)) if kinds in ({str}, {int}) else []
        if ids and _all_usable(ids):
            self._number += len(ids)
            self._found = True
            yield CaseBlock(ids, *block)
        else:
            yield from map(self.built, rows_of(block))

    def end(self) -> None:
        """Raises NoIdColumn when there were records, none had the column, and these were all."""
        if self._names and not self._found and not self._before:
            message = f"no record has the column `{excerpt(self._column, 80)}`, which is to hold the id"
            hint = suggestion(self._column, self._names, label="columns") or "name a column that every record has"
            raise NoIdColumn([Fault(message, file=self._name, path="dataset.id", hint=hint)])

    def _unusual(self, row: Row) -> Built:
        value = row.columns[self._column]
        if problem := id_problem(value):
            message = f"the id in column `{excerpt(self._column, 80)}` {problem}"
            return BadRow(Fault(message, file=self._name, line=row.line, path=_record(row, self._number)))
        return Case(id_text(value), row.columns, row.line)


def _all_usable(ids: list[str]) -> bool:
    """Whether none of the texts has an :func:`id_problem`."""
    return all(map(str.strip, ids)) and max(map(len, ids)) <= LONGEST_ID and "".join(ids).isprintable()


def build(items: Iterable[Item], column: str, name: str, before: int = 0) -> Iterator[Built]:
    """Cases with the ids of a column, one by one; see :class:`IdColumn`. Raises NoIdColumn at the end."""
    ids = IdColumn(column, name, before)
    yield from map(ids.built, items)
    ids.end()


def build_generated(items: Iterable[Item], make_id: Callable[[Mapping[str, JsonValue]], str]) -> Iterator[Built]:
    """Cases whose ids are made from their content."""
    for item in items:
        if isinstance(item, BadRow):
            yield item
        else:
            yield Case(make_id(item.columns), item.columns, item.line, generated_id=True)


def _record(row: Row, number: int) -> str:
    return "" if row.line else f"record {number}"
