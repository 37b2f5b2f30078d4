"""The differences between two runs as one list: every task once, in the group that matters most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tui_eval.analysis.compare import Comparison, Key
from tui_eval.store.records import TaskRecord


class Group(StrEnum):
    """What became of a task from the earlier run (before) to the later one (after), the most urgent first."""

    WORSE = "worse"  # passed -> failed
    BETTER = "better"  # failed -> passed
    OTHER = "other"  # another outcome otherwise: errors that came or went, unscored, cancelled, not finished
    OUTPUT = "output"  # the same outcome with another output
    NEW = "new"  # only in the later run
    REMOVED = "removed"  # only in the earlier run


MEANINGS = {
    Group.WORSE: "passed before, failed now",
    Group.BETTER: "failed before, passed now",
    Group.OTHER: "another outcome: errors that came or went, not scored, not finished",
    Group.OUTPUT: "the same outcome, another output",
    Group.NEW: "only in the later run",
    Group.REMOVED: "only in the earlier run",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One task that is different. ``request`` is the request's name; ``changed_case`` and ``changed_request``: not
    only the answer is different, but what was asked."""

    group: Group
    request: str
    before: TaskRecord | None
    after: TaskRecord | None
    changed_case: bool = False
    changed_request: bool = False

    @property
    def task(self) -> TaskRecord:
        """The later task, else the earlier one."""
        task = self.after or self.before
        assert task is not None
        return task

    @property
    def key(self) -> Key:
        return self.request, self.task.case_id, self.task.repeat


def changes_of(comparison: Comparison) -> list[Change]:
    """All differences, group by group, within a group in the order of the comparison."""
    found: list[Change] = []
    seen: set[Key] = set()
    for group, pairs in (
        (Group.WORSE, comparison.passed_to_failed),
        (Group.BETTER, comparison.failed_to_passed),
        (Group.OTHER, comparison.other_outcome),
        (Group.OUTPUT, comparison.changed_output),
    ):
        for pair in pairs:
            change = Change(group, pair.request, pair.before, pair.after, pair.changed_case, pair.changed_request)
            if change.key not in seen:
                seen.add(change.key)
                found.append(change)
    found += [Change(Group.NEW, request, None, task) for request, task in comparison.new]
    found += [Change(Group.REMOVED, request, task, None) for request, task in comparison.removed]
    return found


def counts_of(changes: Sequence[Change]) -> dict[Group, int]:
    """How many tasks are in each group, zeros included, in the order of the groups."""
    counts = dict.fromkeys(Group, 0)
    for change in changes:
        counts[change.group] += 1
    return counts
