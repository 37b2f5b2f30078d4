"""What a request or a run comes to: rates over what was decided, means over what was scored, never over the holes."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from tui_eval.analysis.repeats import CaseRepeats, RepeatSummary, count_repeat, summarise_repeats
from tui_eval.analysis.statistics import Mean, Rate, RunningMean, percentile, rate_of
from tui_eval.domain import Outcome, Score
from tui_eval.store.records import Counters, RunState, TaskRecord


@dataclass(frozen=True, slots=True)
class EvaluatorSummary:
    """One evaluator over all answers it was given. ``undecided`` counts the scores with an error; ``informative`` the
    ones with a value and no verdict (no threshold)."""

    name: str
    values: Mean
    verdicts: Rate
    undecided: int = 0
    informative: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """One request, or a whole run. Latencies are in seconds, None when no answer was timed.

    ``mean`` is over the tasks that have a score; ``pass_rate`` is over the decided tasks, not over all.
    """

    counters: Counters
    pass_rate: Rate
    mean: Mean
    evaluators: tuple[EvaluatorSummary, ...] = ()
    latency_p50: float | None = None
    latency_p95: float | None = None
    repeats: tuple[RepeatSummary, ...] = ()

    @property
    def decided_text(self) -> str:
        return decided_text(self.counters)


@dataclass(slots=True)
class _EvaluatorTally:
    values: RunningMean = field(default_factory=RunningMean)
    passed: int = 0
    failed: int = 0
    undecided: int = 0
    informative: int = 0

    def add(self, value: float | None, passed: bool | None, undecided: bool) -> None:
        self.values.add(value)
        if passed is not None:
            self.passed += passed
            self.failed += not passed
        elif undecided:
            self.undecided += 1
        else:
            self.informative += 1


@dataclass(slots=True)
class Tally:
    """Collects the tasks of one request one at a time. ``repeats`` is the plan's ``n_repeat``.

    Memory grows by 8 bytes an answer (its latency) and, when cases are repeated, by one small record a case.
    """

    repeats: int = 1
    _mean: RunningMean = field(default_factory=RunningMean)
    _evaluators: dict[str, _EvaluatorTally] = field(default_factory=dict)
    _latencies: array[float] = field(default_factory=lambda: array("d"))
    _cases: dict[str, CaseRepeats] = field(default_factory=dict)

    def add(self, task: TaskRecord, scores: Iterable[Score]) -> None:
        """One task and its scores. As in the counters, the latency of an answer that was taken over from an earlier
        run, or that never came, counts nowhere."""
        self.add_figures(task.case_id, task.outcome, task.latency, task.score, reused=task.reused_from is not None)
        for score in scores:
            self.add_score(score.evaluator, score.value, score.passed, bool(score.error))

    def add_figures(
        self, case_id: str, outcome: Outcome, latency: float | None, score: float | None, *, reused: bool
    ) -> None:
        """One task without its scores; see :meth:`add`."""
        self._mean.add(score)
        answered = outcome.decided or outcome is Outcome.UNSCORED
        if answered and not reused and latency is not None and math.isfinite(latency):
            self._latencies.append(latency)
        if self.repeats > 1:
            count_repeat(self._cases, case_id, outcome)

    def add_score(self, evaluator: str, value: float | None, passed: bool | None, undecided: bool) -> None:
        """One score of a task; ``undecided``: it has an error."""
        tally = self._evaluators.get(evaluator)
        if tally is None:
            tally = self._evaluators[evaluator] = _EvaluatorTally()
        tally.add(value, passed, undecided)

    def summary(self, counters: Counters) -> Summary:
        """The summary of what was added, with the counters kept by the writer."""
        latencies = sorted(self._latencies)
        evaluators = tuple(
            EvaluatorSummary(
                name,
                tally.values.result(),
                rate_of(tally.passed, tally.passed + tally.failed),
                tally.undecided,
                tally.informative,
            )
            for name, tally in self._evaluators.items()
        )
        ks = shown_ks(self.repeats)
        return Summary(
            counters=counters,
            pass_rate=rate_of(counters.passed, counters.decided),
            mean=self._mean.result(),
            evaluators=evaluators,
            latency_p50=percentile(latencies, 0.5),
            latency_p95=percentile(latencies, 0.95),
            repeats=tuple(summarise_repeats(self._cases.values(), k) for k in ks),
        )


def shown_ks(repeats: int) -> list[int]:
    """The k of the pass@k that a summary has for ``n_repeat``: the small ones, some of the others, and all repeats."""
    if repeats < 2:
        return []
    return [k for k in (1, 2, 3, 4, 5, 10, 20, 50, 100, 200, 500) if k < repeats] + [repeats]


def state_text(state: RunState, counters: Counters) -> str:
    """A run's state in words. One that completed although some tasks got no verdict is ``completed with errors``."""
    if state is RunState.COMPLETED and counters.error + counters.unscored:
        return "completed with errors"
    return state.value.replace("_", " ")


def decided_text(counters: Counters) -> str:
    """ "3 of 4 decided, 6 total": what a pass rate is made of, and what it leaves out."""
    return f"{counters.passed} of {counters.decided} decided, {counters.total} total"


def total_of(parts: Iterable[Counters]) -> Counters:
    """The counters of several requests added up."""
    total = Counters()
    for part in parts:
        for each in fields(Counters):
            setattr(total, each.name, getattr(total, each.name) + getattr(part, each.name))
    return total
