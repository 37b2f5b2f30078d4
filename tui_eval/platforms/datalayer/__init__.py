"""Datalayer: evalsets run against agentspecs, here or on the platform. Loaded when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_eval.platforms.datalayer.execute import (
        EvalsetRefused,
        async_execute_evalset_spec,
        execute_evalset_spec,
        load_evalset_spec,
    )
    from tui_eval.platforms.datalayer.offline import (
        async_evaluate_evalset,
        evaluate_evalset,
        run_and_evaluate_evalset,
    )
    from tui_eval.platforms.datalayer.report import create_report

_PLACES = {
    "EvalsetRefused": "execute",
    "async_evaluate_evalset": "offline",
    "async_execute_evalset_spec": "execute",
    "evaluate_evalset": "offline",
    "execute_evalset_spec": "execute",
    "load_evalset_spec": "execute",
    "run_and_evaluate_evalset": "offline",
    "create_report": "report",
}

__all__ = [
    "EvalsetRefused",
    "async_evaluate_evalset",
    "async_execute_evalset_spec",
    "create_report",
    "evaluate_evalset",
    "execute_evalset_spec",
    "load_evalset_spec",
    "run_and_evaluate_evalset",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
