"""What is known of one run of AgentCompass while it is recorded: its requests, their tasks, what each is doing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.store.records import Activity, RequestRecord


@dataclass(slots=True)
class TaskTrack:
    """One task of AgentCompass. ``keys`` are those of our tasks by attempt (its attempt 1 is our repeat 0)."""

    task_id: str
    keys: dict[int, int] = field(default_factory=dict)
    started_at: float | None = None
    finished: set[int] = field(default_factory=set)
    begun: dict[int, float] = field(default_factory=dict)
    ended: dict[int, float] = field(default_factory=dict)
    activity: dict[int, Activity] = field(default_factory=dict)
    category: Any = None
    question: JsonValue = None
    ground_truth: JsonValue = None


@dataclass(slots=True)
class RequestTrack:
    """One request: our record of it, and where AgentCompass writes its results (None: not known yet)."""

    record: RequestRecord
    folder: Path | None = None
    tasks: dict[str, TaskTrack] = field(default_factory=dict)
    next_position: int = 0
    reused: frozenset[str] = frozenset()
    """Tasks that AgentCompass took over from an earlier run of its own, which our history has already."""
    figures: str = ""

    def files(self) -> dict[str, str]:
        return {"log": str(self.folder / "run.log")} if self.folder is not None else {}
