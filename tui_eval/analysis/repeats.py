"""Cases that are asked several times: pass@k and pass^k, unbiased, from the attempts that were decided.

* pass@k: the chance that at least one of k tries passes, ``1 - C(n-c, k) / C(n, k)`` (Chen et al. 2021,
  "Evaluating Large Language Models Trained on Code").
* pass^k: the chance that all of k tries pass, ``C(c, k) / C(n, k)`` (Yao et al. 2024, "tau-bench"). This is not the
  plug-in ``(c/n)**k``, which is biased.

n is the number of decided repeats of the case, c how many passed. A case with fewer than k decided repeats has neither.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tui_eval.domain import Outcome


@dataclass(slots=True)
class CaseRepeats:
    """One case: how many of its repeats were planned, decided and passed."""

    case_id: str
    planned: int = 0
    decided: int = 0
    passed: int = 0

    def pass_at(self, k: int) -> float | None:
        return pass_at_k(self.decided, self.passed, k)

    def pass_all(self, k: int) -> float | None:
        return pass_all_k(self.decided, self.passed, k)


@dataclass(frozen=True, slots=True)
class RepeatSummary:
    """Means over the cases with at least ``k`` decided repeats (``enough``); the others are ``too_few``. None when
    there is no such case."""

    k: int
    pass_at: float | None
    pass_all: float | None
    enough: int
    too_few: int

    @property
    def note(self) -> str:
        """ "1 case has too few attempts", empty when none has."""
        if not self.too_few:
            return ""
        return (
            f"{self.too_few} case has too few attempts"
            if self.too_few == 1
            else (f"{self.too_few} cases have too few attempts")
        )


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """pass@k from ``c`` passes of ``n`` decided repeats, None when n < k. Raises :class:`ValueError` unless
    0 <= c <= n and k >= 1."""
    _check(n, c, k)
    return None if n < k else 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_all_k(n: int, c: int, k: int) -> float | None:
    """pass^k from ``c`` passes of ``n`` decided repeats, None when n < k. Raises as :func:`pass_at_k`."""
    _check(n, c, k)
    return None if n < k else math.comb(c, k) / math.comb(n, k)


def by_case(outcomes: Iterable[tuple[str, Outcome]]) -> dict[str, CaseRepeats]:
    """Count the (case id, outcome) of every task, in the order the cases first appear."""
    cases: dict[str, CaseRepeats] = {}
    for case_id, outcome in outcomes:
        count_repeat(cases, case_id, outcome)
    return cases


def count_repeat(cases: dict[str, CaseRepeats], case_id: str, outcome: Outcome) -> None:
    """Add one task to ``cases``."""
    case = cases.get(case_id)
    if case is None:
        case = cases[case_id] = CaseRepeats(case_id)
    case.planned += 1
    case.decided += outcome.decided
    case.passed += outcome is Outcome.PASSED


def summarise_repeats(cases: Iterable[CaseRepeats], k: int) -> RepeatSummary:
    """Overall pass@k and pass^k: plain means over the cases with enough decided repeats."""
    at: list[float] = []
    every: list[float] = []
    too_few = 0
    for case in cases:
        one, other = case.pass_at(k), case.pass_all(k)
        if one is None or other is None:
            too_few += 1
        else:
            at.append(one)
            every.append(other)
    if not at:
        return RepeatSummary(k, None, None, 0, too_few)
    return RepeatSummary(k, math.fsum(at) / len(at), math.fsum(every) / len(every), len(at), too_few)


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n or k < 1:
        raise ValueError(f"{c} passes of {n} repeats, k = {k}: need 0 <= passes <= repeats and k >= 1")
