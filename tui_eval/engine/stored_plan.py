"""The plan of an earlier run, ready to run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.errors import TuiEvalError, UsageError
from tui_eval.spec.credentials import hidden_places, restore_hidden
from tui_eval.spec.loading import load_plan

if TYPE_CHECKING:
    from tui_eval.spec.loading import LoadedPlan
    from tui_eval.store.records import RunRecord


def load_stored_plan(run: RunRecord, environment: Mapping[str, str], overrides: Sequence[str] = ()) -> LoadedPlan:
    """The plan as it was when ``run`` was launched; ``${NAME}`` takes today's values.

    Credentials that were typed into the plan file are never stored: they are read again from the file, and it is an
    error when they are no longer there.
    """
    folder = Path(run.folder)
    plan = run.plan
    if hidden_places(plan):
        plan = restore_hidden(plan, _today(run, environment))
    if missing := hidden_places(plan):
        raise UsageError(
            f"run {run.run_id}: credentials typed into the plan are never stored, and {run.plan_path or 'its plan'} does "
            f"not have them any more: {', '.join(missing)}. Put them into the environment and write ${{NAME}} in the plan."
        )
    return load_plan(plan, overrides=overrides, environment=environment, folder=folder)


def _today(run: RunRecord, environment: Mapping[str, str]) -> dict[str, Any]:
    if not run.plan_path:
        return {}
    try:
        return load_plan(Path(run.plan_path), environment=environment, check_environment=False).resolved
    except TuiEvalError:
        return {}
