"""AgentLoop (Alibaba Cloud): offline experiments of its plans, run here and reported there.

A script of the platform's guide runs with only its import line changed::

    from tui_eval.platforms.agentloop import AgentLoopConfig, http_solution_with, run_experiment_parallel

Each name is loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_eval.platforms.agentloop.configuration import AgentLoopConfig, EvaluatorConfig
    from tui_eval.platforms.agentloop.experiments import run_experiment, run_experiment_parallel
    from tui_eval.platforms.agentloop.functions import (
        HttpRequestSpec,
        SolutionOutput,
        Task,
        command_solution,
        command_solution_with,
        http_solution,
        http_solution_with,
    )

__all__ = [
    "AgentLoopConfig",
    "EvaluatorConfig",
    "HttpRequestSpec",
    "SolutionOutput",
    "Task",
    "command_solution",
    "command_solution_with",
    "http_solution",
    "http_solution_with",
    "run_experiment",
    "run_experiment_parallel",
]

_MODULES = {
    "AgentLoopConfig": "configuration",
    "EvaluatorConfig": "configuration",
    "run_experiment": "experiments",
    "run_experiment_parallel": "experiments",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES.get(name, 'functions')}"), name)
