"""What a run comes to for a script: its exit status, and why.

| status | meaning |
|---|---|
| 0 | everything was decided and passed (or within ``--min-pass-rate`` and ``--allow-errors``) |
| 1 | a failed verdict, a task without a verdict, a request or run that did not complete |
| 2 | nothing to run: a wrong option, an unknown file, an invalid plan, no case selected |
| 3 | the history cannot be read or written |
| 128 + n | ended by signal n: 130 Ctrl-C, 143 TERM, 129 HUP |

A status is never 0 when nothing was decided.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from tui_eval.errors import UsageError
from tui_eval.store.records import Counters, RunState

_ALLOWANCE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(%?)\s*", re.ASCII)
_STATES = {
    RunState.PARTIAL_FAILURE: "not every request completed",
    RunState.FAILED: "the run itself failed",
    RunState.TIMED_OUT: "the run reached its time limit",
    RunState.CANCELLED: "the run was cancelled",
    RunState.INTERRUPTED: "the run was interrupted",
}


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """``code`` is the exit status; ``reasons`` say why it is not 0, one sentence each, and are empty when it is."""

    code: int
    reasons: tuple[str, ...] = ()


def exit_code(
    run_state: RunState,
    totals: Counters,
    *,
    min_pass_rate: float | None = None,
    allow_errors: str | None = None,
    nothing_selected: bool = False,
    history_failed: bool = False,
    signal: int | None = None,
) -> int:
    """The exit status alone; see :func:`run_verdict`."""
    return run_verdict(
        run_state,
        totals,
        min_pass_rate=min_pass_rate,
        allow_errors=allow_errors,
        nothing_selected=nothing_selected,
        history_failed=history_failed,
        signal=signal,
    ).code


_ENDED_BY = {1: "ended by SIGHUP (the terminal went away)", 2: "interrupted (Ctrl-C)", 15: "ended by SIGTERM"}


def run_verdict(
    run_state: RunState,
    totals: Counters,
    *,
    min_pass_rate: float | None = None,
    allow_errors: str | None = None,
    nothing_selected: bool = False,
    history_failed: bool = False,
    signal: int | None = None,
) -> RunVerdict:
    """The exit status with its reasons.

    ``min_pass_rate`` (0 to 1, of the decided tasks) allows failed verdicts; ``allow_errors`` (``3`` tasks or ``5%`` of
    all tasks) allows tasks without a verdict, that is errors and unscored ones together. ``signal`` is the number of
    the signal that ended the run. Raises :class:`UsageError` when an allowance cannot be read.
    """
    allowed = _allowed(allow_errors, totals.total)
    if min_pass_rate is not None and not (math.isfinite(min_pass_rate) and 0 <= min_pass_rate <= 1):
        raise UsageError(f"--min-pass-rate {min_pass_rate:g}: expected a number from 0 to 1")
    if history_failed:
        return RunVerdict(3, ("the history could not be written",))
    if signal is not None:
        return RunVerdict(128 + signal, (_ENDED_BY.get(signal, f"ended by signal {signal}"),))
    if nothing_selected:
        return RunVerdict(2, ("no case was selected",))
    reasons = [*_unfinished(run_state, totals), *_undecided(totals, allowed, allow_errors)]
    if totals.decided:
        reasons += _failed(totals, min_pass_rate)
    else:
        reasons.append("nothing was decided")
    return RunVerdict(1 if reasons else 0, tuple(reasons))


def parse_allowance(text: str, total: int) -> int:
    """The number of tasks that ``text`` (``3`` or ``5%``) allows of ``total``, rounded down. Raises
    :class:`UsageError`."""
    match = _ALLOWANCE.fullmatch(text)
    if match:
        amount = Fraction(match[1])
        if match[2] and amount <= 100:
            return math.floor(amount * total / 100)
        if not match[2] and amount.denominator == 1:
            return int(amount)
    raise UsageError(f"--allow-errors {text}: expected a whole number of tasks (3) or a share of them (5%)")


def _allowed(text: str | None, total: int) -> int:
    return 0 if text is None else parse_allowance(text, total)


def _unfinished(state: RunState, totals: Counters) -> list[str]:
    reasons = []
    if state.live:
        reasons.append(f"the run has not ended ({state.value})")
    elif state in _STATES:
        reasons.append(_STATES[state])
    if totals.cancelled:
        reasons.append(f"{_tasks(totals.cancelled)} cancelled")
    if totals.total > totals.finished:
        reasons.append(f"{_tasks(totals.total - totals.finished)} not finished")
    return reasons


def _undecided(totals: Counters, allowed: int, given: str | None) -> list[str]:
    undecided = totals.error + totals.unscored
    if undecided <= allowed:
        return []
    parts = [f"{count} {name}" for count, name in ((totals.error, "error"), (totals.unscored, "unscored")) if count]
    limit = f", allowed are {allowed} (--allow-errors {given})" if given is not None else ""
    return [f"{_tasks(undecided)} without a verdict ({', '.join(parts)}{limit})"]


def _failed(totals: Counters, min_pass_rate: float | None) -> list[str]:
    if min_pass_rate is None:
        return [f"{totals.failed} of {totals.decided} decided tasks failed"] if totals.failed else []
    # Compared as the decimal that was written: 0.9 of 10 is 9, whatever binary floats make of it.
    if totals.passed >= Fraction(repr(min_pass_rate)) * totals.decided:
        return []
    rate = totals.passed / totals.decided
    return [f"pass rate {rate:.4g} ({totals.passed} of {totals.decided} decided) is below {min_pass_rate:g}"]


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count} tasks"
