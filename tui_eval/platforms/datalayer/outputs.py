"""The outputs of a run as a file that can be graded again, here (``datalayer evaluate``) or by Datalayer's own
``agent-runtimes evals evaluate`` (contract, section 4): one for each agentspec and each time the cases were asked.

A file holds ``outputs`` and ``statuses`` in the order of the cases, and their names (``cases``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_eval.domain import Outcome
from tui_eval.errors import UsageError
from tui_eval.platforms.datalayer.metrics import output_of
from tui_eval.reports.stored import task_views
from tui_eval.reports.view import TaskView
from tui_eval.store.reader import History


@dataclass(frozen=True, slots=True)
class Given:
    """What a file of outputs says. ``statuses`` are in the order of the outputs, or of ``cases`` where it names them."""

    outputs: Sequence[Any] | Mapping[str, Any]
    statuses: Sequence[str | None] | Mapping[str, str | None]


def write_outputs(history: Path, run_id: str, folder: Path) -> list[Path]:
    """Write the files into ``folder``, which is made; where they are. Raises UsageError, HistoryError."""
    with History(history) as stored:
        run = stored.run(run_id)
        requests = stored.requests(run)
        runs: dict[tuple[str, int], list[TaskView]] = {}
        for view in task_views(stored, run, requests):
            runs.setdefault((view.request, view.task.repeat), []).append(view)
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for (name, repeat), views in runs.items():
            times = f"-{repeat + 1}" if (name, 1) in runs else ""
            path = folder / re.sub(r"[^A-Za-z0-9._-]", "_", f"outputs-{run.run_id}-{name}{times}.json")
            path.write_text(json.dumps(_data(run.run_id, name, views), ensure_ascii=False, indent=1), encoding="utf-8")
            written.append(path)
    except OSError as error:
        raise UsageError(f"{folder}: the outputs cannot be written here: {error.strerror or error}") from error
    return written


def read_outputs(path: Path) -> Given:
    """The outputs in a JSON file: a list, ``{"outputs": …}``, or a mapping of cases to outputs. Raises UsageError."""
    data = read_json(path)
    if not isinstance(data, dict) or "outputs" not in data:
        if not isinstance(data, list | dict):
            raise UsageError(f"{path}: expected a list of outputs, or a mapping of cases to outputs")
        return Given(data, [])
    outputs, statuses, cases = data["outputs"], data.get("statuses") or [], data.get("cases")
    if not isinstance(outputs, list | dict) or not isinstance(statuses, list):
        raise UsageError(f"{path}: `outputs` must be a list or a mapping, `statuses` a list")
    if not isinstance(cases, list) or not isinstance(outputs, list):
        return Given(outputs, statuses)
    names = [str(name) for name in cases]
    if len(names) != len(outputs):
        raise UsageError(f"{path}: there are {len(outputs)} outputs and {len(names)} names of cases")
    return Given(dict(zip(names, outputs, strict=True)), dict(zip(names, statuses, strict=False)))


def read_statuses(path: Path) -> list[str | None]:
    """The statuses in a JSON file: a list, or ``{"statuses": […]}``. Raises UsageError."""
    data = read_json(path)
    data = data.get("statuses") if isinstance(data, dict) else data
    if not isinstance(data, list):
        raise UsageError(f"{path}: expected a list of statuses")
    return data


def read_json(path: Path) -> Any:
    """The value in a JSON file. Raises UsageError with the place of what is wrong."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}:{error.colno}: no valid JSON: {error.msg}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _data(run_id: str, name: str, views: Sequence[TaskView]) -> dict[str, Any]:
    answered = (Outcome.PASSED, Outcome.FAILED, Outcome.UNSCORED)
    return {
        "run": run_id,
        "agentspec": name,
        "cases": [view.task.case_id for view in views],
        "outputs": [output_of(view) for view in views],
        "statuses": ["completed" if view.task.outcome in answered else "failed" for view in views],
    }
