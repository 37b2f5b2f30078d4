"""Whether a failed attempt is made again, and after which wait. A plain function: no clock, no randomness of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_eval.errors import Resend, SolutionError
from tui_eval.spec.model import Execution

NOT_RESENT = "; not tried again: the agent may have acted on it (`resend: true` allows it)"


@dataclass(frozen=True, slots=True)
class RetryRules:
    """The retry part of a request's execution section, patterns compiled."""

    max_retries: int
    patterns: Sequence[re.Pattern[str]]
    min_delay: float
    max_delay: float
    resend: bool

    @classmethod
    def of(cls, execution: Execution) -> RetryRules:
        return cls(
            max_retries=execution.max_retries,
            patterns=tuple(re.compile(pattern) for pattern in execution.retry_pattern_list),
            min_delay=execution.retry_min_delay_seconds,
            max_delay=execution.retry_max_delay_seconds,
            resend=execution.resend,
        )


@dataclass(frozen=True, slots=True)
class Again:
    """Try again after ``delay`` seconds."""

    delay: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The task ends with this error. ``message`` is what the user reads."""

    message: str


def decide(error: SolutionError, retries_made: int, rules: RetryRules, random: Callable[[], float]) -> Again | GiveUp:
    """What follows a failed attempt.

    ``retries_made`` counts the retries before this failure (0 after the first attempt); ``random`` gives a number from
    0 to 1. The wait doubles from ``min_delay`` to ``max_delay`` and is drawn from its upper half, so that many tasks
    do not come back at the same moment. A Retry-After replaces it; one above ``max_delay`` is not slept through.
    """
    if retries_made >= rules.max_retries:
        return GiveUp(error.message)
    if not _may_retry(error, rules):
        unasked = error.resend is Resend.MAYBE_RECEIVED
        return GiveUp(error.message + (NOT_RESENT if unasked else ""))
    if error.retry_after is not None:
        if error.retry_after > rules.max_delay:
            state = "rate limited" if error.kind == "rate_limited" else "not available"
            return GiveUp(
                f"{state}, server asks for {_seconds(error.retry_after)} "
                f"(above retry_max_delay_seconds: {rules.max_delay:g}): {error.message}"
            )
        if error.retry_after > 0:
            return Again(error.retry_after)
    ceiling = min(rules.max_delay, rules.min_delay * 2.0 ** min(retries_made, 60))
    return Again(ceiling / 2 + random() * ceiling / 2)


def host_wait(error: SolutionError, rules: RetryRules) -> float:
    """Seconds for which nobody should call the host that gave this error, 0 when it named no time. This does not depend
    on whether the failed call is made again; a time above the cap is not slept through by the others either."""
    asked = error.retry_after
    return asked if asked is not None and asked <= rules.max_delay else 0.0


def _seconds(value: float) -> str:
    """``86400 s (1 day)``: never with an exponent."""
    text = f"{value:g} s" if value < 1e5 else f"{value:.0f} s"
    for name, size in (("day", 86400), ("hour", 3600)):
        if value >= size:
            count = round(value / size)
            return f"{text} ({count} {name}{'' if count == 1 else 's'})"
    return text


def _may_retry(error: SolutionError, rules: RetryRules) -> bool:
    if any(pattern.search(error.message) or pattern.search(error.kind) for pattern in rules.patterns):
        return True
    if error.resend in (Resend.UNSENT, Resend.REJECTED):
        return True
    return error.resend is Resend.MAYBE_RECEIVED and rules.resend
