"""Which tasks a re-run or a resume takes: a pure decision from what was and what is planned now.

A task is the same task when its case id and repeat are the same; its answer can be taken over when the fingerprint of
(rendered request, solution) is the same too, and its score when that of (evaluators, expected values) is: otherwise the
answer is judged again. An answer to another request is taken over only because nobody asked for it again, and is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from tui_eval.domain import Outcome

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class OldTask:
    """A task as the earlier run left it. ``has_answer``: its answer is still in the history."""

    case_id: str
    repeat: int
    outcome: Outcome
    fingerprint: str
    evaluation_fingerprint: str
    has_answer: bool


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task as it would be made now (from the changed dataset, or from the stored cases)."""

    case_id: str
    repeat: int
    fingerprint: str
    evaluation_fingerprint: str


@dataclass(frozen=True, slots=True)
class Action:
    """What to run again. All off is a resume: only what has no final state.

    ``failed`` takes what has no pass: failed verdicts and errors; ``errors`` the errors alone. ``unscored`` judges
    again (also done without it). ``unfinished`` is always on and only named for the reader. ``cases`` calls these case
    ids whatever they were, ``all`` every task, ``new`` also the tasks that the earlier run did not have.
    """

    failed: bool = False
    errors: bool = False
    unscored: bool = False
    unfinished: bool = True
    cases: frozenset[str] = frozenset()
    all: bool = False
    new: bool = False


class Decision(StrEnum):
    """What becomes of a planned task."""

    CALL = "call"  # call the agent, then judge
    SCORE = "score"  # keep the answer, only judge it again
    REUSE = "reuse"  # take over answer, scores and outcome
    LEAVE_OUT = "leave_out"  # new since the earlier run, and not asked for


@dataclass(frozen=True, slots=True)
class Decided:
    """One planned task with its decision. ``changed``: its request is not the one the old result was made from;
    ``changed_expected``: its evaluators or expected value are not."""

    task: PlannedTask
    decision: Decision
    changed: bool = False
    changed_expected: bool = False


@dataclass(slots=True)
class Selection:
    """The decisions in the order planned, and what the user should be told: keys (case id, repeat) of tasks whose
    request changed, whose expected value or evaluators changed, that are new, that are gone (``removed``), and named
    case ids that are not there (``unknown_cases``)."""

    decisions: list[Decided] = field(default_factory=list)
    changed: list[Key] = field(default_factory=list)
    changed_expected: list[Key] = field(default_factory=list)
    new: list[Key] = field(default_factory=list)
    removed: list[Key] = field(default_factory=list)
    unknown_cases: list[str] = field(default_factory=list)

    def count(self, decision: Decision) -> int:
        return sum(decided.decision is decision for decided in self.decisions)


def select(old: Iterable[OldTask], planned: Iterable[PlannedTask], action: Action) -> Selection:
    """Decide every planned task of one request. The same arguments give the same selection, and a selection made
    again after it was partly carried out calls only what is still without a result."""
    before = {(task.case_id, task.repeat): task for task in old}
    result = Selection()
    seen: set[str] = set()
    for task in planned:
        key = (task.case_id, task.repeat)
        seen.add(task.case_id)
        earlier = before.pop(key, None)
        if earlier is None:
            wanted = action.new or task.case_id in action.cases
            result.new.append(key)
            result.decisions.append(Decided(task, Decision.CALL if wanted else Decision.LEAVE_OUT))
            continue
        changed = task.fingerprint != earlier.fingerprint
        changed_expected = task.evaluation_fingerprint != earlier.evaluation_fingerprint
        if changed:
            result.changed.append(key)
        if changed_expected:
            result.changed_expected.append(key)
        decision = _decide(earlier, changed, changed_expected, action)
        result.decisions.append(Decided(task, decision, changed, changed_expected))
    result.removed = list(before)
    result.unknown_cases = sorted(action.cases - seen)
    return result


def _decide(earlier: OldTask, changed: bool, changed_expected: bool, action: Action) -> Decision:
    outcome = earlier.outcome
    same_answer = earlier.has_answer and bool(earlier.fingerprint) and not changed
    if action.all or earlier.case_id in action.cases or not outcome.final or outcome is Outcome.CANCELLED:
        return Decision.CALL
    if outcome is Outcome.UNSCORED:
        if same_answer:
            return Decision.SCORE
        return Decision.CALL if action.unscored else Decision.REUSE
    if outcome is Outcome.ERROR and (action.errors or action.failed):
        return Decision.CALL
    if outcome is Outcome.FAILED and action.failed:
        return Decision.CALL
    judged = outcome in (Outcome.PASSED, Outcome.FAILED)
    return Decision.SCORE if judged and changed_expected and same_answer else Decision.REUSE
