"""What AgentLoop has, as rows and texts; and what is said on the screen of a run about its records on platforms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_eval.display import local_time, one_line
from tui_eval.domain import as_text
from tui_eval.tui.widgets.cells import Cell, CellValue, Column, Row

if TYPE_CHECKING:
    from tui_eval.store.platform_records import PlatformRecord, ReportCounts
    from tui_eval.text_query import TextQuery
    from tui_eval.tui.widgets.styled_text import Part

SPACES = (Column("name", "space", 16, weight=2), Column("about", "", 12, weight=2, priority=2))
OFFERED = (Column("name", "evaluator", 24, weight=2), Column("about", "", 12, weight=2, priority=2))
COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "plans": (
        Column("name", "plan", 14, weight=2, most=50, priority=9),
        Column("type", "runnable here", 20, priority=8),
        Column("dataset", "dataset", 10, weight=1, most=40, priority=7),
        Column("id", "id", 10, weight=1, most=40, priority=5),
        Column("runs", "runs", 5, priority=4, right=True),
        Column("changed", "changed", 19, priority=3),
    ),
    "datasets": (
        Column("name", "dataset", 16, weight=2, most=60, priority=9),
        Column("about", "description", 12, weight=2, priority=5),
        Column("changed", "changed", 19, priority=4),
    ),
    "evaluators": (
        Column("name", "evaluator", 20, weight=2, most=60, priority=9),
        Column("type", "type", 14, priority=6),
        Column("metric", "result", 12, weight=1, most=30, priority=7),
        Column("version", "version", 8, priority=3),
        Column("about", "description", 12, weight=2, priority=2),
    ),
    "runs": (
        Column("name", "experiment run", 16, weight=2, most=60, priority=9),
        Column("status", "status", 10, priority=8),
        Column("tasks", "tasks", 11, priority=7, right=True),
        Column("failed", "failed", 6, priority=6, right=True),
        Column("id", "record", 10, weight=1, most=40, priority=4),
        Column("started", "started", 19, priority=3),
    ),
}
EMPTY = {
    "plans": "This agent space has no experiment plan.",
    "datasets": "This agent space has no dataset.",
    "evaluators": "This agent space has no evaluator.",
    "runs": "Nothing has been run in this agent space yet.",
}
_KEYS = {"plans": "plan_id", "runs": "record_id"}
_FIRST = frozenset(("scores", "evaluation", "evaluators", "columns", "variables", "rows"))
_TIMES = frozenset(("created_at", "updated_at", "executed_at", "completed_at"))


def key_of(name: str, item: Any) -> str:
    """What the platform calls an item of a list by."""
    return str(getattr(item, _KEYS.get(name, "name")))


def item_row(name: str, item: Any) -> Row:
    """An item of a list."""
    return Row(key_of(name, item), _CELLS[name](item))


def item_rows(name: str, items: Iterable[Any], sought: TextQuery) -> list[Row]:
    """Those items of a list that have what is sought in one of their columns."""
    rows = (item_row(name, item) for item in items)
    return [row for row in rows if sought.matches("\n".join(_cell_text(cell) for cell in row.cells))]


def _cell_text(cell: CellValue) -> str:
    if isinstance(cell, tuple):
        return " ".join(each.text for each in cell)
    return cell.text if isinstance(cell, Cell) else cell


def _plan(plan: Any) -> tuple[Any, ...]:
    if plan.runnable:
        runnable = Cell("yes", "passed")
    elif plan.type == "offline":
        runnable = Cell("no: has no dataset", "muted")
    else:
        runnable = Cell(f"no: {plan.type or 'not offline'}", "muted")
    runs = "-" if plan.runs is None else str(plan.runs)
    return plan.name or plan.plan_id, runnable, plan.dataset, plan.plan_id, runs, _when(plan.updated_at)


def _dataset(dataset: Any) -> tuple[Any, ...]:
    return dataset.name, dataset.description, _when(dataset.updated_at or dataset.created_at)


def _evaluator(one: Any) -> tuple[Any, ...]:
    return one.name, one.type, one.metric, one.version, one.description or one.display_name


def _run(run: Any) -> tuple[Any, ...]:
    tasks = f"{run.completed or 0}/{run.total}" if run.total is not None else "-"
    failed = Cell(str(run.failed or 0), "failed" if run.failed else "muted")
    return run.name or run.plan_name, run.status, tasks, failed, run.record_id, _when(run.executed_at)


_CELLS = {"plans": _plan, "datasets": _dataset, "evaluators": _evaluator, "runs": _run}


def _when(seconds: float | None) -> str:
    return "-" if seconds is None else local_time(seconds)


# -- one thing --


def detail_parts(data: Mapping[str, Any], asked_ago: float | None) -> Iterator[Part]:
    """Everything that is known about one thing. ``asked_ago`` in seconds, None when only the list is known."""
    if asked_ago is None:
        yield "From the list; press i to ask the platform for all of it.\n\n", "muted"
    else:
        yield f"As the platform said {ago(asked_ago)}.\n\n", "muted"
    # What one looks for first: it need not be scrolled to.
    for name in sorted(data, key=lambda name: name not in _FIRST):
        value = data[name]
        if value in (None, "", (), [], {}):
            continue
        title = name.replace("_", " ")
        if name in _TIMES:
            yield from _field(title, _when(value))
        elif name == "columns":
            yield from _mapping(title, value)
        elif name == "rows":
            yield from _rows(value)
        elif name == "scores":
            yield from _mapping(title, {score: _score_text(found) for score, found in value.items()})
        elif name == "evaluators":
            yield from _evaluators(value)
        elif isinstance(value, Mapping):
            yield from _mapping(title, value)
        elif isinstance(value, list | tuple):
            yield from _field(title, ", ".join(as_text(one) for one in value))
        else:
            yield from _field(title, as_text(value))


def _field(title: str, text: str) -> Iterator[Part]:
    yield f"{title}  ", "label"
    yield f"{text}\n", ""


def _mapping(title: str, values: Mapping[str, Any]) -> Iterator[Part]:
    yield f"{title}\n", "heading"
    for name, value in values.items():
        if value is not None:
            yield f"  {name}  ", "label"
            yield f"{as_text(value)}\n", ""


def _rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    yield f"first {len(rows)} rows\n", "heading"
    for place, row in enumerate(rows):
        yield "\n" if place else "", ""
        for name, value in row.items():
            yield f"  {name}  ", "label"
            yield f"{one_line(as_text(value), 200)}\n", ""


def _evaluators(evaluators: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    yield "the platform judges with\n", "heading"
    for one in evaluators:
        yield f"  {_name_of(one)}\n", ""
        mapping = one.get("variableMapping")
        for variable, source in mapping.items() if isinstance(mapping, Mapping) else ():
            yield f"    {variable}  ", "label"
            yield f"{as_text(source)}\n", ""


def change_lines(before: Sequence[Mapping[str, Any]], added: Sequence[Mapping[str, Any]]) -> list[str]:
    """What giving a plan of the platform more evaluators changes, for the question before it."""
    now = ", ".join(one_line(_name_of(one), 60) for one in before) or "no evaluator"
    lines = [f"judged now with {now}: stays as it is" if before else "judged now with no evaluator"]
    for one in added:
        result = one_line(as_text(one.get("resultName") or one.get("resultType") or ""), 40)
        lines.append(f"+ {one_line(_name_of(one), 60)}" + (f" gives {result}" if result else ""))
        mapping = one.get("variableMapping")
        for variable, source in mapping.items() if isinstance(mapping, Mapping) else ():
            lines.append(f"    {one_line(variable, 40)} is {one_line(as_text(source), 60)}")
        for part in ("filters", "config"):
            if one.get(part):
                lines.append(f"    {part} {one_line(as_text(one[part]), 100)}")
    return [*lines, "Runs of this plan by others are judged so too."]


def _name_of(evaluator: Mapping[str, Any]) -> str:
    return as_text(evaluator.get("evaluatorRef") or evaluator.get("name") or "?")


def _score_text(found: Mapping[str, Any]) -> str:
    mean = found.get("mean")
    return f"{found.get('count', 0)} scores" + ("" if mean is None else f", mean {mean:.3g}")


def age_text(seconds: float) -> str:
    """How old a list is."""
    return f"as of {ago(seconds)}"


def ago(seconds: float) -> str:
    """How long ago something was, in one unit: ``just now``, ``40 s ago``, ``18 min ago``, ``5 h ago``, ``3 days ago``."""
    if seconds < 20:
        return "just now"
    for limit, size, unit in ((60, 1, "s"), (3600, 60, "min"), (48 * 3600, 3600, "h")):
        if seconds < limit:
            return f"{int(seconds / size)} {unit} ago"
    return f"{int(seconds / 86400)} days ago"


# -- on the screen of a run --


def record_lines(
    records: Iterable[tuple[PlatformRecord, ReportCounts]], names: Mapping[int, str], most: int
) -> list[list[Cell]]:
    """A line a record, those with trouble first, at most ``most``; the last one says how many there are more."""
    found = sorted(records, key=lambda each: not (each[0].error or each[1].doubtful or each[1].refused))
    lines = [_record_line(record, counts, names.get(record.request, "")) for record, counts in found[:most]]
    if len(found) > most and lines:
        lines[-1].append(Cell(f"  (and {len(found) - most} more records)", "muted"))
    return lines


def _record_line(record: PlatformRecord, counts: ReportCounts, request: str) -> list[Cell]:
    where = f"{record.record_id} {record.status}".strip() or "no record yet"
    parts = [
        Cell(f"{record.platform} ", "muted"),
        Cell(one_line(f"{request}: {where}", 70)),
        Cell(f", {counts.sent:,} of {counts.total:,} reported"),
    ]
    if counts.doubtful:
        parts.append(Cell(f", {counts.doubtful:,} doubtful", "warning"))
    if counts.refused:
        parts.append(Cell(f", {counts.refused:,} refused", "warning"))
    if record.evaluation:
        scored = record.evaluation.get("scored") or 0
        parts.append(Cell(f", {scored} scored ({one_line(str(record.evaluation.get('status', '')), 20)})"))
    if record.error:
        parts.append(Cell(f"; {one_line(record.error, 300)}", "warning"))
    return parts
