"""The result files of AgentCompass as they are found on a disk: half written, moving, of an older layout, or damaged.

A task's folder moves from ``running`` to ``normal``, ``error`` or ``fatal`` when it is final (contract, section 3).
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_eval.platforms.agentcompass.paths import task_folder_name

FINAL = ("normal", "error", "fatal")
STATES = ("running", *FINAL)
LARGEST_FILE = 64 * 1024 * 1024
"""Bytes of a result file that is read; a larger one is only named."""
_TRIES = 6
_PAUSE_SECONDS = 0.05


@dataclass(slots=True)
class AttemptFiles:
    """One attempt: its result (None: not there or not readable), what was prepared for it, and its discarded tries."""

    number: int
    result: dict[str, Any] | None = None
    checkpoint: dict[str, Any] | None = None
    retries: list[dict[str, Any]] = field(default_factory=list)
    folder: str = ""
    problem: str = ""


@dataclass(slots=True)
class TaskFiles:
    """One task. ``state`` is ``running`` or one of :data:`FINAL`; ``k`` is how many attempts were planned."""

    task_id: str
    state: str
    folder: Path
    category: Any = None
    ground_truth: Any = None
    k: int = 1
    attempts: dict[int, AttemptFiles] = field(default_factory=dict)

    @property
    def final(self) -> bool:
        return self.state in FINAL


def read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file, None when there is none that can be read whole."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            return None
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _no_constant(name: str) -> None:
    """NaN and infinities, which are no JSON, are nothing."""


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines; lines that are torn or damaged are passed over."""
    try:
        with path.open("rb") as stream:
            for line in stream:
                try:
                    data = json.loads(line, parse_constant=_no_constant)
                except (ValueError, RecursionError):
                    continue
                if isinstance(data, dict):
                    yield data
    except OSError:
        return


def task_of(run_folder: Path, task_id: str) -> TaskFiles | None:
    """The files of one task, None when there are none. It may be moved while it is read."""
    tries = _TRIES if (run_folder / "details").is_dir() else 1
    return _moving(_places(run_folder, task_folder_name(task_id)), tries)


def tasks_of(run_folder: Path, without: Collection[str] = ()) -> Iterator[TaskFiles]:
    """Every task of a run folder, by name of its folder, but those ``without``. One that is in two places is told once,
    from the final one."""
    names = {folder.name for state in STATES for folder in _folders(run_folder / "details" / state)}
    # The layout before the states has the tasks one level up.
    names |= {folder.name for folder in _folders(run_folder / "details") if folder.name not in STATES}
    for name in sorted(names.difference(map(task_folder_name, without))):
        found = _moving(_places(run_folder, name), 2)
        if found is not None:
            yield found


def _places(run_folder: Path, name: str) -> list[Path]:
    details = run_folder / "details"
    return [*(details / state / name for state in (*FINAL, "running")), details / name]


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(one for one in path.iterdir() if one.is_dir() and not one.is_symlink())
    except OSError:
        return []


def _moving(places: list[Path], tries: int) -> TaskFiles | None:
    """Read a folder that may move meanwhile: again while what was read is not whole."""
    found: TaskFiles | None = None
    for again in range(tries):
        time.sleep(_PAUSE_SECONDS * again)
        folder = next((place for place in places if place.is_dir()), None)
        found = (_read(folder) if folder is not None else None) or found
        if folder is not None and found is not None and folder.is_dir() and (not found.final or _whole(found)):
            return found
    return found


def _whole(task: TaskFiles) -> bool:
    return bool(task.attempts) and all(one.result is not None for one in task.attempts.values())


def _read(folder: Path) -> TaskFiles | None:
    index = read_object(folder / "task.json")
    task_id = index.get("task_id") if index is not None else None
    if index is None or not isinstance(task_id, str) or not task_id:
        return None
    state = folder.parent.name if folder.parent.name in STATES else _state_of_old_layout(folder)
    plan = index.get("attempt_plan")
    k = plan.get("k") if isinstance(plan, Mapping) else 1
    task = TaskFiles(
        task_id,
        state,
        folder,
        index.get("category"),
        index.get("ground_truth"),
        k if isinstance(k, int) and not isinstance(k, bool) and k > 0 else 1,
    )
    named = index.get("attempts")
    for number, name in (named if isinstance(named, Mapping) else {}).items():
        if str(number).isdecimal() and name == f"attempt-{number}":
            task.attempts[int(number)] = _attempt(folder / name, int(number))
    return task


def _state_of_old_layout(folder: Path) -> str:
    """Without a state in the path: final when there is a result."""
    return "normal" if any(folder.glob("attempt-*/result.json")) else "running"


def _attempt(folder: Path, number: int) -> AttemptFiles:
    attempt = AttemptFiles(number, folder=str(folder))
    place = folder / "result.json"
    attempt.result = read_object(place)
    if attempt.result is None and place.exists():
        attempt.problem = f"{place} cannot be read as JSON, or is larger than {LARGEST_FILE // 2**20} MiB"
    attempt.checkpoint = read_object(folder / "checkpoint.json")
    retries = [data for path in sorted(folder.glob("retries/**/*.json")) if (data := read_object(path)) is not None]
    attempt.retries = sorted(retries, key=lambda data: data["retry"] if isinstance(data.get("retry"), int) else 0)
    return attempt
