"""tui_eval: evaluate AI agents from a plain terminal.

The Python API is here and loads the engine when it is first used, so that ``import tui_eval`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "OrchestrationResult",
    "ProgressEvent",
    "RequestOutcome",
    "__version__",
    "async_launch",
    "async_run_evaluation",
    "launch",
    "run_evaluation",
]

if TYPE_CHECKING:
    from tui_eval.api import (
        OrchestrationResult,
        ProgressEvent,
        RequestOutcome,
        async_launch,
        async_run_evaluation,
        launch,
        run_evaluation,
    )


def __getattr__(name: str) -> Any:
    if name in __all__:
        import tui_eval.api

        return getattr(tui_eval.api, name)
    raise AttributeError(f"module 'tui_eval' has no attribute {name!r}")
