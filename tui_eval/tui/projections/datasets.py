"""Datasets of a workspace and their cases as rows and texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.display import readable_size, relative_path, short_path
from tui_eval.errors import Fault
from tui_eval.tui.projections.plans import sample_parts
from tui_eval.tui.text import plural
from tui_eval.tui.widgets.cells import Cell, CellValue, Column, Row

if TYPE_CHECKING:
    from tui_eval.datasets.survey import Survey
    from tui_eval.domain import Case, JsonValue
    from tui_eval.spec.workspace import Found
    from tui_eval.tui.dataset_shelf import DatasetFacts

MOST_COLUMNS = 60
"""Columns of a preview; the text of a case shows all."""
_LEAST_ROW = 10  # bytes of a short row: how long the numbers of rows may become
_CELL = 400  # characters of a value that are looked at for a cell

DATASETS = (
    Column("file", "dataset", 20, weight=3, most=60, priority=10, sort="file"),
    Column("format", "format", 7, priority=5, sort="format"),
    Column("size", "size", 8, priority=4, right=True, sort="size"),
    Column("rows", "rows", 9, priority=8, right=True, sort="rows"),
    Column("state", "problems", 13, priority=7, sort="state"),
    Column("sample", "sample", 12, weight=2, most=40, priority=3),
    Column("columns", "columns", 10, weight=4, priority=6),
)
PROBLEMS = (
    Column("line", "line", 9, priority=9),
    Column("message", "what is wrong, and what to do", 30, weight=4, priority=10),
)


@dataclass(frozen=True, slots=True)
class DatasetItem:
    """One file of the list. ``count`` is the records, why they cannot be counted, or None when not yet known;
    ``busy`` what is being done with it."""

    found: Found
    facts: DatasetFacts | None
    count: int | str | None
    survey: Survey | None
    sample: Mapping[str, Any]
    busy: str = ""


def dataset_row(item: DatasetItem, folder: Path) -> Row:
    """The row of a dataset; its key is the path."""
    facts = item.facts
    return Row(
        item.found.path,
        (
            Cell(short_path(item.found.path, folder), "title"),
            Cell(facts.format if facts is not None else "", "muted"),
            readable_size(item.found.size if facts is None else facts.size),
            _count_cell(item),
            _state_cell(item),
            Cell(", ".join(sample_parts(item.sample)) or "all", "" if item.sample else "muted"),
            Cell(", ".join(facts.columns) if facts is not None else "", "muted"),
        ),
    )


def _count_cell(item: DatasetItem) -> CellValue:
    if isinstance(item.count, int):
        return f"{item.count:,}"
    return Cell("?" if item.count else "…", "muted")


def _state_cell(item: DatasetItem) -> Cell:
    if item.busy:
        return Cell(f"… {item.busy}", "accent")
    if item.facts is not None and item.facts.trouble:
        return Cell("✗ cannot read", "failed")
    if isinstance(item.count, str):
        return Cell("✗ cannot count", "failed")
    if item.survey is None:
        return Cell("· unchecked", "muted")
    if item.survey.faults:
        return Cell(f"✗ {plural(len(item.survey.faults), 'problem')}", "failed")
    return Cell("✓ none", "passed")


def ordered(items: Iterable[DatasetItem], column: str, descending: bool) -> list[DatasetItem]:
    """In the order of the paths, or by a column; what has no such value comes last either way."""
    by_path = sorted(items, key=lambda item: item.found.path)
    value = _SORTS.get(column)
    if value is None:
        return by_path[::-1] if descending else by_path
    known = [item for item in by_path if value(item) is not None]
    return sorted(known, key=value, reverse=descending) + [item for item in by_path if value(item) is None]


_SORTS: dict[str, Callable[[DatasetItem], Any]] = {
    "format": lambda item: item.facts.format if item.facts is not None else None,
    "size": lambda item: item.found.size,
    "rows": lambda item: item.count if isinstance(item.count, int) else None,
    "state": lambda item: -len(item.survey.faults) if item.survey is not None else None,
}


def case_columns(facts: DatasetFacts) -> tuple[Column, ...]:
    """The columns of a preview: number, id, and the dataset's own; the first ones stay when it is narrow."""
    own = [name for name in facts.columns if name != facts.id_column][:MOST_COLUMNS]
    return (
        Column("number", "row", max(6, len(f"{facts.size // _LEAST_ROW:,}")), priority=99, right=True),
        Column("id", facts.id_column or "id (made)", 14, weight=1, most=30, priority=98),
        *(
            Column(f"column {place}", name, 14, weight=2, most=80, priority=97 - place)
            for place, name in enumerate(own)
        ),
    )


def case_row(number: int, case: Case, facts: DatasetFacts) -> Row:
    """The row of a case; its key is its number from 0."""
    own = [name for name in facts.columns if name != facts.id_column][:MOST_COLUMNS]
    cells = (cell_text(case.input[name]) if name in case.input else Cell("-", "muted") for name in own)
    return Row(number, (Cell(f"{number + 1:,}", "muted"), Cell(case.id, "title"), *cells))


def cell_text(value: JsonValue) -> str:
    """The beginning of a value on one line: texts as they are, the rest as JSON."""
    if isinstance(value, str):
        return value[:_CELL]
    if isinstance(value, list | dict) and len(value) > _CELL:
        head = list(value)[: _CELL // 4]
        value = head if isinstance(value, list) else {name: value[name] for name in head}
    return json.dumps(value, ensure_ascii=False)[:_CELL]


def case_text(case: Case) -> str:
    """All of a case: its id and line, then column after column, texts as they are and the rest as indented JSON."""
    made = "  (made from the content)" if case.generated_id else ""
    parts = [f"id    {case.id}{made}", f"line  {case.line}" if case.line else "", ""]
    for name, value in case.input.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        kind = {str: "text", bool: "true or false", int: "number", float: "number", list: "list", dict: "object"}
        parts += [f"── {name} ── {kind.get(type(value), 'null')} ──", text if text else "(empty)", ""]
    return "\n".join(parts)


def problem_row(place: int, fault: Fault) -> Row:
    """The row of a problem; its key is its place in the list."""
    where = f"{fault.line}:{fault.column}" if fault.column else str(fault.line or "-")
    sign = Cell("! ", "warning") if fault.warning else Cell("✗ ", "failed")
    message = f"{fault.path + ': ' if fault.path and not fault.line else ''}{fault.message}"
    hint = Cell(f"  → {fault.hint}" if fault.hint else "", "accent")
    return Row(place, ((sign, Cell(where)), (Cell(message), hint)))


def problem_text(fault: Fault, typed: str) -> str:
    """All of a problem, and the line of the file that it is about."""
    parts = [str(fault)]
    if typed:
        parts += ["", f"── line {fault.line} ──", typed]
    return "\n".join(parts)


def sample_yaml(path: str, settings: Mapping[str, Any], sample: Mapping[str, Any]) -> str:
    """A ``dataset`` section for a plan."""
    import yaml

    section: dict[str, Any] = {"path": path.replace("${", "$${"), **settings}
    if sample:
        section["sample"] = dict(sample)
    return str(yaml.safe_dump({"dataset": section}, sort_keys=False, allow_unicode=True, width=100))


def sample_text(item: DatasetItem, folder: Path) -> str:
    """What stands in the panel of the sample: what it takes, then the YAML."""
    facts, survey = item.facts, item.survey
    how = f"Read as in {facts.settings_of}." if facts is not None and facts.settings_of else ""
    if survey is not None:
        taken = f"{survey.selected:,} of {survey.count:,} cases take part."
    elif item.busy:
        taken = f"{item.busy[:1].upper()}{item.busy[1:]}…"
    else:
        taken = "How many cases take part is not known: c looks."
    head = [
        f"{taken} {how}".strip(),
        "t changes the sample, A takes all cases, y copies this for a plan in the workspace.",
        "",
    ]
    settings = facts.settings if facts is not None else {}
    return "\n".join(head) + "\n" + sample_yaml(relative_path(item.found.path, folder), settings, item.sample)


def problems(facts: DatasetFacts | None, survey: Survey | None) -> Sequence[Fault]:
    """Everything to say about a file: why it cannot be read, what is wrong in it, what one should know."""
    if facts is not None and facts.trouble:
        return facts.trouble
    if survey is None:
        return ()
    notes = [Fault(note, file=str(facts.path) if facts else "", warning=True) for note in survey.notes]
    return [*survey.faults, *notes]
