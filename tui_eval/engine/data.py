"""What the parts of the engine hand each other: a planned run, a task for an executor, how far it is, what came back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tui_eval.domain import Answer, JsonValue, StreamEvent, Usage
from tui_eval.store.records import FinishedTask, RequestRecord, RunRecord


@dataclass(frozen=True, slots=True)
class TaskDescription:
    """One task to carry out. ``task`` is its key in the history, ``request`` the request's name,
    ``position`` its place in the request's order.

    ``work`` is ``call``, or ``score`` to judge the ``answer`` that is there already. ``attempts_made`` counts attempts
    of this task that are stored already; new ones are numbered after them.
    """

    task: int
    request: str
    request_key: int
    case_id: str
    case_input: Mapping[str, JsonValue]
    position: int = 0
    repeat: int = 0
    line: int = 0
    work: str = "call"
    answer: Mapping[str, Any] | None = None
    attempts_made: int = 0
    latency: float | None = None


TaskResult = FinishedTask
"""What an executor returns: the end of the task as the history keeps it."""


@dataclass(slots=True)
class Progress:
    """What a task is doing right now, updated in place by ``run_task`` and read by whoever shows it.

    ``phase`` is ``queued``, ``preparing``, ``calling``, ``connecting``, ``streaming``, ``waiting`` or ``judging``;
    ``since`` and ``until`` are seconds since the epoch. ``result`` collects the attempts, so that they survive a cancellation.
    """

    result: FinishedTask
    phase: str = "queued"
    since: float = 0.0
    until: float | None = None
    attempt: int = 0
    detail: str = ""


# Looked up once: this is done for every attempt, and dataclasses.asdict copies at any depth.
_ANSWER_FIELDS = tuple(item.name for item in fields(Answer) if item.name != "output")
_USAGE_FIELDS = tuple(item.name for item in fields(Usage))


def answer_to_json(answer: Answer) -> dict[str, Any]:
    """The answer as JSON data, empty fields left out."""
    data: dict[str, Any] = {"output": answer.output}
    for name in _ANSWER_FIELDS:
        value = getattr(answer, name)
        if not value:
            continue
        if name == "events":
            value = [[event.at, event.event, event.data] for event in value]
        elif name == "usage":
            value = {field: getattr(value, field) for field in _USAGE_FIELDS}
        elif name == "headers":
            value = [list(pair) for pair in value]
        data[name] = value
    return data


def answer_from_json(data: Mapping[str, Any]) -> Answer:
    """The answer that :func:`answer_to_json` was given."""
    known = {item.name for item in fields(Answer)}
    values = {name: value for name, value in data.items() if name in known}
    if "events" in values:
        values["events"] = [StreamEvent(*event) for event in values["events"]]
    if values.get("usage") is not None:
        values["usage"] = Usage(**values["usage"])
    if "headers" in values:
        values["headers"] = [(name, value) for name, value in values["headers"]]
    return Answer(**values)


__all__ = ["Progress", "TaskDescription", "TaskResult", "answer_from_json", "answer_to_json"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A run whose tasks are all written, unless it was cancelled before (``cancelled_by`` says by whom)."""

    run: RunRecord
    requests: list[RequestRecord]
    cancelled_by: str = ""
