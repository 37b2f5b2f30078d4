"""What the screen of a task asks the history: small things at every change, large ones once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tui_eval.analysis.expected import Expectation, expected_of, request_plan
from tui_eval.analysis.summary import total_of
from tui_eval.domain import JsonValue, Score
from tui_eval.store.records import (
    Activity,
    AttemptPayload,
    AttemptRecord,
    Counters,
    RequestRecord,
    RunRecord,
    RunState,
    TaskRecord,
)

if TYPE_CHECKING:
    from tui_eval.store.reader import History


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task with everything that belongs to it.

    ``attempt`` is the place of the attempt that is looked at (-1: there is none), ``payload`` what it sent and
    received. ``answer`` is that of the attempt that gave the output, None when none did.
    """

    run: RunRecord
    state: RunState
    request: RequestRecord
    totals: Counters
    task: TaskRecord
    case_input: dict[str, JsonValue] = field(default_factory=dict)
    scores: tuple[Score, ...] = ()
    attempts: tuple[AttemptRecord, ...] = ()
    attempt: int = -1
    payload: AttemptPayload | None = None
    answer: dict[str, Any] | None = None
    expected: tuple[Expectation, ...] = ()
    activity: Activity | None = None

    @property
    def received(self) -> dict[str, Any]:
        """What the attempt that is looked at received, empty when nothing came back."""
        return (self.payload.answer if self.payload is not None else None) or {}

    @property
    def sent(self) -> dict[str, Any]:
        return {} if self.payload is None else self.payload.request

    @property
    def output(self) -> JsonValue:
        return None if self.answer is None else self.answer.get("output")

    @property
    def solution(self) -> JsonValue:
        """The solution of the stored plan, references still in place."""
        return request_plan(self.run.plan, self.request.name).get("solution")

    @property
    def live(self) -> bool:
        return self.state.live and not self.task.outcome.final


class TaskReading:
    """The question about one task. Called in threads, never by two at once. ``attempt`` is set by the screen: the
    place of the attempt to look at, None for the last one."""

    def __init__(self, run_id: str, task_id: int) -> None:
        self.task_id = task_id
        self.attempt: int | None = None
        self._run_id = run_id
        self._view: TaskView | None = None
        self._payloads: dict[int, AttemptPayload | None] = {}

    def __call__(self, history: History) -> TaskView:
        from tui_eval.store.liveness import state_now

        known = self._view
        task = history.task(self.task_id)
        run = history.run(self._run_id) if known is None or known.state.live else known.run
        requests = history.requests(run)
        request = next(each for each in requests if each.id == task.request)
        if known is None or known.task != task or known.live:
            known = self._read(history, run, request, task)
        activity = None
        if not task.outcome.final:
            activity = next((each for each in history.activity(run) if each.task == task.id), None)
        view = replace(
            known,
            run=run,
            state=state_now(run),
            request=request,
            totals=total_of(r.counters for r in requests),
            activity=activity,
        )
        self._view = self._at_attempt(history, view)
        return self._view

    def _read(self, history: History, run: RunRecord, request: RequestRecord, task: TaskRecord) -> TaskView:
        case_input = history.case(task.case_key)
        attempts = tuple(history.attempts(task.id))
        return TaskView(
            run,
            run.state,
            request,
            Counters(),
            task,
            case_input,
            tuple(history.scores(task.id)),
            attempts,
            answer=self._answer(history, attempts),
            expected=expected_of(run.plan, request.name, case_input),
        )

    def _answer(self, history: History, attempts: tuple[AttemptRecord, ...]) -> dict[str, Any] | None:
        for attempt in reversed(attempts):
            if not attempt.error_kind:
                payload = self._payload(history, attempt)
                if payload is not None:
                    return payload.answer
        return None

    def _at_attempt(self, history: History, view: TaskView) -> TaskView:
        count = len(view.attempts)
        place = count - 1 if self.attempt is None else min(self.attempt, count - 1)
        payload = self._payload(history, view.attempts[place]) if place >= 0 else None
        return replace(view, attempt=place, payload=payload)

    def _payload(self, history: History, attempt: AttemptRecord) -> AttemptPayload | None:
        if attempt.id not in self._payloads:
            self._payloads[attempt.id] = history.payload(attempt.id)
        return self._payloads[attempt.id]
