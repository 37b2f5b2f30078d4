"""Rows of the history to records and back: the one place that knows the order of the columns."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

from tui_eval.domain import Outcome, Score
from tui_eval.store.encoding import unpack
from tui_eval.store.faults import UnknownWord
from tui_eval.store.records import (
    AttemptPayload,
    AttemptRecord,
    Command,
    Counters,
    LogLine,
    RequestRecord,
    RequestState,
    RunRecord,
    RunState,
    TaskRecord,
)

Word = TypeVar("Word", bound=StrEnum)

COUNTERS = [
    "total",
    "passed",
    "failed",
    "error_count",
    "unscored",
    "cancelled",
    "running",
    "waiting",
    "reused",
    "attempts",
    "input_tokens",
    "output_tokens",
    "cost",
    "latency_total",
    "latency_count",
]

_RUN = [
    "id",
    "run_id",
    "name",
    "state",
    "origin",
    "origin_detail",
    "parent_run_id",
    "plan_path",
    "folder",
    "program",
    "created_at",
    "started_at",
    "finished_at",
    "error",
    "warnings",
    "tags",
    "note",
    "host",
    "pid",
    "pid_started",
    "heartbeat_at",
    "task_concurrency",
    "pinned",
]
_REQUEST = [
    "id",
    "run",
    "position",
    "name",
    "state",
    "error",
    "solution_type",
    "dataset",
    "dataset_hash",
    "started_at",
    "finished_at",
]
_TASK = [
    "id",
    "run",
    "request",
    "position",
    "case_key",
    "case_id",
    "repeat",
    "line",
    "work",
    "outcome",
    "fingerprint",
    "evaluation_fingerprint",
    "reused_from",
    "attempts",
    "started_at",
    "finished_at",
    "latency",
    "score",
    "error_kind",
    "message",
    "output",
    "trace_id",
    "input_tokens",
    "output_tokens",
    "cost",
]
_ATTEMPT = ["id", "task", "number", "started_at", "seconds", "error_kind", "message", "status_code", "trace_id"]


def columns(names: Iterable[str], table: str) -> str:
    return ", ".join(f"{table}.{name}" for name in names)


RUN_COLUMNS = columns(_RUN, "runs")
REQUEST_COLUMNS = columns([*_REQUEST, *COUNTERS], "requests")
ATTEMPT_COLUMNS = columns(_ATTEMPT, "attempts")
SCORE_COLUMNS = columns(["task", "evaluator", "value", "passed", "reason", "error", "detail"], "scores")
TASK_COLUMNS = columns(_TASK, "tasks").replace(
    "tasks.outcome",
    "CASE WHEN tasks.outcome = 'queued' AND EXISTS (SELECT 1 FROM activity WHERE activity.task = tasks.id) "
    "THEN 'running' ELSE tasks.outcome END",
)


def known(words: type[Word], value: str) -> Word:
    """``value`` as one of ``words``. Raises UnknownWord."""
    found: Word | None = _members(words).get(value)
    if found is None:
        raise UnknownWord(f"{value!r} is no {words.__name__}")
    return found


@cache
def _members(words: type[Word]) -> dict[str, Word]:
    """A word is looked up here in a third of the time that the enumeration takes."""
    return {word.value: word for word in words}


def run_record(row: tuple[Any, ...], plan: str | None = None) -> RunRecord:
    """A row of RUN_COLUMNS; ``plan`` is the column of that name, left out in lists (the record's is empty then)."""
    fields = dict(zip(_RUN, row, strict=True))
    fields["state"] = known(RunState, fields["state"])
    fields["pinned"] = bool(fields["pinned"])
    for name in ("origin_detail", "warnings", "tags"):
        fields[name] = json.loads(fields[name])
    return RunRecord(plan=json.loads(plan) if plan else {}, **fields)


def request_record(row: tuple[Any, ...]) -> RequestRecord:
    fields = dict(zip(_REQUEST, row, strict=False))
    fields["state"] = known(RequestState, fields["state"])
    return RequestRecord(counters=Counters(*row[len(_REQUEST) :]), **fields)


def task_record(row: tuple[Any, ...]) -> TaskRecord:
    """A row of TASK_COLUMNS, which are in the order of the record's fields."""
    record = TaskRecord(*row)
    record.outcome = known(Outcome, record.outcome)
    return record


def attempt_record(row: tuple[Any, ...], payload: AttemptPayload | None = None) -> AttemptRecord:
    """A row of ATTEMPT_COLUMNS."""
    identity, _, number, started_at, seconds, error_kind, message, status_code, trace_id = row
    return AttemptRecord(number, started_at, seconds, error_kind, message, status_code, trace_id, payload, identity)


def payload_record(codec: int, data: bytes) -> AttemptPayload:
    stored = unpack(codec, data)
    return AttemptPayload(request=stored.get("request") or {}, answer=stored.get("answer"))


def score_record(row: tuple[Any, ...]) -> Score:
    """A row of SCORE_COLUMNS."""
    _, evaluator, value, passed, reason, error, detail = row
    return Score(evaluator, value, None if passed is None else bool(passed), reason, error, json.loads(detail))


def command_record(row: tuple[Any, ...]) -> Command:
    """A row of id, kind, arguments, given_by, given_at."""
    identity, kind, arguments, given_by, given_at = row
    return Command(identity, kind, command_arguments(arguments), given_by, given_at)


def command_arguments(text: str) -> dict[str, Any]:
    """The arguments of a command. Other programs can write into that table: what is no JSON object counts as none."""
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def log_line(row: tuple[Any, ...]) -> LogLine:
    """A row of id, at, level, request, message."""
    identity, at, level, request, message = row
    return LogLine(at, level, message, request, identity)
