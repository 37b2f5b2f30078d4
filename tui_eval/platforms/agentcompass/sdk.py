"""The Python of AgentCompass's SDK page, run through the bridge and kept in the history.

The same names, keywords and result shapes (contract, sections 1 and 4); a program changes its import line only.
Beside AgentCompass's own keywords there are ``history``, ``history_run_id``, ``python`` and ``preload``.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tui_eval.blocking import blocking
from tui_eval.errors import PlatformError

Section = Mapping[str, Any]
ConfigPath = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(slots=True)
class RunRequestSpec:
    """One request before defaults are merged in; sections as in a file."""

    name: str
    benchmark: Section | None = None
    harness: Section | None = None
    environment: Section | None = None
    model: Section | None = None
    execution: Section | None = None
    runtime: Section | None = None
    output: Section | None = None


@dataclass(slots=True)
class OrchestrationDefaults:
    """Sections that every request inherits."""

    benchmark: Section | None = None
    harness: Section | None = None
    environment: Section | None = None
    model: Section | None = None
    execution: Section | None = None
    runtime: Section | None = None
    output: Section | None = None


@dataclass(slots=True)
class RuntimeOptions:
    """Values for the whole orchestration; None is "not given". Times are in seconds."""

    results_dir: str | None = None
    data_dir: str | None = None
    timeout_seconds: float | None = None
    cleanup_grace_seconds: float | None = None
    progress: str | None = None
    log_level: str | None = None
    file_log_level: str | None = None
    log_file: str | None = None
    auto_install_dependencies: bool | None = None
    provider_limits: dict[str, int] | None = None
    env_open_qps: dict[str, float] | None = None
    recipe_dirs: list[str] | None = None


@dataclass(slots=True)
class OrchestrationSpec:
    """A whole orchestration. ``${NAME}`` in a value is replaced from the environment (AgentCompass itself does that
    for files only)."""

    requests: list[RunRequestSpec]
    name: str = ""
    task_concurrency: int | None = None
    defaults: OrchestrationDefaults = field(default_factory=OrchestrationDefaults)
    runtime: RuntimeOptions = field(default_factory=RuntimeOptions)
    version: int = 1


@dataclass(slots=True)
class ProgressEvent:
    """What happened, as AgentCompass told it (contract, section 3). ``timestamp`` is seconds since the epoch."""

    run_id: str = ""
    event: str = ""
    timestamp: float = 0.0
    task_id: str | None = None
    category: str | None = None
    attempt: int | None = None
    phase: str | None = None
    status: str | None = None
    payload: dict[str, Any] = field(default_factory=dict)
    orchestration_id: str | None = None
    request_key: str | None = None
    request_name: str | None = None
    request_index: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}


@dataclass(slots=True)
class RequestOutcome:
    """How one request ended: ``completed``, ``failed``, ``timed_out`` or ``cancelled``. ``result`` is AgentCompass's."""

    name: str
    status: str
    result: dict[str, Any] | None = None
    error: str = ""
    paths: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class OrchestrationResult:
    """How an orchestration ended, requests in the order of the file. ``history_run_id`` is its run in the history."""

    orchestration_id: str
    name: str
    status: str
    requests: dict[str, RequestOutcome]
    started_at: str = ""
    finished_at: str = ""
    history_run_id: str = ""


OnProgress = Callable[[ProgressEvent], None]
OnRequestFinished = Callable[[RequestOutcome], None]


async def async_launch(
    orchestration: OrchestrationSpec | str | os.PathLike[str],
    *,
    config_path: ConfigPath | None = None,
    task_concurrency: int | None = None,
    results_dir: str | None = None,
    data_dir: str | None = None,
    timeout_seconds: float | None = None,
    cleanup_grace_seconds: float | None = None,
    provider_limits: dict[str, int] | None = None,
    env_open_qps: dict[str, float] | None = None,
    log_level: str | None = None,
    file_log_level: str | None = None,
    log_file: str | None = None,
    progress: str | None = None,
    auto_install_dependencies: bool | None = None,
    on_progress: OnProgress | None = None,
    on_request_finished: OnRequestFinished | None = None,
    history: str | os.PathLike[str] | None = None,
    history_run_id: str | None = None,
    python: str | None = None,
    preload: Sequence[str | os.PathLike[str]] = (),
) -> OrchestrationResult:
    """Launch an orchestration (a spec, or the path of a file) and wait for its end.

    The callbacks are called from the event loop. Raises SpecError with every fault (AgentCompass raises ValueError with
    the first), UsageError when AgentCompass is not installed, PlatformError when it ended without a result, and
    ``asyncio.CancelledError`` when it was cancelled.
    """
    runtime = {
        "results_dir": results_dir,
        "data_dir": data_dir,
        "timeout_seconds": timeout_seconds,
        "cleanup_grace_seconds": cleanup_grace_seconds,
        "provider_limits": provider_limits,
        "env_open_qps": env_open_qps,
        "log_level": log_level,
        "file_log_level": file_log_level,
        "log_file": log_file,
        "auto_install_dependencies": auto_install_dependencies,
    }
    settings: dict[str, Any] = {f"runtime.{key}": value for key, value in runtime.items() if value is not None}
    if task_concurrency is not None:
        settings["task_concurrency"] = task_concurrency
    settings["agentcompass.config"] = _paths(config_path)
    settings["agentcompass.preload"] = [str(Path(path).absolute()) for path in preload]
    if python is not None:
        settings["agentcompass.python"] = python
    hearing = _Hearing(on_progress, on_request_finished)
    plan = (
        data_of(orchestration) if isinstance(orchestration, OrchestrationSpec) else str(Path(orchestration).absolute())
    )
    run_id = await _execute(plan, settings, history, history_run_id, hearing)
    return hearing.result(run_id)


def launch(orchestration: OrchestrationSpec | str | os.PathLike[str], **options: Any) -> OrchestrationResult:
    """:func:`async_launch`, blocking. Must not be called from a running event loop."""
    return blocking("launch", async_launch(orchestration, **options))


async def async_run_evaluation(
    *,
    benchmark: str,
    harness: str,
    model: str,
    environment: str = "host_process",
    benchmark_params: dict[str, Any] | None = None,
    harness_params: dict[str, Any] | None = None,
    environment_params: dict[str, Any] | None = None,
    execution_params: dict[str, Any] | None = None,
    model_base_url: str = "",
    model_api_key: str = "",
    model_api_protocol: str | list[str] = "",
    model_params: dict[str, Any] | None = None,
    wrap_api_key: bool = False,
    task_concurrency: int | None = None,
    k: int | None = None,
    attempt_strategy: str | None = None,
    max_retries: int | None = None,
    retry_pattern_list: list[str] | None = None,
    enabled_recipes: list[str] | None = None,
    recipe_dirs: Iterable[str | os.PathLike[str]] | None = None,
    keep_environment: bool | None = None,
    enable_analysis: bool | None = None,
    analysis_params: dict[str, Any] | None = None,
    run_name: str = "",
    run_id: str = "",
    reuse: bool | None = None,
    reuse_run_id: str = "",
    checkpoint_resume: bool | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Run one combination of model, benchmark, harness and environment; AgentCompass's result of it.

    The other ``options`` are those of :func:`async_launch`. Results lie where AgentCompass puts them:
    ``<results_dir>/[run_name/]<model>_<benchmark>_<harness>/<run_id>``. Raises RuntimeError when the evaluation failed,
    TimeoutError when it took too long, and what :func:`async_launch` raises.
    """
    execution = {
        **(execution_params or {}),
        **_given(
            max_retries=max_retries,
            retry_pattern_list=retry_pattern_list,
            enabled_recipes=enabled_recipes,
            keep_environment=keep_environment,
            enable_analysis=enable_analysis,
            analysis_params=analysis_params,
        ),
    }
    attempts = {**(execution.get("attempts") or {}), **_given(k=k, strategy=attempt_strategy)}
    request = RunRequestSpec(
        name="_".join(part for part in (model, benchmark, harness)),
        benchmark={**(benchmark_params or {}), "id": benchmark},
        harness={**(harness_params or {}), "id": harness},
        environment={**(environment_params or {}), "id": environment},
        model={
            "id": model,
            "base_url": model_base_url,
            "api_key": model_api_key,
            "api_protocol": model_api_protocol,
            "params": model_params or {},
            "wrap_api_key": wrap_api_key,
        },
        execution={**execution, **({"attempts": attempts} if attempts else {})},
        runtime=_given(reuse=reuse, reuse_run_id=reuse_run_id or None, checkpoint_resume=checkpoint_resume),
        output=_given(run_name=run_name or None, run_id=run_id or None),
    )
    runtime = RuntimeOptions(recipe_dirs=[str(path) for path in recipe_dirs] if recipe_dirs is not None else None)
    spec = OrchestrationSpec([request], task_concurrency=task_concurrency, runtime=runtime)
    outcome = (await async_launch(spec, **options)).requests[request.name]
    if outcome.status == "completed" and outcome.result is not None:
        return outcome.result
    if outcome.status == "timed_out":
        raise TimeoutError(outcome.error or "evaluation timed out")
    message = outcome.error or f"evaluation {outcome.status}"
    paths = (outcome.result or {}).get("paths")
    raise RuntimeError(f"{message}; results: {paths}" if paths else message)


def run_evaluation(**options: Any) -> dict[str, Any]:
    """:func:`async_run_evaluation`, blocking. Must not be called from a running event loop."""
    return blocking("run_evaluation", async_run_evaluation(**options))


def data_of(spec: OrchestrationSpec) -> dict[str, Any]:
    """A spec as the data of a file. Values that are None are left out."""
    return {
        "version": spec.version,
        **_given(name=spec.name or None, task_concurrency=spec.task_concurrency),
        "runtime": _section(spec.runtime),
        "defaults": _section(spec.defaults),
        "requests": [_section(request) for request in spec.requests],
    }


def _section(part: Any) -> dict[str, Any]:
    values = {item.name: getattr(part, item.name) for item in fields(part)}
    return {
        key: dict(value) if isinstance(value, Mapping) else value for key, value in values.items() if value is not None
    }


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _paths(given: ConfigPath | None) -> list[str]:
    if given is None:
        return []
    several = [given] if isinstance(given, str | os.PathLike) else list(given)
    return [str(Path(path).absolute()) for path in several]


async def _execute(
    plan: dict[str, Any] | str,
    settings: Mapping[str, Any],
    history: str | os.PathLike[str] | None,
    run_id: str | None,
    hearing: _Hearing,
) -> str:
    import json

    from tui_eval.jobs import Job, new_run_id
    from tui_eval.platforms.agentcompass.execution import execute_orchestration
    from tui_eval.store.place import history_path

    job = Job(
        "launch",
        history=str(history_path(Path(history) if history is not None else None, os.environ)),
        run_id=run_id or new_run_id(),
        plan=plan,
        folder=os.getcwd(),
        overrides=tuple(f"{key}={json.dumps(value)}" for key, value in settings.items()),
    )
    ended = await execute_orchestration(job, on_line=hearing.take)
    hearing.error = ended.run.error
    return ended.run.run_id


class _Hearing:
    """Turns the lines of the bridge into the caller's callbacks and the result."""

    def __init__(self, on_progress: OnProgress | None, on_request_finished: OnRequestFinished | None) -> None:
        self._on_progress, self._on_request_finished = on_progress, on_request_finished
        self._last: Mapping[str, Any] = {}
        self.error = ""

    def take(self, line: Mapping[str, Any]) -> None:
        kind = line.get("kind")
        if kind == "progress" and self._on_progress is not None and isinstance(line.get("event"), Mapping):
            self._on_progress(ProgressEvent(**_known(ProgressEvent, line["event"])))
        elif kind == "request_finished" and self._on_request_finished is not None:
            self._on_request_finished(_outcome(line.get("outcome")))
        elif kind in ("result", "cancelled", "error"):
            self._last = line

    def result(self, run_id: str) -> OrchestrationResult:
        kind, data = self._last.get("kind"), self._last.get("result")
        if kind == "cancelled":
            raise asyncio.CancelledError
        if kind != "result" or not isinstance(data, Mapping):
            raise PlatformError(self.error or f"AgentCompass ended without a result: tui-eval show {run_id} --log")
        requests = data.get("requests")
        outcomes = {name: _outcome(one) for name, one in (requests if isinstance(requests, Mapping) else {}).items()}
        return OrchestrationResult(
            **{**_known(OrchestrationResult, data), "requests": outcomes, "history_run_id": run_id}
        )


def _outcome(data: Any) -> RequestOutcome:
    given = _known(RequestOutcome, data if isinstance(data, Mapping) else {})
    return RequestOutcome(**{"name": "", "status": "failed", **given})


def _known(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    names = {item.name for item in fields(kind)}
    return {key: value for key, value in data.items() if key in names}
