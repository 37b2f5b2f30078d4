"""Solutions and evaluators of a workspace as rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.display import short_path
from tui_eval.text_query import TextQuery
from tui_eval.tui.text import plural
from tui_eval.tui.widgets.cells import Cell, Column, Row

if TYPE_CHECKING:
    from tui_eval.tui.part_reading import Part

COLUMNS = (
    Column("name", "name", 12, weight=2, most=32, priority=10),
    Column("kind", "kind", 10, priority=8),
    Column("state", "state", 10, priority=6),
    Column("calls", "calls or checks", 15, weight=4, priority=5),
    Column("where", "where", 14, weight=3, most=60, priority=7),
)


def where(part: Part, folder: Path) -> str:
    """The file of a saved one, ``plan › request`` of one that stands in a plan."""
    path = short_path(part.path, folder)
    return path if part.saved else f"{path} › {part.request}"


def part_row(part: Part, folder: Path) -> Row:
    """A part as a row (its key is the part's)."""
    state = Cell("✓ saved", "passed") if part.saved else Cell("  in plan", "muted")
    if part.faults:
        state = Cell(f"✗ {plural(len(part.faults), 'fault')}", "failed")
    return Row(
        part.key,
        (
            Cell(part.name, "title"),
            Cell(part.kind or "?", "accent" if part.kind else "failed"),
            state,
            Cell(part.calls, "muted"),
            Cell(where(part, folder), "muted" if not part.saved else ""),
        ),
    )


def matching(parts: Sequence[Part], wanted: TextQuery, folder: Path) -> list[Part]:
    """The parts whose name, kind, place and what they call match."""
    return [part for part in parts if wanted.matches(f"{part.name}\n{part.kind}\n{where(part, folder)}\n{part.calls}")]
