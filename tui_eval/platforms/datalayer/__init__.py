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
    from tui_eval.platforms.datalayer.report import create_report

_PLACES = {
    "EvalsetRefused": "execute",
    "async_execute_evalset_spec": "execute",
    "execute_evalset_spec": "execute",
    "load_evalset_spec": "execute",
    "create_report": "report",
}

__all__ = [
    "EvalsetRefused",
    "async_execute_evalset_spec",
    "create_report",
    "execute_evalset_spec",
    "load_evalset_spec",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
