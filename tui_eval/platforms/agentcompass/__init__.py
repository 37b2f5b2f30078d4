"""AgentCompass: its orchestration files, its runs, its results, all in our history. Never imported into our process.

The Python of its SDK page is here and loads nothing until it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = [
    "OrchestrationDefaults",
    "OrchestrationResult",
    "OrchestrationSpec",
    "ProgressEvent",
    "RequestOutcome",
    "RunRequestSpec",
    "RuntimeOptions",
    "async_launch",
    "async_run_evaluation",
    "launch",
    "run_evaluation",
]

if TYPE_CHECKING:
    from tui_eval.platforms.agentcompass.sdk import (
        OrchestrationDefaults,
        OrchestrationResult,
        OrchestrationSpec,
        ProgressEvent,
        RequestOutcome,
        RunRequestSpec,
        RuntimeOptions,
        async_launch,
        async_run_evaluation,
        launch,
        run_evaluation,
    )


def __getattr__(name: str) -> Any:
    if name in __all__:
        from tui_eval.platforms.agentcompass import sdk

        return getattr(sdk, name)
    raise AttributeError(f"module 'tui_eval.platforms.agentcompass' has no attribute {name!r}")
