"""Two runs of the history compared: as data, Markdown or CSV."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from tui_eval.analysis.changes import MEANINGS, Change, Group, changes_of, counts_of
from tui_eval.analysis.compare import Comparison, compare_runs
from tui_eval.analysis.summary import total_of
from tui_eval.reports.csv import cell as csv_cell
from tui_eval.reports.markdown import cell, code
from tui_eval.reports.writing import iso
from tui_eval.store.records import Counters, RequestRecord, RunRecord, TaskRecord

if TYPE_CHECKING:
    from tui_eval.store.reader import History

OUTPUT_NOTE = "Outputs are compared by their first 200 characters."
_TOLD_EVERY = 1000
_MOST_ROWS = 500  # of one group in Markdown


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs, with the counters of all its requests added up."""

    run: RunRecord
    requests: tuple[RequestRecord, ...]
    total: Counters


@dataclass(frozen=True, slots=True)
class RunComparison:
    """``left`` is the run before, ``right`` the one after; ``notes`` is what a reader must know."""

    left: Side
    right: Side
    comparison: Comparison
    changes: list[Change] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[Group, int]:
        return counts_of(self.changes)

    @property
    def unchanged(self) -> int:
        """Tasks with the same outcome and the same output."""
        return self.comparison.same_outcome - self.counts[Group.OUTPUT]


def compare_stored(
    history: History, left: str, right: str, told: Callable[[int, int], None] = lambda done, total: None
) -> RunComparison:
    """Compare two runs by id (or a beginning of one, or ``last``). Raises UsageError for a run that is not there.

    Tasks belong together by request name, case id and repeat. Where each run has one request, these two are compared
    whatever they are called. ``told`` hears now and then how many tasks of how many were read; what it raises ends it.
    """
    with history.snapshot():
        sides = _side(history, left), _side(history, right)
        done, total = itertools.count(1), sum(side.total.total for side in sides)

        def tasks(side: Side, names: dict[int, str]) -> Iterator[tuple[str, TaskRecord]]:
            for task in history.iter_tasks(side.run):
                if (number := next(done)) % _TOLD_EVERY == 0:
                    told(number, total)
                yield names[task.request], task

        names = [{request.id: request.name for request in side.requests} for side in sides]
        notes: list[str] = []
        if len(names[0]) == len(names[1]) == 1 and set(names[0].values()) != set(names[1].values()):
            (old,), (new,) = names[0].values(), names[1].values()
            notes.append(f"request {old} of the earlier run is compared with {new} of the later one")
            names[0] = dict.fromkeys(names[0], new)
        comparison = compare_runs(*map(tasks, sides, names))
    if not comparison.compared and (comparison.new or comparison.removed):
        notes.append("the runs have no task in common (same request, case id and repeat)")
    if comparison.changed_case:
        notes.append(f"{len(comparison.changed_case):,} cases have another content")
    sent = len(comparison.changed_request) - len(comparison.changed_case)
    if sent > 0:
        notes.append(f"for {sent:,} more tasks something else was sent, or sent otherwise")
    return RunComparison(*sides, comparison, changes_of(comparison), tuple(notes))


def _side(history: History, run_id: str) -> Side:
    run = history.run(run_id)
    requests = tuple(history.requests(run))
    return Side(run, requests, total_of(request.counters for request in requests))


# -- data --


def comparison_data(found: RunComparison) -> dict[str, Any]:
    """Everything as JSON data."""
    return {
        "left": _side_data(found.left),
        "right": _side_data(found.right),
        "compared": found.comparison.compared,
        "unchanged": found.unchanged,
        "counts": {group.value: count for group, count in found.counts.items()},
        "notes": list(found.notes),
        "changes": [
            {
                "group": change.group.value,
                "request": change.request,
                "case_id": change.task.case_id,
                "repeat": change.task.repeat,
                "changed_case": change.changed_case,
                "changed_request": change.changed_request,
                "left": _task_data(change.before),
                "right": _task_data(change.after),
            }
            for change in found.changes
        ],
    }


def _side_data(side: Side) -> dict[str, Any]:
    counters, run = side.total, side.run
    counts = {name: getattr(counters, name) for name in ("total", "passed", "failed", "error", "unscored", "cancelled")}
    return {
        "run_id": run.run_id,
        "name": run.name,
        "created_at": iso(run.created_at),
        "counts": counts,
        "pass_rate": counters.pass_rate,
    }


def _task_data(task: TaskRecord | None) -> dict[str, Any] | None:
    if task is None:
        return None
    names = ("score", "latency", "error_kind", "message", "output")
    return {"outcome": task.outcome.value, **{name: getattr(task, name) for name in names}}


# -- files --


def write_markdown(stream: TextIO, found: RunComparison) -> None:
    """Both runs, the counts, and a table for each group that has any task."""
    lines = [f"# {cell(found.left.run.name)} → {cell(found.right.run.name)}", ""]
    lines += [
        "| | run | passed | decided | pass rate | error | unscored | tasks |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [_side_row(word, side) for word, side in (("before", found.left), ("after", found.right))]
    lines += ["", "| group | tasks | meaning |", "|---|---|---|"]
    lines += [f"| {group.value} | {count} | {MEANINGS[group]} |" for group, count in found.counts.items()]
    lines += [f"| unchanged | {found.unchanged} | the same outcome and output |", ""]
    lines += [f"- {code(note)}" for note in found.notes] + [f"- {OUTPUT_NOTE}", ""]
    for group, count in found.counts.items():
        if count:
            lines += _group_table(group, [change for change in found.changes if change.group is group])
    stream.writelines(line + "\n" for line in lines)


def _side_row(word: str, side: Side) -> str:
    counters = side.total
    rate = "-" if counters.pass_rate is None else f"{counters.pass_rate:.1%}"
    values = (counters.passed, counters.decided, rate, counters.error, counters.unscored, counters.total)
    return f"| {word} | {cell(side.run.run_id)} | {' | '.join(map(str, values))} |"


def _group_table(group: Group, changes: list[Change]) -> list[str]:
    lines = [f"## {group.value.capitalize()}: {MEANINGS[group]}", ""]
    lines += ["| request | case | before | after | output before | output after |", "|---|---|---|---|---|---|"]
    for change in changes[:_MOST_ROWS]:
        repeat = f" \\#{change.task.repeat + 1}" if change.task.repeat else ""
        cells = [cell(change.request), cell(change.task.case_id) + repeat]
        cells += [_outcome(change.before), _outcome(change.after)]
        cells += [_output(change.before), _output(change.after)]
        lines.append(f"| {' | '.join(cells)} |")
    if len(changes) > _MOST_ROWS:
        lines += ["", f"and {len(changes) - _MOST_ROWS} more"]
    return [*lines, ""]


def _outcome(task: TaskRecord | None) -> str:
    return "-" if task is None else task.outcome.value


def _output(task: TaskRecord | None) -> str:
    if task is None:
        return "-"
    return cell(task.output or task.message)


_COLUMNS: dict[str, Callable[[TaskRecord], Any]] = {
    "outcome": lambda task: task.outcome.value,
    "score": lambda task: task.score,
    "latency_seconds": lambda task: task.latency,
    "message": lambda task: task.message,
    "output": lambda task: task.output,
}


def write_csv(stream: TextIO, found: RunComparison) -> None:
    """One difference a row: group, request, case, repeat, what else changed, then each figure before and after."""
    writer = csv.writer(stream, lineterminator="\r\n")
    pairs = [f"{name}.{side}" for name in _COLUMNS for side in ("before", "after")]
    writer.writerow(["group", "request", "case_id", "repeat", "changed_case", "changed_request", *pairs])
    for change in found.changes:
        row: list[Any] = [change.group.value, change.request, change.task.case_id, change.task.repeat]
        row += [change.changed_case, change.changed_request]
        for value in _COLUMNS.values():
            row += [None if task is None else value(task) for task in (change.before, change.after)]
        writer.writerow([csv_cell(each) for each in row])


WRITERS: dict[str, Callable[[TextIO, RunComparison], None]] = {"md": write_markdown, "csv": write_csv}
