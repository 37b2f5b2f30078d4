"""One result as the platform's log store ``experiment_detail`` has it: fields, names and order of contract section 5.1."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tui_eval.domain import JsonValue, Outcome
from tui_eval.platforms.agentloop.loggroup import Log
from tui_eval.store.records import AttemptPayload, TaskRecord

LARGEST_VALUE = 1_000_000
"""Bytes of one value; the log service takes 1 MiB."""
LARGEST_LOG = 2_500_000
"""Bytes of one result, and of one call: the log service takes 3 MB (newer ones 10)."""
_NAMESPACE = uuid.UUID("6a1b1c52-7d0e-5d0b-9a55-2f3c5f1f2b7e")
_INPUTS = ("body", "messages", "form", "text")


@dataclass(frozen=True, slots=True)
class Experiment:
    """What all results of one record have in common. ``started_at`` is in seconds since the epoch."""

    run_id: str
    request: str
    record_id: str
    record_name: str
    group: str
    started_at: float
    plan_id: str
    plan_name: str
    dataset: str
    project: str
    config: Mapping[str, JsonValue] = field(default_factory=dict)

    def task_id(self, case_id: str) -> str:
        """The id of a case's task on the platform: the same one whenever it is asked for, another one in each run."""
        return str(uuid.uuid5(_NAMESPACE, json.dumps([self.run_id, self.request, case_id])))


def detail_log(
    experiment: Experiment,
    task: TaskRecord,
    case_input: Mapping[str, JsonValue],
    payload: AttemptPayload | None,
) -> Log:
    """The log of one finished task. ``payload`` is what its last attempt sent and received."""
    fields: list[tuple[str, str]] = [
        ("experiment_id", experiment.record_id),
        ("experiment_name", experiment.group),
        ("experiment_start_time", str(int(experiment.started_at * 1000))),
        ("experiment_type", "agent"),
        ("experiment_metadata", _json(_metadata(experiment))),
        ("experiment_config", _json(dict(experiment.config))),
        ("task_id", experiment.task_id(task.case_id)),
        ("repeat_id", str(task.repeat)),
        ("data_config", _json(_data_config(experiment, case_input))),
        ("experiment_input", _text(sent_input(payload, case_input))),
        ("experiment_output", output_text(task, payload)),
        ("status", "failed" if task.outcome is Outcome.ERROR else "success"),
        ("traceId", task.trace_id),
        *_session(payload),
        ("experiment_metrics", _json({"latency": round((task.latency or 0.0) * 1000)})),
    ]
    fields += [(f"dataset.{name}", _text(value)) for name, value in case_input.items()]
    return Log(int(task.finished_at or 0), _bounded(fields))


def _session(payload: AttemptPayload | None) -> list[tuple[str, str]]:
    """``session_id``, of a row that was a conversation."""
    detail = (payload.answer or {}).get("detail") if payload is not None else None
    session = detail.get("session_id") if isinstance(detail, Mapping) else None
    return [("session_id", session)] if isinstance(session, str) and session else []


def sent_input(payload: AttemptPayload | None, case_input: Mapping[str, JsonValue]) -> JsonValue:
    """``experiment_input``: the body that was sent, else the row."""
    request = payload.request if payload is not None else {}
    for name in _INPUTS:
        if request.get(name) is not None:
            return request[name]
    return dict(case_input)


def output_text(task: TaskRecord, payload: AttemptPayload | None) -> str:
    """``experiment_output``: the output, or what went wrong."""
    if task.outcome is Outcome.ERROR:
        return f"ERROR: {task.error_kind or 'error'} - {task.message}"
    answer = payload.answer if payload is not None else None
    return _text(answer.get("output") if answer is not None else task.output)


def _metadata(experiment: Experiment) -> dict[str, JsonValue]:
    return {
        "run_env": "local_run",
        "record_id": experiment.record_id,
        "record_name": experiment.record_name,
        "experiment_group_name": experiment.group,
        "plan_id": experiment.plan_id,
        "plan_name": experiment.plan_name,
    }


def _data_config(experiment: Experiment, case_input: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        "data_type": "dataset",
        "project": experiment.project,
        "dataset_id": experiment.dataset,
        "dataset_item_id": _text(case_input.get("id", "")),
    }


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else _json(value)


def _bounded(fields: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The fields, long values cut with a mark that says how much is missing."""
    most = LARGEST_VALUE
    sizes: list[int] = [_size(value) for _, value in fields]
    while sum(min(size, most) for size in sizes) > LARGEST_LOG and most > 1000:
        most //= 2
    return tuple(
        (name, value if size <= most else cut(value, most)) for (name, value), size in zip(fields, sizes, strict=True)
    )


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "backslashreplace"))


def cut(text: str, most: int) -> str:
    """The beginning of ``text`` in at most ``most`` bytes of UTF-8, with a mark at its end."""
    data = text.encode("utf-8", "backslashreplace")
    mark = f"…[cut by tui_eval: {len(data)} bytes]"
    return data[: max(0, most - len(mark.encode()))].decode("utf-8", "ignore") + mark


def experiment_of(
    settings: Mapping[str, Any], run_id: str, request: str, record_id: str, record_name: str, started_at: float
) -> Experiment:
    """The experiment that a stored record describes."""
    return Experiment(
        run_id=run_id,
        request=request,
        record_id=record_id,
        record_name=record_name,
        group=str(settings.get("group", "")),
        started_at=started_at,
        plan_id=str(settings.get("plan_id", "")),
        plan_name=str(settings.get("plan_name", "")),
        dataset=str(settings.get("dataset", "")),
        project=str(settings.get("project", "")),
        config=settings.get("experiment_config") or {},
    )
