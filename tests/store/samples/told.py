"""What a reader finds in a history, as JSON data: everything that a user would miss."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tui_eval.store.reader import History


def told(path: Path) -> list[dict[str, Any]]:
    """Every run with its tasks, cases, attempts and scores."""
    with History(path) as history:
        return [_run(history, overview.run.run_id) for overview in history.runs()]


def _run(history: History, run_id: str) -> dict[str, Any]:
    run = history.run(run_id)
    return {
        "run_id": run.run_id,
        "state": run.state.value,
        "plan": run.plan,
        "tags": run.tags,
        "note": run.note,
        "pinned": run.pinned,
        "log": [line.message for line in history.log(run)],
        "requests": [[request.name, asdict(request.counters)] for request in history.requests(run)],
        "tasks": [
            {
                "case_id": task.case_id,
                "outcome": task.outcome.value,
                "output": task.output,
                "fingerprint": task.fingerprint,
                "case": history.case(task.case_key),
                "scores": [asdict(score) for score in history.scores(task.id)],
                "attempts": [
                    [one.number, one.error_kind, one.payload.answer if one.payload else None]
                    for one in history.attempts(task.id, payloads=True)
                ],
            }
            for task in history.iter_tasks(run)
        ],
    }
