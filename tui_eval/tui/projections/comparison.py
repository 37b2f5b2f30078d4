"""The differences between two runs: rows, the filter over them, and the two sides of one difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tui_eval.analysis.changes import Change, Group
from tui_eval.display import duration, local_time
from tui_eval.domain import Score
from tui_eval.reports.comparison import RunComparison, Side
from tui_eval.store.records import TaskRecord
from tui_eval.text_query import TextQuery, Word, query, words
from tui_eval.tui.projections.diff_parts import compared
from tui_eval.tui.projections.json_layout import value_text
from tui_eval.tui.projections.task_sections import score_line
from tui_eval.tui.text import outcome_text, plural
from tui_eval.tui.widgets.cells import Cell, Column, Row
from tui_eval.tui.widgets.counts import percent
from tui_eval.tui.widgets.styled_text import Part

LOOKS = {
    Group.WORSE: ("✗", "failed"),
    Group.BETTER: ("✓", "passed"),
    Group.OTHER: ("!", "error"),
    Group.OUTPUT: ("≠", "accent"),
    Group.NEW: ("+", ""),
    Group.REMOVED: ("-", "muted"),
}
"""Sign and style of each group; the word always stands beside it."""

COLUMNS = (
    Column("group", "change", 9, priority=10),
    Column("case", "case", 14, weight=2, most=40, priority=9),
    Column("request", "request", 10, weight=1, most=20, priority=4),
    Column("outcome", "before → after", 23, priority=8),
    Column("asked", "asked", 7, priority=2),
    Column("text", "output or message after", 12, weight=4, priority=6),
)


def change_row(change: Change) -> Row:
    """A difference (its key is request name, case id and repeat)."""
    sign, style = LOOKS[change.group]
    task = change.task
    asked = "other" if change.changed_case or change.changed_request else ""
    return Row(
        change.key,
        (
            Cell(f"{sign} {change.group.value}", style),
            task.case_id + (f" #{task.repeat + 1}" if task.repeat else ""),
            Cell(change.request, "muted"),
            (*_outcome(change.before), Cell(" → ", "muted"), *_outcome(change.after)),
            Cell(asked, "warning"),
            Cell(task.message) if task.message else Cell(task.output, "muted"),
        ),
    )


def _outcome(task: TaskRecord | None) -> tuple[Cell, ...]:
    return (Cell("–", "muted"),) if task is None else (Cell(outcome_text(task.outcome), task.outcome.value),)


def side_cells(word: str, side: Side, other: Side | None = None) -> tuple[Cell, ...]:
    """``after   20261129-… quickstart  93.3%  +2.2``: one run above the table; with ``other`` the change from it."""
    rate = side.total.pass_rate
    cells = [
        Cell(f"{word:<7}", "muted"),
        Cell(f"{percent(rate):>6} passed" if rate is not None else "no verdict", "title"),
        Cell(f" ({side.total.passed:,} of {side.total.decided:,} decided)", "muted"),
    ]
    if other is not None and rate is not None and other.total.pass_rate is not None:
        points = (rate - other.total.pass_rate) * 100
        style = "passed" if points > 0 else "failed" if points < 0 else "muted"
        cells.append(Cell(f" {points:+.1f} points", style))
    run = side.run
    return (
        *cells,
        Cell(f"  {run.name}", "accent"),
        Cell(f"  {run.run_id}  {local_time(run.created_at)[:16]}", "muted"),
    )


def count_cells(found: RunComparison, only: Group | None, short: bool) -> tuple[Cell, ...]:
    """``✗ 3 worse  ✓ 5 better …``; the group that alone is shown stands in brackets."""
    cells: list[Cell] = []
    for group, count in found.counts.items():
        sign, style = LOOKS[group]
        text = f"{sign}{count:,} {group.value}" if short else f"{sign} {count:,} {group.value}"
        text = f"[{text}]" if group is only else text
        cells += [Cell(" " if short and cells else "  " if cells else ""), Cell(text, style if count else "muted")]
    return (*cells, Cell(f"{' ' if short else '  '}= {found.unchanged:,} unchanged", "muted"))


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Which differences are shown. ``wrong`` says what cannot be understood."""

    text: TextQuery = field(default_factory=TextQuery)
    group: Group | None = None
    wrong: str = ""


def parse(text: str) -> ChangeFilter:
    """``refund is:worse``: words that case, request, message or output have, and at most one group."""
    rest: list[Word] = []
    group: Group | None = None
    wrong = ""
    for word in words(text, ("is",)):
        if not word.field:
            rest.append(word)
        elif word.text in list(Group) and not word.excluded:
            group = Group(word.text)
        else:
            wrong = f"is: one of {', '.join(Group)}"
    return ChangeFilter(query(rest), group, wrong)


def filtered(changes: Sequence[Change], wanted: ChangeFilter) -> list[Change]:
    """The differences that match, in their order. Upper and lower case are alike."""
    kept = [change for change in changes if wanted.group in (None, change.group)]
    if not wanted.text:
        return kept
    return [change for change in kept if wanted.text.matches(_text(change))]


def _text(change: Change) -> str:
    texts = [change.request]
    for task in (change.before, change.after):
        texts += [task.case_id, task.message, task.output] if task is not None else []
    return "\n".join(texts)


@dataclass(frozen=True, slots=True)
class PairSide:
    """A task of one of the runs with its answer (None: there is none) and its scores."""

    task: TaskRecord
    answer: dict[str, Any] | None
    scores: tuple[Score, ...]


def side_parts(word: str, side: PairSide | None) -> Iterator[Part]:
    """One side of a difference: outcome, output, scores."""
    yield f"{word}  ", "heading"
    if side is None:
        yield "This run does not have the task.", "muted"
        return
    task = side.task
    yield outcome_text(task.outcome), task.outcome.value
    yield f"  {duration(task.latency)}  {plural(task.attempts, 'attempt')}\n", "muted"
    if task.message:
        yield f"{task.message}\n", ""
    yield "\n", ""
    text = output_of(side)
    yield (
        (text or '(an empty text: "")', "" if text else "muted")
        if side.answer is not None
        else (
            "There is no usable answer.",
            "muted",
        )
    )
    yield "\n\n", ""
    for score in side.scores:
        yield from score_line(score)


def output_of(side: PairSide | None) -> str:
    """The output as text, JSON laid out; empty without one."""
    return "" if side is None or side.answer is None else value_text(side.answer.get("output"), False)


def diff_parts(before: PairSide | None, after: PairSide | None) -> Iterator[Part]:
    """The outputs of both sides compared word by word."""
    if before is None or after is None or before.answer is None or after.answer is None:
        which = "before" if before is None or before.answer is None else "after"
        yield f"There is nothing to compare: no output {which}.", "muted"
        return
    yield from compared(output_of(before), output_of(after), ("only before", "only after"))
