"""The Python API: run an evaluation or an orchestration from a program, with the same engine and the same history.

``run_evaluation`` and ``launch`` block; ``async_run_evaluation`` and ``async_launch`` are for a running event loop.
Statuses are those of AgentCompass's OrchestrationResult (its contract, section 4).
"""

from __future__ import annotations

import inspect
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_eval.blocking import blocking
from tui_eval.engine.data import TaskDescription, TaskResult
from tui_eval.engine.execution import Ended, Listener
from tui_eval.errors import UsageError
from tui_eval.jobs import Job, new_run_id
from tui_eval.runner import execution_of
from tui_eval.spec.model import Plan
from tui_eval.store.place import history_path
from tui_eval.store.records import Counters, RequestRecord, RequestState, RunRecord, RunState

_LOG = logging.getLogger("tui_eval.api")


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """Something that happened in a run.

    ``event`` is ``run_started``, ``request_started``, ``task_finished``, ``request_finished`` or ``run_finished``.
    ``task_id`` is ``<case id>`` or ``<case id>#<repeat>`` for a task; ``status`` is the task's outcome, the request's
    or the run's state. ``timestamp`` is seconds since the epoch.
    """

    run_id: str
    event: str
    timestamp: float
    request_name: str = ""
    task_id: str = ""
    status: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """How one request ended: ``completed``, ``failed``, ``timed_out`` or ``cancelled``.

    ``counters`` tell the outcomes of its tasks; ``pass_rate`` is passed over decided (0 to 1, None: nothing decided).
    ``error`` says why a request is not completed.
    """

    name: str
    status: str
    counters: Counters
    error: str = ""

    @property
    def pass_rate(self) -> float | None:
        return self.counters.pass_rate


@dataclass(frozen=True, slots=True)
class OrchestrationResult:
    """How a run ended: ``completed``, ``partial_failure`` (at least one request did not complete), ``failed``,
    ``timed_out`` or ``cancelled``. ``requests`` is in the order of the plan; times are seconds since the epoch.

    ``orchestration_id`` is the run's id in the history: ``tui-eval show <id>`` has every task of it.
    """

    orchestration_id: str
    name: str
    status: str
    requests: Mapping[str, RequestOutcome]
    started_at: float
    finished_at: float
    history: Path

    @property
    def run_id(self) -> str:
        return self.orchestration_id


OnProgress = Callable[[ProgressEvent], None]
OnRequestFinished = Callable[[RequestOutcome], None]


async def async_launch(
    plan: str | os.PathLike[str] | Mapping[str, Any] | Plan,
    *,
    overrides: Sequence[str] = (),
    folder: str | os.PathLike[str] | None = None,
    history: str | os.PathLike[str] | None = None,
    run_id: str | None = None,
    results_dir: str | os.PathLike[str] | None = None,
    tags: Sequence[str] = (),
    on_progress: OnProgress | None = None,
    on_request_finished: OnRequestFinished | None = None,
) -> OrchestrationResult:
    """Run a plan: a path, a mapping, or a :class:`~tui_eval.spec.model.Plan`.

    ``folder`` is where relative paths start (default: the plan file's folder, else the current one). The callbacks
    are plain functions, called from the event loop, and should return at once; what they raise is logged with the run
    (at its very end: by the logger ``tui_eval.api``) and nothing more. Raises SpecError, DatasetError, NothingToRun or
    HistoryError when the run cannot begin, UsageError for a callback that would have to be awaited. Cancelling the call
    stops the run; ``tui-eval resume`` finishes it.
    """
    for name, callback in (("on_progress", on_progress), ("on_request_finished", on_request_finished)):
        if inspect.iscoroutinefunction(callback):
            raise UsageError(f"{name}: expected a plain function, not an async one: nobody would await it")
    place = history_path(Path(history) if history is not None else None, os.environ)
    if isinstance(plan, Plan):
        plan = plan.model_dump(mode="json", by_alias=True, exclude_none=True)
    job = Job(
        action="launch",
        history=str(place),
        run_id=run_id or new_run_id(),
        plan=dict(plan) if isinstance(plan, Mapping) else str(Path(plan).absolute()),
        folder=str(Path(folder).absolute()) if folder is not None else _default_folder(plan),
        overrides=tuple(overrides),
        results_dir=str(Path(results_dir).absolute()) if results_dir is not None else None,
        tags=tuple(tags),
    )
    listener = _Callbacks(on_progress, on_request_finished)
    ended = await execution_of(job)(job, listener=listener)
    listener.run_ended(ended)
    return _result(ended, place)


def launch(
    plan: str | os.PathLike[str] | Mapping[str, Any] | Plan,
    **options: Any,
) -> OrchestrationResult:
    """:func:`async_launch`, blocking. Must not be called from a running event loop."""
    return blocking("launch", async_launch(plan, **options))


async def async_run_evaluation(
    dataset: str | os.PathLike[str] | Sequence[Mapping[str, Any]] | Mapping[str, Any],
    solution: Mapping[str, Any],
    evaluators: Sequence[Mapping[str, Any]] = (),
    *,
    name: str = "evaluation",
    execution: Mapping[str, Any] | None = None,
    task_concurrency: int = 8,
    **options: Any,
) -> RequestOutcome:
    """Run one request: a dataset (a path, a list of cases, or a dataset section), a solution and evaluators, written
    as in a plan file. The other options are those of :func:`async_launch`."""
    _check_is_mapping("solution", solution)
    if isinstance(evaluators, Mapping) or not isinstance(evaluators, Sequence):
        raise UsageError(f"evaluators: expected a list of mappings, not {type(evaluators).__name__}")
    for evaluator in evaluators:
        _check_is_mapping("evaluators", evaluator)
    plan: dict[str, Any] = {
        "version": 1,
        "name": name,
        "task_concurrency": task_concurrency,
        "requests": [
            {
                "name": name,
                "dataset": _dataset_section(dataset),
                "solution": dict(solution),
                "evaluators": [dict(evaluator) for evaluator in evaluators],
                "execution": dict(execution or {}),
            }
        ],
    }
    result = await async_launch(plan, **options)
    return result.requests[name]


def run_evaluation(
    dataset: str | os.PathLike[str] | Sequence[Mapping[str, Any]] | Mapping[str, Any],
    solution: Mapping[str, Any],
    evaluators: Sequence[Mapping[str, Any]] = (),
    **options: Any,
) -> RequestOutcome:
    """:func:`async_run_evaluation`, blocking. Must not be called from a running event loop."""
    return blocking("run_evaluation", async_run_evaluation(dataset, solution, evaluators, **options))


def _check_is_mapping(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise UsageError(f"{name}: expected a mapping as in a plan file, not {type(value).__name__}")


def _dataset_section(
    dataset: str | os.PathLike[str] | Sequence[Mapping[str, Any]] | Mapping[str, Any],
) -> dict[str, Any]:
    if isinstance(dataset, Mapping):
        return dict(dataset)
    if isinstance(dataset, str | os.PathLike):
        return {"path": os.fspath(dataset)}
    return {"cases": [dict(case) for case in dataset]}


def _default_folder(plan: str | os.PathLike[str] | Mapping[str, Any]) -> str | None:
    return os.getcwd() if isinstance(plan, Mapping) else None


class _Callbacks(Listener):
    """Turns what the engine tells into the caller's callbacks."""

    def __init__(self, on_progress: OnProgress | None, on_request_finished: OnRequestFinished | None) -> None:
        self._on_progress = on_progress
        self._on_request_finished = on_request_finished
        self._run_id = ""

    def begun(self, run: RunRecord, requests: list[RequestRecord]) -> None:
        self._run_id = run.run_id
        total = sum(request.counters.total for request in requests)
        self._tell("run_started", status=run.state.value, payload={"total_tasks": total})

    def task_finished(self, request: RequestRecord, task: TaskDescription, result: TaskResult) -> None:
        task_id = task.case_id if not task.repeat else f"{task.case_id}#{task.repeat}"
        payload = {"error_kind": result.error_kind, "message": result.message, "attempts": len(result.attempts)}
        self._tell("task_finished", request.name, task_id, result.outcome.value, payload)

    def request_changed(self, request: RequestRecord) -> None:
        if request.state is RequestState.RUNNING:
            self._tell("request_started", request.name, status=request.state.value)
            return
        self._tell("request_finished", request.name, status=request.state.value, payload={"error": request.error})
        if self._on_request_finished is not None:
            self._on_request_finished(_request_outcome(request))

    def run_ended(self, ended: Ended) -> None:
        try:
            self._tell("run_finished", status=_status(ended.run.state))
        except Exception:  # as everywhere: a callback's fault must not cost its caller the result
            _LOG.exception("on_progress broke at the end of run %s", self._run_id)

    def _tell(
        self,
        event: str,
        request: str = "",
        task_id: str = "",
        status: str = "",
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        if self._on_progress is not None:
            self._on_progress(ProgressEvent(self._run_id, event, time.time(), request, task_id, status, payload or {}))


def _request_outcome(request: RequestRecord) -> RequestOutcome:
    status = "cancelled" if request.state in (RequestState.PENDING, RequestState.RUNNING) else request.state.value
    return RequestOutcome(request.name, status, request.counters, request.error)


def _status(state: RunState) -> str:
    """The contract has no ``interrupted``: there a stopped orchestration is ``cancelled``."""
    return "cancelled" if state is RunState.INTERRUPTED else state.value


def _result(ended: Ended, history: Path) -> OrchestrationResult:
    run = ended.run
    return OrchestrationResult(
        orchestration_id=run.run_id,
        name=run.name,
        status=_status(run.state),
        requests={request.name: _request_outcome(request) for request in ended.requests},
        started_at=run.started_at or run.created_at,
        finished_at=run.finished_at or run.created_at,
        history=history,
    )
