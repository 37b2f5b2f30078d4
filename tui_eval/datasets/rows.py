"""What a reader hands on: rows as they stand in a file, before ids, sampling and checks over several rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tui_eval.domain import JsonValue
from tui_eval.errors import DatasetError, Fault

UNKNOWN = -1


class Row(NamedTuple):
    """One well-formed record. ``line`` is the physical line it begins on, from 1 (Parquet: its row number; 0: not
    known). ``offset`` is the byte it begins at, :data:`UNKNOWN` where reading cannot start in the middle."""

    columns: Mapping[str, JsonValue]
    line: int
    offset: int


@dataclass(frozen=True, slots=True)
class BadRow:
    """One record that cannot be used; the reader goes on behind it."""

    fault: Fault


Item: TypeAlias = Row | BadRow


class Block(NamedTuple):
    """Well-formed records that follow each other, many at a time. ``lines`` is the line that each begins on, ``texts``
    the canonical JSON of each where the reader has it anyway, else empty."""

    rows: Sequence[Mapping[str, JsonValue]]
    lines: Sequence[int]
    texts: Sequence[str] = ()


class Place(NamedTuple):
    """Where reading starts: a byte that begins a record, and its line number."""

    offset: int
    line: int


BEGIN = Place(0, 1)


@dataclass(slots=True)
class Reading:
    """What one pass over a file learns beside its rows: things a reader should know, and the header if it has one."""

    notes: list[str] = field(default_factory=list)
    header: tuple[str, ...] = ()


def refusal(message: str, file: str, *, line: int = 0, column: int = 0, path: str = "", hint: str = "") -> DatasetError:
    """An error with one fault that ends the reading of a file: nothing behind it can be read."""
    return DatasetError([Fault(message, file=file, line=line, column=column, path=path, hint=hint)])


def bad_row(message: str, file: str, *, line: int = 0, column: int = 0, path: str = "", hint: str = "") -> BadRow:
    return BadRow(Fault(message, file=file, line=line, column=column, path=path, hint=hint))


def excerpt(text: str, length: int = 40) -> str:
    """The first characters of a text for a message: one line, whatever is not printable escaped."""
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text[:length]
    )
    return shown + ("…" if len(text) > length else "")


def listed(names: list[str], most: int = 10) -> str:
    """```a`, `b` and 3 more``: names for a message, never endlessly many."""
    shown = [f"`{excerpt(name)}`" for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return ", ".join(shown[:-1]) + " and " + shown[-1] if len(shown) > 1 else "".join(shown)
