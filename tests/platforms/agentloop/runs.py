"""Runs whose results the fake platform gets, and the shape of what it was sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.platforms.agentloop.conftest import KEYS
from tui_eval.engine.execution import execute_job
from tui_eval.jobs import Job
from tui_eval.platforms.agentloop.companion import reported_by_caller

RUN = "20261129-120000-aaaa"


async def run_plan(history: Path, plan: dict[str, Any], run_id: str = RUN) -> None:
    with reported_by_caller():
        await execute_job(Job("launch", str(history), run_id, plan=plan, folder=str(history.parent)), environment=KEYS)


def shape(value: Any) -> Any:
    """The names and types in a value; whole texts are not compared."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value[:1]]
    return type(value).__name__
