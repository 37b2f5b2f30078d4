"""The rows of the history as plain records: what the writer takes and the reader gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tui_eval.domain import JsonValue, Outcome, Score

OUTPUT_LIMIT = 200
"""Characters of an output that stand in the row of its task; the whole of it lies with the attempt."""


class RunState(StrEnum):
    """State of a run. The final ones carry the names of AgentCompass's OrchestrationResult (contract section 4).

    ``interrupted`` is final for the runner that stopped (a signal, a kill, a lost machine) but not for the run:
    ``resume`` finishes it.
    """

    PLANNING = "planning"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    COMPLETED = "completed"  # every request completed
    PARTIAL_FAILURE = "partial_failure"  # at least one request did not complete, others did or not
    FAILED = "failed"  # the orchestration itself broke
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def live(self) -> bool:
        return self in (RunState.PLANNING, RunState.RUNNING, RunState.PAUSED, RunState.STOPPING)


class RequestState(StrEnum):
    """State of one request. ``completed``: every task has an answer or a verdict of its own, errors included;
    ``failed``: the request could not be carried out as a whole (its error says why)."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


@dataclass(slots=True)
class Counters:
    """What a request has done so far; see schema/0001.sql for each."""

    total: int = 0
    passed: int = 0
    failed: int = 0
    error: int = 0
    unscored: int = 0
    cancelled: int = 0
    running: int = 0
    waiting: int = 0
    reused: int = 0
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    latency_total: float = 0.0
    latency_count: int = 0

    @property
    def finished(self) -> int:
        return self.passed + self.failed + self.error + self.unscored + self.cancelled

    @property
    def queued(self) -> int:
        return self.total - self.finished - self.running

    @property
    def decided(self) -> int:
        return self.passed + self.failed

    @property
    def pass_rate(self) -> float | None:
        """Passed over decided (0 to 1), None when nothing was decided."""
        return self.passed / self.decided if self.decided else None


@dataclass(slots=True)
class RunRecord:
    """One run. ``plan`` is the resolved plan as JSON data. ``id`` is the row's key, 0 before it is written."""

    run_id: str
    name: str
    state: RunState
    plan: dict[str, Any]
    folder: str
    program: str
    created_at: float
    id: int = 0
    origin: str = "launch"
    origin_detail: dict[str, Any] = field(default_factory=dict)
    parent_run_id: str | None = None
    plan_path: str = ""
    started_at: float | None = None
    finished_at: float | None = None
    error: str = ""
    warnings: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    note: str = ""
    host: str = ""
    pid: int | None = None
    pid_started: str = ""
    heartbeat_at: float | None = None
    task_concurrency: int = 1
    pinned: bool = False


@dataclass(slots=True)
class RequestRecord:
    """One request of a run with its counters."""

    run: int
    position: int
    name: str
    state: RequestState
    solution_type: str
    id: int = 0
    error: str = ""
    dataset: str = ""
    dataset_hash: str = ""
    started_at: float | None = None
    finished_at: float | None = None
    counters: Counters = field(default_factory=Counters)


@dataclass(slots=True)
class NewTask:
    """A task at planning time, with its case."""

    request: int
    position: int
    case_id: str
    case_input: dict[str, JsonValue]
    repeat: int = 0
    line: int = 0
    work: str = "call"
    fingerprint: str = ""
    evaluation_fingerprint: str = ""


@dataclass(slots=True)
class TaskRecord:
    """One task as it stands."""

    id: int
    run: int
    request: int
    position: int
    case_key: int
    case_id: str
    repeat: int
    line: int
    work: str
    outcome: Outcome
    fingerprint: str
    evaluation_fingerprint: str
    reused_from: str | None
    attempts: int
    started_at: float | None
    finished_at: float | None
    latency: float | None
    score: float | None
    error_kind: str
    message: str
    output: str
    trace_id: str
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None = None


@dataclass(slots=True)
class AttemptPayload:
    """What was sent and received in one attempt, secrets already replaced. ``request`` is the solution's preview;
    ``answer`` is :class:`~tui_eval.domain.Answer` as a mapping, None when nothing at all came back."""

    request: dict[str, Any]
    answer: dict[str, Any] | None = None


@dataclass(slots=True)
class AttemptRecord:
    """One attempt. ``payload`` is None in lists; the reader fetches it on request."""

    number: int
    started_at: float
    seconds: float
    error_kind: str = ""
    message: str = ""
    status_code: int | None = None
    trace_id: str = ""
    payload: AttemptPayload | None = None
    id: int = 0


@dataclass(slots=True)
class FinishedTask:
    """The end of a task: everything the writer stores in one go."""

    task: int
    request: int
    outcome: Outcome
    started_at: float
    finished_at: float
    attempts: list[AttemptRecord]
    scores: list[Score]
    latency: float | None = None
    error_kind: str = ""
    message: str = ""
    output: str = ""
    trace_id: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


@dataclass(slots=True)
class Activity:
    """What one running task is doing."""

    task: int
    phase: str
    since: float
    attempt: int
    until: float | None = None
    detail: str = ""


@dataclass(slots=True)
class Command:
    """Something a viewer asks of a live run."""

    id: int
    kind: str
    arguments: dict[str, Any]
    given_by: str
    given_at: float


@dataclass(slots=True)
class LogLine:
    at: float
    level: str
    message: str
    request: str = ""
    id: int = 0
