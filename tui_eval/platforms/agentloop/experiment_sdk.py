"""The Python of AgentLoop's ``agentloop_experiment_sdk``: blocking functions, and rows that are whole conversations.

Scripts for it run with only their import line changed::

    from tui_eval.platforms.agentloop.experiment_sdk import AgentLoopConfig, http_solution_with, run_experiment

Names, parameters and defaults are those of its version 0.1.0 (contract, section 1.5); what runs is this program's engine
and history, as for the functions of the guide (``tui_eval.platforms.agentloop``), which are to be awaited.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from tui_eval.blocking import blocking
from tui_eval.platforms.agentloop import experiments
from tui_eval.platforms.agentloop.configuration import AgentLoopConfig
from tui_eval.platforms.agentloop.conversations import (
    multi_turn_cli_solution,
    multi_turn_http_solution,
    multi_turn_http_solution_with,
)
from tui_eval.platforms.agentloop.functions import (
    HttpRequestSpec,
    Task,
    command_solution,
    command_solution_with,
    http_solution,
    http_solution_with,
)
from tui_eval.platforms.agentloop.turns import default_session_id, uuid_session_id

__all__ = [
    "AgentLoopConfig",
    "AgentLoopSdk",
    "HttpRequestSpec",
    "SolutionOutput",
    "Task",
    "command_solution",
    "command_solution_with",
    "default_session_id",
    "http_solution",
    "http_solution_with",
    "multi_turn_cli_solution",
    "multi_turn_http_solution",
    "multi_turn_http_solution_with",
    "run_experiment",
    "run_experiment_parallel",
    "run_multi_turn_agent_experiment",
    "run_multi_turn_experiment",
    "uuid_session_id",
]

async_run_experiment = experiments.run_experiment
async_run_experiment_parallel = experiments.run_experiment_parallel


class SolutionOutput:
    """What a solution returns; :meth:`success` and :meth:`failure` make one."""

    def __init__(
        self,
        success: bool,
        output: Any = "",
        trajectory: list[Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.__dict__["success"] = bool(success)
        self.output = output
        self.trajectory = list(trajectory or [])
        self.meta = dict(meta or {})

    @classmethod
    def success(cls, output: Any, meta: Mapping[str, Any] | None = None) -> SolutionOutput:
        return cls(True, output, [], meta)

    @classmethod
    def failure(
        cls, error_type: str, error_message: Any, meta: Mapping[str, Any] | None = None, output: Any = ""
    ) -> SolutionOutput:
        said = {"error_type": error_type or "UnknownError", "error_message": str(error_message or "")}
        return cls(False, output, [], {**said, **(meta or {})})


def run_experiment(
    config: AgentLoopConfig,
    solution: Callable[..., Any],
    result_dir: str | os.PathLike[str] | None = "./results",
    n_repeat: int = 1,
    n_workers: int = 1,
    **options: Any,
) -> str:
    """Run the experiment plan and wait for its end; the id of the platform's record. See ``experiments.run_experiment``
    for ``options`` and what is raised."""
    return blocking(
        "run_experiment", async_run_experiment(config, solution, result_dir, n_repeat, n_workers, **options)
    )


def run_experiment_parallel(
    config: AgentLoopConfig,
    solution: Callable[..., Any],
    result_dir: str | os.PathLike[str] | None = "./results",
    n_repeat: int = 1,
    n_workers: int = 4,
    **options: Any,
) -> str:
    """:func:`run_experiment` with ``n_workers`` tasks at the same time."""
    work = async_run_experiment_parallel(config, solution, result_dir, n_repeat, n_workers, **options)
    return blocking("run_experiment_parallel", work)


def run_multi_turn_experiment(
    config: AgentLoopConfig,
    url: str,
    *,
    session_id: str | None = None,
    result_dir: str | os.PathLike[str] | None = "./results",
    n_repeat: int = 1,
    n_workers: int = 4,
    parallel: bool = True,
    **solution_options: Any,
) -> str:
    """:func:`run_experiment` on an agent behind ``url``, each row of the dataset a conversation
    (:func:`multi_turn_http_solution_with`, which takes ``solution_options``)."""
    solution = multi_turn_http_solution_with(url, session_id=session_id, **solution_options)
    return run_experiment(config, solution, result_dir, n_repeat, n_workers if parallel else 1)


def run_multi_turn_agent_experiment(
    config: AgentLoopConfig,
    command_builder: Callable[..., Any],
    *,
    session_id: str | None = None,
    result_dir: str | os.PathLike[str] | None = "./results",
    n_repeat: int = 1,
    n_workers: int = 1,
    parallel: bool = False,
    **solution_options: Any,
) -> str:
    """:func:`run_experiment` on a program that is started for each turn (:func:`multi_turn_cli_solution`, which takes
    ``solution_options``)."""
    solution = multi_turn_cli_solution(command_builder, session_id=session_id, **solution_options)
    return run_experiment(config, solution, result_dir, n_repeat, n_workers if parallel else 1)


class AgentLoopSdk:
    """The run functions under one name."""

    run_experiment = staticmethod(run_experiment)
    run_experiment_parallel = staticmethod(run_experiment_parallel)
    run_multi_turn_experiment = staticmethod(run_multi_turn_experiment)
    run_multi_turn_agent_experiment = staticmethod(run_multi_turn_agent_experiment)
