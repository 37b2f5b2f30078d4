"""``run_experiment`` and ``run_experiment_parallel`` of the guide: our engine, our history, the platform's record."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tui_eval.engine.execution import Listener, execute_job
from tui_eval.errors import PlatformError, TuiEvalError
from tui_eval.jobs import Job, new_run_id
from tui_eval.platforms.agentloop.companion import reported_by_caller
from tui_eval.platforms.agentloop.configuration import AgentLoopConfig
from tui_eval.platforms.agentloop.following import Rules, report_run
from tui_eval.platforms.agentloop.functions import SolutionFunction
from tui_eval.platforms.agentloop.in_process import offered
from tui_eval.platforms.agentloop.locks import reporting_lock
from tui_eval.spec.agentloop_options import AgentLoopOptions
from tui_eval.store.place import history_path
from tui_eval.store.records import RequestRecord, RunRecord

_LOG = logging.getLogger("tui_eval.agentloop")
_DEFAULT_TIMEOUT = 300.0


async def run_experiment(
    config: AgentLoopConfig,
    solution_fn: Callable[..., Any] | None = None,
    result_dir: str | os.PathLike[str] | None = "./results",
    n_repeat: int = 1,
    n_workers: int = 1,
    *,
    solution: Callable[..., Any] | None = None,
    update_plan: bool = False,
    history: str | os.PathLike[str] | None = None,
) -> str:
    """Run the experiment plan, one task after the other unless ``n_workers`` says more; the id of the platform's record.

    ``solution_fn`` is what :func:`http_solution` and its like return, or a function ``f(task, pre_hook)``. One task that
    fails costs only itself. ``update_plan`` puts the evaluators of ``config`` into the platform's plan first. All of it
    is kept in the history (``tui-eval show last``); ``result_dir`` gets the platform's own result files (None: none).
    Raises ValueError, SpecError, DatasetError, UsageError before anything runs, PlatformError when there is no record.
    """
    chosen = solution_fn if solution_fn is not None else solution
    if not callable(chosen):
        raise ValueError("give a solution: a function, or what http_solution or command_solution returns")
    for name, number in (("n_repeat", n_repeat), ("n_workers", n_workers)):
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise ValueError(f"{name} must be a whole number from 1 on, not {number!r}")
    place = history_path(Path(history) if history is not None else None, os.environ)
    environment = config.environment()
    section = config.section()
    if update_plan:
        await _update_plan(AgentLoopOptions.model_validate(section), environment)
    if result_dir is not None:
        section["result_dir"] = str(Path(result_dir).absolute())
    run_id = new_run_id()
    with offered(chosen, config.ground_truth_field) as written, reported_by_caller():
        plan = _plan(config, section, written, chosen, n_repeat, n_workers)
        job = Job("launch", history=str(place), run_id=run_id, plan=plan, folder=os.getcwd())
        await execute_job(job, listener=_Told(), environment=environment)
    return await _reported(place, run_id, environment)


async def run_experiment_parallel(
    config: AgentLoopConfig,
    solution_fn: Callable[..., Any] | None = None,
    result_dir: str | os.PathLike[str] | None = "./results",
    n_repeat: int = 1,
    n_workers: int = 4,
    **options: Any,
) -> str:
    """:func:`run_experiment` with ``n_workers`` tasks at the same time."""
    return await run_experiment(config, solution_fn, result_dir, n_repeat, n_workers, **options)


def _plan(
    config: AgentLoopConfig,
    section: Mapping[str, Any],
    written: Mapping[str, Any],
    function: Callable[..., Any],
    n_repeat: int,
    n_workers: int,
) -> dict[str, Any]:
    own = function if isinstance(function, SolutionFunction) else None
    execution: dict[str, Any] = {
        "n_repeat": n_repeat,
        "attempt_timeout_seconds": own.timeout if own is not None else _DEFAULT_TIMEOUT,
        "max_retries": own.retries if own is not None else 0,
        "retry_min_delay_seconds": 0.5,
    }
    name = config.experiment_name or "experimentA"
    return {
        "version": 1,
        "name": name,
        "task_concurrency": n_workers,
        "agentloop": dict(section),
        "requests": [{"name": "experiment", "solution": dict(written), "execution": execution}],
    }


class _Told(Listener):
    """What a person must know goes to the log of the program."""

    def begun(self, run: RunRecord, requests: list[RequestRecord]) -> None:
        for warning in run.warnings:
            _LOG.warning("%s", warning)

    def trouble(self, message: str) -> None:
        _LOG.warning("%s", message)


async def _update_plan(options: AgentLoopOptions, environment: Mapping[str, str]) -> None:
    from tui_eval.platforms.agentloop.updating import proposed, update

    before, after = await proposed(options, environment)
    if len(after) > len(before):
        await update(options, environment, after)


async def _reported(history: Path, run_id: str, environment: Mapping[str, str]) -> str:
    """Report the run that has ended, and say what is left; the record's id."""
    with reporting_lock(history, run_id):
        try:
            found = await report_run(history, run_id, environment, Rules(patience=60.0, scores=0.0))
        except TuiEvalError as error:
            raise PlatformError(f"run {run_id} could not be reported: {error}") from error
    (one,) = found
    if not one.complete:
        _LOG.warning(
            "%d results are not reported yet: %s; go on with: tui-eval agentloop sync %s",
            one.counts.waiting + one.counts.doubtful,
            one.error,
            run_id,
        )
    if not one.record.record_id:
        raise PlatformError(f"run {run_id} has no record on the platform: {one.error}")
    return one.record.record_id
