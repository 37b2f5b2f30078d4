"""The nouns of the project: case, answer, score, outcome. Plain data, no effects, imported by every room.

DESIGN words: a *case* is one record of a dataset, a *task* is one case x one repeat in one request, an *attempt* is
one call of the solution for a task, an *answer* is what an attempt returned, a *score* is one evaluator's judgement.
"""

from __future__ import annotations

import json
import json.encoder
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

JsonValue: TypeAlias = Any  # None, bool, int, float (finite), str, list or dict of the same


class Outcome(StrEnum):
    """The state of a task. The first six are final; they are never mixed in counts, means, colours or exit codes."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    UNSCORED = "unscored"
    CANCELLED = "cancelled"
    QUEUED = "queued"
    RUNNING = "running"

    @property
    def final(self) -> bool:
        return self not in (Outcome.QUEUED, Outcome.RUNNING)

    @property
    def decided(self) -> bool:
        """True for a verdict: the only two outcomes that a pass rate is made of."""
        return self in (Outcome.PASSED, Outcome.FAILED)


@dataclass(frozen=True, slots=True)
class Case:
    """One record of a dataset. ``input`` maps column names to values; ``line`` counts from 1 (0: unknown).

    ``generated_id`` is True when the dataset gave no id and ``id`` is a hash of the content.
    """

    id: str
    input: Mapping[str, JsonValue]
    line: int = 0
    generated_id: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens an agent reported for one call, None where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One server-sent event: seconds since the request was sent, event name (``message`` by default), data."""

    at: float
    event: str
    data: str


@dataclass(slots=True)
class Answer:
    """What one attempt returned.

    ``output`` is what evaluators see; it may be any JSON value, ``""`` included. ``raw`` is the body or stdout as
    text, cut at the solution's limit (``raw_truncated``). ``headers`` are the response headers. ``trace_id`` is the
    agent's own when it sent one, else the one we sent. ``notes`` are things a reader should know
    ("3 of 4 events had no `t`"). ``detail`` holds what only one kind of solution has (reasoning, tool calls).
    Times are in seconds since the attempt began.
    """

    output: JsonValue = None
    raw: str = ""
    raw_truncated: bool = False
    status_code: int | None = None
    content_type: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    events: list[StreamEvent] = field(default_factory=list)
    usage: Usage | None = None
    finish_reason: str = ""
    trace_id: str = ""
    stderr: str = ""
    exit_code: int | None = None
    first_byte_seconds: float | None = None
    notes: list[str] = field(default_factory=list)
    detail: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Score:
    """One evaluator's judgement of one answer.

    ``passed`` is None when it did not decide; then ``error`` says why, or is empty for a score that is only
    informative (no threshold). ``value`` is finite or None.
    """

    evaluator: str
    value: float | None = None
    passed: bool | None = None
    reason: str = ""
    error: str = ""
    detail: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"a score's value is finite or None, not {self.value}")


def outcome_of(scores: Iterable[Score]) -> Outcome:
    """The outcome of an answered task: ``failed`` when some evaluator said no; else ``unscored`` when one could not
    decide or none did; else ``passed``."""
    scores = list(scores)
    if any(score.passed is False for score in scores):
        return Outcome.FAILED
    if any(score.error for score in scores) or not any(score.passed for score in scores):
        return Outcome.UNSCORED
    return Outcome.PASSED


def why_not_passed(outcome: Outcome, scores: Sequence[Score]) -> str:
    """The one line of an answered task that says which score decided against it; "" when it passed."""
    if outcome is Outcome.FAILED:
        score = next(score for score in scores if score.passed is False)
        return f"{score.evaluator}: {score.reason or 'did not pass'}"
    if outcome is Outcome.UNSCORED:
        for score in scores:
            if score.error:
                return f"{score.evaluator}: {score.error}"
        return "no evaluator gave a verdict" if scores else "the request has no evaluators"
    return ""


def as_text(value: JsonValue) -> str:
    """The text form of a value: a text is itself, anything else its JSON (never Python's repr)."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def canonical_json(value: JsonValue) -> str:
    """One text for one value: sorted keys, no spaces. What fingerprints and content hashes are made of.

    Raises TypeError for what is no JSON value, RecursionError for one that holds itself.
    """
    return "".join(_canonical(value, 0))


def _canonical_encoder() -> Callable[[JsonValue, int], Iterable[str]]:
    """What ``json.JSONEncoder`` makes anew, in Python, for every value: that takes longer than encoding a usual one."""
    usual = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # another Python than CPython
        return lambda value, _: usual.encode(value)
    encode: Callable[[JsonValue, int], Iterable[str]] = make(
        None, usual.default, json.encoder.encode_basestring, None, ":", ",", True, False, True
    )
    return encode


_canonical = _canonical_encoder()
