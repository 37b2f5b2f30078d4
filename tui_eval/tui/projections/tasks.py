"""Tasks, groups of failures, running tasks and the log of a run as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tui_eval.analysis.failures import normalised, said
from tui_eval.display import duration, local_time
from tui_eval.domain import Outcome
from tui_eval.store.records import Activity, LogLine, TaskRecord
from tui_eval.store.run_queries import FailureRow
from tui_eval.tui.text import line, outcome_text, whole_seconds
from tui_eval.tui.widgets.cells import Cell, Column, Row

TASKS = (
    Column("outcome", "outcome", 11, priority=10, sort="outcome"),
    Column("case", "case", 12, weight=2, most=40, priority=9, sort="case_id"),
    Column("request", "request", 10, weight=1, most=20, priority=5),
    Column("latency", "took", 9, priority=6, right=True, sort="latency"),
    Column("score", "score", 6, priority=4, right=True, sort="score"),
    Column("attempts", "tries", 5, priority=3, right=True, sort="attempts"),
    Column("text", "message or output", 14, weight=5, priority=8),
)
REPEAT = Column("repeat", "#", 3, priority=7, right=True)
"""Which repeat a task is, behind its case where cases are asked more than once."""
FAILURES = (
    Column("count", "how many", 8, priority=10, right=True),
    Column("outcome", "outcome", 10, priority=8),
    Column("text", "message", 20, weight=5, priority=9),
    Column("where", "request", 10, weight=1, most=20, priority=3),
)
SLOTS = (
    Column("phase", "doing", 11, priority=9),
    Column("since", "for", 8, priority=8, right=True),
    Column("case", "case", 12, weight=2, most=40, priority=10),
    Column("request", "request", 10, weight=1, most=20, priority=4),
    Column("attempt", "try", 3, priority=3, right=True),
    Column("detail", "detail", 10, weight=3, priority=5),
)
LOG = (Column("at", "time", 8), Column("level", "", 7, priority=2), Column("text", "what happened", 20, weight=1))

MOST_MESSAGES = 3000
OTHER = "(other messages)"


def columns(repeats: bool) -> tuple[Column, ...]:
    """The columns of the tasks of a run, with ``repeats`` when it asks cases more than once."""
    return (*TASKS[:2], REPEAT, *TASKS[2:]) if repeats else TASKS


def has_repeats(plan: Mapping[str, Any]) -> bool:
    """Whether a run with this plan asks any of its cases more than once."""
    sections = [plan.get("defaults"), *(plan.get("requests") or ())]
    executions = [each.get("execution") for each in sections if isinstance(each, Mapping)]
    return any(isinstance(each, Mapping) and (each.get("n_repeat") or 1) > 1 for each in executions)


def task_row(task: TaskRecord, request_names: Mapping[int, str], live: bool, repeats: bool = False) -> Row:
    """A task (its key is its key in the history). ``live`` is False when no runner executes the run: nothing runs;
    ``repeats`` as for :func:`columns`."""
    shown = Outcome.QUEUED if task.outcome is Outcome.RUNNING and not live else task.outcome
    outcome = [Cell(outcome_text(shown), shown.value)]
    if task.reused_from:
        outcome.append(Cell(" ↺", "muted"))
    return Row(
        task.id,
        (
            tuple(outcome),
            *((task.case_id, Cell(str(task.repeat + 1), "muted")) if repeats else (case_text(task),)),
            Cell(request_names.get(task.request, ""), "muted"),
            duration(task.latency),
            "-" if task.score is None else f"{task.score:.2f}",
            str(task.attempts),
            Cell(task.message) if task.message else Cell(task.output, "muted"),
        ),
    )


def case_text(task: TaskRecord) -> str:
    """``order-17``, ``order-17 #2`` the second time the case is asked."""
    return f"{task.case_id} #{task.repeat + 1}" if task.repeat else task.case_id


@dataclass(slots=True)
class Group:
    """Failures of one kind: same outcome and kind of error, messages that differ only in particulars."""

    outcome: Outcome
    error_kind: str
    pattern: str
    message: str
    count: int = 0
    tasks: list[int] = field(default_factory=list)
    messages: set[str] = field(default_factory=set)
    requests: dict[int, None] = field(default_factory=dict)
    same: bool = True

    @property
    def key(self) -> tuple[str, str, str]:
        return self.outcome.value, self.error_kind, self.pattern

    @property
    def label(self) -> str:
        return (self.message if self.same else said(self.pattern)) or self.error_kind or self.outcome.value


def group_rows(failures: Sequence[FailureRow]) -> list[Group]:
    """The groups of a run's failures, the largest first. ``tasks`` has the first task of each different message."""
    groups: dict[tuple[str, str, str], Group] = {}
    for place, row in enumerate(failures):
        # Finding what two messages have in common is dear; the most frequent ones come first.
        pattern = normalised(row.message) if place < MOST_MESSAGES else OTHER
        key = row.outcome.value, row.error_kind, pattern
        group = groups.get(key)
        if group is None:
            group = groups[key] = Group(row.outcome, row.error_kind, pattern, row.message)
        group.same = group.same and row.message == group.message
        group.count += row.count
        group.tasks.append(row.task)
        group.messages.add(row.message)
        group.requests[row.request] = None
    return sorted(groups.values(), key=lambda each: -each.count)


def chosen_text(
    request: int | None,
    failure: tuple[str, str, str] | None,
    groups: Sequence[Group],
    request_names: Mapping[int, str],
) -> str:
    """What the table of tasks is narrowed to by a request and a group of failures, on one line."""
    parts = []
    if request is not None:
        parts.append(f"request {line(request_names.get(request, ''), 60)}")
    if failure is not None:
        group = next((each for each in groups if each.key == failure), None)
        label = said(failure[2]) if group is None else group.label
        parts.append(f"{outcome_text(Outcome(failure[0]))}: {line(label, 300)}")
    return f"esc shows all · only {', '.join(parts)}"


def failure_row(group: Group, request_names: Mapping[int, str]) -> Row:
    """The row of tasks that failed alike; its key is the group's."""
    where = ", ".join(request_names.get(request, "") for request in group.requests)
    return Row(
        group.key,
        (
            f"{group.count:,} ×",
            Cell(outcome_text(group.outcome), group.outcome.value),
            group.label,
            Cell(where, "muted"),
        ),
    )


def slot_row(activity: Activity, task: TaskRecord | None, request_names: Mapping[int, str], now: float) -> Row:
    """What one running task is doing, and for how long."""
    detail = activity.detail
    if activity.until is not None:
        detail = f"{max(0.0, activity.until - now):.0f} s left {detail}".strip()
    return Row(
        activity.task,
        (
            Cell(activity.phase, "running"),
            whole_seconds(now - activity.since),
            case_text(task) if task is not None else str(activity.task),
            Cell(request_names.get(task.request, "") if task is not None else "", "muted"),
            str(activity.attempt),
            Cell(detail, "muted"),
        ),
    )


def log_row(entry: LogLine) -> Row:
    """A line of the log (its key is its key in the history)."""
    style = {"warning": "warning", "error": "failed"}.get(entry.level, "muted")
    return Row(entry.id, (Cell(local_time(entry.at)[11:], "muted"), Cell(entry.level, style), entry.message))
