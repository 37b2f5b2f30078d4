"""Two runs side by side: what got better, what got worse, what cannot be compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tui_eval.domain import Outcome
from tui_eval.store.records import TaskRecord

Key = tuple[str, str, int]
"""Request name, case id, repeat: what makes a task of one run the same task in another."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One task in both runs. ``request`` is the request's name."""

    request: str
    before: TaskRecord
    after: TaskRecord

    @property
    def changed_case(self) -> bool:
        """The case's own content differs (a history keeps equal cases under one key)."""
        return self.before.case_key != self.after.case_key

    @property
    def changed_request(self) -> bool:
        """What was sent differs: the case, the template or the solution."""
        return self.before.fingerprint != self.after.fingerprint

    @property
    def changed_output(self) -> bool:
        """The outputs differ, as far as task records hold them (their first 200 characters)."""
        return self.before.output != self.after.output


@dataclass(slots=True)
class Comparison:
    """The tasks of two runs. A pair stands in one of the first four lists; ``changed_output``, ``changed_case`` and
    ``changed_request`` are looked at besides. ``new`` and ``removed`` are (request name, task)."""

    passed_to_failed: list[Pair] = field(default_factory=list)
    failed_to_passed: list[Pair] = field(default_factory=list)
    other_outcome: list[Pair] = field(default_factory=list)
    same_outcome: int = 0
    changed_output: list[Pair] = field(default_factory=list)
    changed_case: list[Pair] = field(default_factory=list)
    changed_request: list[Pair] = field(default_factory=list)
    new: list[tuple[str, TaskRecord]] = field(default_factory=list)
    removed: list[tuple[str, TaskRecord]] = field(default_factory=list)

    @property
    def compared(self) -> int:
        return len(self.passed_to_failed) + len(self.failed_to_passed) + len(self.other_outcome) + self.same_outcome


def compare_runs(before: Iterable[tuple[str, TaskRecord]], after: Iterable[tuple[str, TaskRecord]]) -> Comparison:
    """Compare two runs given as (request name, task). Lists follow the order of ``after``, ``removed`` that of
    ``before``."""
    old: dict[Key, TaskRecord] = {(request, task.case_id, task.repeat): task for request, task in before}
    result = Comparison()
    for request, task in after:
        earlier = old.pop((request, task.case_id, task.repeat), None)
        if earlier is None:
            result.new.append((request, task))
        else:
            _place(result, Pair(request, earlier, task))
    result.removed = [(request, task) for (request, _, _), task in old.items()]
    return result


def _place(result: Comparison, pair: Pair) -> None:
    change = (pair.before.outcome, pair.after.outcome)
    if change == (Outcome.PASSED, Outcome.FAILED):
        result.passed_to_failed.append(pair)
    elif change == (Outcome.FAILED, Outcome.PASSED):
        result.failed_to_passed.append(pair)
    elif change[0] is not change[1]:
        result.other_outcome.append(pair)
    else:
        result.same_outcome += 1
    if pair.changed_output:
        result.changed_output.append(pair)
    if pair.changed_case:
        result.changed_case.append(pair)
    if pair.changed_request:
        result.changed_request.append(pair)
