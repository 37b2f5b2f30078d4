"""What to know before a start, as a list of notes: of a plan and of an orchestration alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.display import short_path
from tui_eval.tui.text import plural
from tui_eval.tui.widgets.cells import Cell, Column, Row

if TYPE_CHECKING:
    from tui_eval.errors import Fault

NOTES = (Column("kind", "", 11, priority=9), Column("text", "what to know before the start", 24, weight=1, priority=10))


@dataclass(frozen=True, slots=True)
class Note:
    """One line of what to know. ``kind`` says what it is; what ``about`` holds depends on it: a variable's name, the
    place of a setting, the section that a fault is in."""

    kind: str
    text: str
    about: Any = None


_STOPPING = {"missing": "missing variable", "fault": "fault"}

Looks = Mapping[str, tuple[str, str]]
"""By kind: the word that stands before the text, and its style."""


def note_rows(found: Sequence[Note], looks: Looks) -> list[Row]:
    """The notes as rows; the key is the place in the list. Where the word is muted, the text is too."""
    rows = []
    for place, note in enumerate(found):
        word, style = looks[note.kind]
        rows.append(Row(place, (Cell(word, style), Cell(note.text, "muted" if style == "muted" else ""))))
    return rows


# -- variables --


def missing_notes(names: Iterable[str], values: Mapping[str, str]) -> list[Note]:
    """The variables that have to be typed. No value is in the texts."""
    states = ((name, "is set but empty" if name in values else "is not set") for name in names)
    return [Note("missing", f"{name} {state}: press enter to type it for this launch", name) for name, state in states]


def variable_notes(references: Iterable[str], environment: Mapping[str, str], typed: Collection[str]) -> list[Note]:
    """The variables that have a value, and where each comes from. No value is in the texts."""
    later = "a re-run or resume will need it again"
    known = (name for name in references if environment.get(name) and name not in typed)
    return [
        *(Note("variable", f"{name} was typed for this launch: {later}", name) for name in sorted(typed)),
        *(Note("variable", f"{name} comes from the environment", name) for name in known),
    ]


# -- faults --


def fault_text(fault: Fault, workspace: Path) -> str:
    """A fault with its file as it is called in the workspace."""
    return str(replace(fault, file=short_path(Path(fault.file), workspace)) if fault.file else fault)


# -- the verdict --


def cannot_start(found: Sequence[Note], *more: str) -> str:
    """``✗ cannot start: 1 missing variable, 2 faults``, from the notes of what stops it and what ``more`` does; "" when
    nothing does."""
    kinds = [note.kind for note in found]
    stopping = [plural(kinds.count(kind), what) for kind, what in _STOPPING.items() if kind in kinds]
    return f"✗ cannot start: {', '.join((*stopping, *more))}" if stopping or more else ""
