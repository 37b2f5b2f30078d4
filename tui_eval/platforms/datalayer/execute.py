"""``execute_evalset_spec`` and ``load_evalset_spec`` as Datalayer's programs call them, on our engine and history.

Parameters, defaults and result keys are those of the reference. What differs is on purpose: every agentspec has an agent
of its own, cases run side by side, every result is in the history at once, grading is strict unless ``grading="compat"``,
and a local run without a client needs neither an account nor the network.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tui_eval.blocking import blocking
from tui_eval.engine.data import TaskDescription, TaskResult
from tui_eval.engine.execution import Ended, Listener, execute_job
from tui_eval.errors import SpecError, UsageError
from tui_eval.jobs import Job, new_run_id
from tui_eval.platforms.datalayer.client import KEY, Evals, view_url
from tui_eval.platforms.datalayer.conversion import CHAT_SECONDS, CONCURRENCY, TARGETS, Choices, plan_of
from tui_eval.platforms.datalayer.report import create_report as write_report
from tui_eval.platforms.datalayer.reporting import reported, settings_for
from tui_eval.spec.datalayer_options import LOCAL_BASE_URL, SERVER_COMMAND, DatalayerOptions
from tui_eval.spec.evalset import Evalset, load_evalset
from tui_eval.store.place import history_path
from tui_eval.store.records import RequestRecord, RequestState, RunRecord


class EvalsetRefused(UsageError, ValueError):
    """Arguments with which nothing can be run; nothing was created. A ValueError, as the reference raises."""


def load_evalset_spec(
    path: str | os.PathLike[str], *, expected_kind: str | None = None, require_cases: bool = False
) -> dict[str, Any]:
    """The evalset in a file, as data. Raises SpecError with every fault; also for another kind than the expected one."""
    evalset = load_evalset(Path(path), require_cases=require_cases)
    if expected_kind is not None and evalset.spec.kind != expected_kind:
        raise EvalsetRefused(f"{os.fspath(path)}: its kind is {evalset.spec.kind}, expected {expected_kind}")
    return copy.deepcopy(evalset.raw)


async def async_execute_evalset_spec(
    client: Any,
    *,
    spec: Mapping[str, Any],
    agentspec_ids: Sequence[str],
    run_evalset: bool = True,
    create_report: bool = False,
    run_limit: int = 1,
    run_environment: str = "sdk",
    environment_name: str = "ai-agents-env",
    account_uid: str | None = None,
    credits_limit: float | None = 100.0,
    evalset_name: str | None = None,
    backend_run_environment: str = "sdk",
    launch_source: str = "datalayer-core",
    agent_name: str = "default",
    execution_target: str = "cloud",
    local_agent_base_url: str = LOCAL_BASE_URL,
    auto_start_local_agent_runtime: bool = False,
    local_agent_log_level: str = "info",
    request_timeout_seconds: float = CHAT_SECONDS,
    log: Callable[[str], None] | None = print,
    concurrency: int = CONCURRENCY,
    time_reservation_minutes: int = 60,
    watch_timeout_seconds: float = 3600.0,
    poll_interval_seconds: float = 5.0,
    git: Mapping[str, Any] | None = None,
    grading: str = "strict",
    judge: Mapping[str, Any] | None = None,
    report_folder: str | os.PathLike[str] | None = None,
    server_command: Sequence[str] | None = None,
    history: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Run an evalset against one or more agentspecs and keep everything in the history.

    ``client`` is an API key, an object that has one (``_get_token()``, ``token`` or ``api_key``), or None: then nothing is
    reported, which only local runs can do. ``agent_name`` is accepted and not used: agents get names of their own.
    ``report_folder`` is where ``create_report`` writes, by default the current folder. Times are in seconds.

    Returns ``evalset_id``, ``evalset_name``, ``experiment_ids``, ``run_ids``, ``view_url`` (empty where nothing was
    reported), ``history_run_id``, ``status``, ``outcomes`` by agentspec, and with a report ``report_markdown_path`` and
    ``report_csv_path``. Raises EvalsetRefused (a ValueError) before anything is created when there is nothing to run.
    """
    say = log if log is not None else _quiet
    target = str(execution_target or "").strip().lower()
    environment = _environment(client)
    server: dict[str, Any] = {
        "base_url": local_agent_base_url,
        "command": _command(server_command, local_agent_log_level),
    }
    if auto_start_local_agent_runtime:
        server["start"] = "always"
    section: dict[str, Any] = {
        "server": server,
        "report": client is not None and target == "local",
        "evalset_name": evalset_name,
        "run_environment": backend_run_environment,
        "launch_source": launch_source,
        "account_uid": account_uid,
    }
    if target == "cloud":
        section["cloud"] = {
            "environment": environment_name,
            "credits_limit": credits_limit,
            "time_reservation_minutes": time_reservation_minutes,
            "watch_timeout_seconds": watch_timeout_seconds,
            "poll_interval_seconds": poll_interval_seconds,
            "git": dict(git) if git is not None else None,
        }
    evalset, plan = _planned(
        spec,
        Choices(
            list(dict.fromkeys(str(one or "").strip() for one in agentspec_ids if str(one or "").strip())),
            execution_target=target,
            grading=grading,
            run_limit=max(1, int(run_limit)),
            concurrency=max(1, int(concurrency)),
            request_timeout_seconds=max(1.0, float(request_timeout_seconds)),
            judge=judge,
            section=section,
        ),
        has_key=KEY in environment,
    )
    plan["tags"].append(f"environment-{run_environment}")
    if not run_evalset:
        return await _only_created(evalset, plan, environment, say)
    place = history_path(Path(history) if history is not None else None, os.environ)
    job = Job("launch", str(place), new_run_id(), plan=plan, folder=os.getcwd())
    ended = await execute_job(job, listener=_Telling(say), environment=environment)
    return await _concluded(place, ended, evalset, say, Path(report_folder or os.getcwd()) if create_report else None)


def execute_evalset_spec(client: Any, **options: Any) -> dict[str, Any]:
    """:func:`async_execute_evalset_spec`, blocking. Must not be called from a running event loop."""
    return blocking("execute_evalset_spec", async_execute_evalset_spec(client, **options))


# Editors and programs that look see the parameters themselves.
execute_evalset_spec.__signature__ = inspect.signature(async_execute_evalset_spec)  # type: ignore[attr-defined]


# -- parts --


def _planned(spec: Mapping[str, Any], choices: Choices, *, has_key: bool) -> tuple[Evalset, dict[str, Any]]:
    """The evalset and its plan. Raises EvalsetRefused with what stands in the way."""
    if choices.execution_target not in TARGETS:
        raise EvalsetRefused(f"execution_target must be local or cloud, not {choices.execution_target!r}")
    if not choices.agentspec_ids:
        raise EvalsetRefused("agentspec_ids must name at least one agentspec")
    if choices.execution_target == "cloud" and not has_key:
        raise EvalsetRefused(f"the cloud needs an API key: pass a client, or set {KEY}")
    try:
        evalset = load_evalset(spec)
        return evalset, plan_of(evalset, choices)
    except (SpecError, UsageError) as error:
        raise EvalsetRefused(str(error)) from error


async def _concluded(
    history: Path, ended: Ended, evalset: Evalset, say: Callable[[str], None], folder: Path | None
) -> dict[str, Any]:
    """What is returned of a run; with a ``folder`` its report is written there."""
    found = reported(history, ended.run.id)
    result: dict[str, Any] = {
        "evalset_id": found.evalset_id,
        "evalset_name": found.evalset_name or evalset.spec.name,
        "experiment_ids": found.experiment_ids,
        "run_ids": found.run_ids,
        "view_url": found.view_url,
        "history_run_id": ended.run.run_id,
        "status": ended.run.state.value,
        "outcomes": {request.name: _outcomes(request) for request in ended.requests},
    }
    if found.view_url:
        say(f"View the result on {found.view_url}")
    if found.left:
        say(f"Not everything is reported: {found.left}; go on with: tui-eval datalayer sync {ended.run.run_id}")
    if folder is not None:
        report = await asyncio.to_thread(write_report, history, ended.run.run_id, folder)
        result["report_markdown_path"] = str(report.markdown_path)
        result["report_csv_path"] = str(report.csv_path)
        say(f"Wrote {report.markdown_path} and {report.csv_path}")
    return result


async def _only_created(
    evalset: Evalset, plan: Mapping[str, Any], environment: Mapping[str, str], say: Callable[[str], None]
) -> dict[str, Any]:
    """Make the evalset on the platform and run nothing."""
    import time

    options = DatalayerOptions.model_validate(plan["datalayer"])
    settings = settings_for(options, evalset, time.time())
    async with Evals(environment, options.api_url, options.account_uid) as evals:
        evalset_id = await evals.import_evalset(settings.spec, settings.run_environment)
    say(f"Created evalset: {evalset_id} ({settings.evalset_name})")
    return {
        "evalset_id": evalset_id,
        "evalset_name": settings.evalset_name,
        "experiment_ids": [],
        "run_ids": [],
        "view_url": view_url(environment, evalset_id),
    }


def _environment(client: Any) -> dict[str, str]:
    """Ours, with the client's API key in it. It lives in memory only."""
    environment = dict(os.environ)
    key: Any = client
    for name in ("_get_token", "token", "api_key"):
        if client is not None and not isinstance(client, str) and hasattr(client, name):
            found = getattr(client, name)
            key = found() if callable(found) else found
            break
    if isinstance(key, str) and key:
        environment[KEY] = key
    elif client is not None and KEY not in environment:
        raise EvalsetRefused("the client has no API key: pass the key itself, an object with `token`, or None")
    return environment


def _command(given: Sequence[str] | None, level: str) -> list[str]:
    if given is not None:
        return list(given)
    words = list(SERVER_COMMAND)
    words[words.index("--log-level") + 1] = level
    return words


def _outcomes(request: RequestRecord) -> dict[str, Any]:
    counters = request.counters
    names = ("passed", "failed", "error", "unscored", "cancelled")
    return {**{name: getattr(counters, name) for name in names}, "pass_rate": counters.pass_rate}


def _quiet(message: str) -> None:
    """The log of those who want none."""


class _Telling(Listener):
    """Turns what happens into lines for ``log``."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def begun(self, run: RunRecord, requests: list[RequestRecord]) -> None:
        total = sum(request.counters.total for request in requests)
        self._say(f"Run {run.run_id}: {total} tasks on {len(requests)} agentspecs")

    def task_finished(self, request: RequestRecord, task: TaskDescription, result: TaskResult) -> None:
        why = f": {result.message}" if result.message else ""
        self._say(f"{request.name}: {task.case_id}: {result.outcome.value}{why}")

    def request_changed(self, request: RequestRecord) -> None:
        if request.state is not RequestState.RUNNING:
            error = f": {request.error}" if request.error else ""
            self._say(f"{request.name}: {request.state.value}{error}")

    def trouble(self, message: str) -> None:
        self._say(message)


__all__ = ["EvalsetRefused", "async_execute_evalset_spec", "execute_evalset_spec", "load_evalset_spec"]
