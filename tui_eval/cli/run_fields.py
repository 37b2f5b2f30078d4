"""What every command with ``--json`` says of a run itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_eval.store.records import RunRecord


def run_fields(run: RunRecord) -> dict[str, Any]:
    """A run as JSON data. ``state`` is the state as of now: a run without its runner is interrupted. Times are seconds
    since the epoch."""
    from tui_eval.store.liveness import state_now

    return {
        "run_id": run.run_id,
        "name": run.name,
        "state": state_now(run).value,
        "origin": run.origin,
        "parent_run_id": run.parent_run_id,
        "plan_path": run.plan_path,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "tags": run.tags,
        "note": run.note,
        "error": run.error,
    }
