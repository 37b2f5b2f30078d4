"""What the platform has, in plain records: read from its answers, whatever else they carry or lack.

The platform counts time in milliseconds, seconds and ISO texts; here it is always seconds since the epoch (None where
it said nothing). Unknown fields are ignored, missing ones are empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

_MILLISECONDS_FROM = 1e11  # as seconds that is the year 5138, as milliseconds 1973


def seconds_of(value: Any) -> float | None:
    """A time as the platform writes it, in seconds since the epoch; None for what is no time."""
    if isinstance(value, bool) or value in (None, "", 0, "0"):
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            try:
                when = datetime.fromisoformat(value.strip())
            except ValueError:
                return None
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    if not isinstance(value, int | float) or value != value or abs(value) > 1e16:
        return None
    return float(value) / 1000 if value >= _MILLISECONDS_FROM else float(value)


def fraction_of(value: Any) -> float | None:
    """Progress, which the platform writes as 0 to 1 or as 0 to 100, as 0 to 1."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    if number != number or number < 0:
        return None
    return min(number / 100 if number > 1 else number, 1.0)


@dataclass(frozen=True, slots=True)
class Space:
    """An agent space. ``project`` is the log project that its results go to."""

    name: str
    description: str = ""
    region: str = ""
    project: str = ""
    created_at: float | None = None
    updated_at: float | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Space:
        return cls(
            text(data, "agentSpace"),
            text(data, "description"),
            text(data, "regionId"),
            text(data, "slsProject"),
            seconds_of(data.get("createTime")),
            seconds_of(data.get("updateTime")),
        )


@dataclass(frozen=True, slots=True)
class PlatformPlan:
    """An experiment plan of the platform. ``evaluators`` and ``selected_ids`` are only in a plan that was got by id."""

    plan_id: str
    name: str = ""
    description: str = ""
    type: str = ""
    dataset: str = ""
    status: str = ""
    query_sql: str = ""
    pipeline: str = ""
    runs: int | None = None
    created_at: float | None = None
    updated_at: float | None = None
    selected_ids: tuple[str, ...] = ()
    evaluators: tuple[Mapping[str, Any], ...] = ()

    @property
    def runnable(self) -> bool:
        """Only an offline plan with a dataset can be run from here (contract, section 1.1)."""
        return self.type == "offline" and bool(self.dataset)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> PlatformPlan:
        return cls(
            plan_id=text(data, "planId"),
            name=text(data, "planName"),
            description=text(data, "description"),
            type=text(data, "experimentType"),
            dataset=text(data, "datasetId"),
            status=text(data, "status"),
            query_sql=text(data, "querySql"),
            pipeline=text(data, "pipelineName"),
            runs=number(data, "experimentCount"),
            created_at=seconds_of(data.get("createdAt")),
            updated_at=seconds_of(data.get("updatedAt")),
            selected_ids=tuple(str(one) for one in listed(data, "selectedItemIds")),
            evaluators=tuple(one for one in listed(data, "evaluators") if isinstance(one, dict)),
        )


@dataclass(frozen=True, slots=True)
class PlatformDataset:
    """A dataset of the platform. ``columns`` are only in one that was got by name."""

    name: str
    description: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    created_at: float | None = None
    updated_at: float | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> PlatformDataset:
        schema = data.get("schema")
        columns = schema.items() if isinstance(schema, dict) else ()
        return cls(
            text(data, "datasetName"),
            text(data, "description"),
            {str(name): text(kind, "type") if isinstance(kind, dict) else str(kind) for name, kind in columns},
            seconds_of(data.get("createTime")),
            seconds_of(data.get("updateTime")),
        )


@dataclass(frozen=True, slots=True)
class PlatformEvaluator:
    """An evaluator of the platform. ``variables`` are only in one that was got by name."""

    name: str
    display_name: str = ""
    type: str = ""
    metric: str = ""
    version: str = ""
    description: str = ""
    variables: tuple[str, ...] = ()
    created_at: float | None = None
    updated_at: float | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> PlatformEvaluator:
        config = data.get("config")
        variables = listed(config, "variables") if isinstance(config, dict) else []
        return cls(
            text(data, "name"),
            text(data, "displayName"),
            text(data, "type"),
            text(data, "metricName"),
            text(data, "latestVersion"),
            text(data, "description"),
            tuple(text(one, "name") if isinstance(one, dict) else str(one) for one in variables),
            seconds_of(data.get("createdAt")),
            seconds_of(data.get("updatedAt")),
        )


@dataclass(frozen=True, slots=True)
class ExperimentRun:
    """An experiment run (a *record*) of the platform. ``progress`` is from 0 to 1."""

    record_id: str
    name: str = ""
    plan_id: str = ""
    plan_name: str = ""
    status: str = ""
    total: int | None = None
    completed: int | None = None
    failed: int | None = None
    progress: float | None = None
    executed_at: float | None = None
    completed_at: float | None = None
    dataset: str = ""
    evaluation_task: str = ""
    error: str = ""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> ExperimentRun:
        return cls(
            record_id=text(data, "recordId"),
            name=text(data, "recordName"),
            plan_id=text(data, "experimentPlanId") or text(data, "planId"),
            plan_name=text(data, "planName"),
            status=text(data, "status"),
            total=number(data, "totalTasks"),
            completed=number(data, "completedTasks"),
            failed=number(data, "failedTasks"),
            progress=fraction_of(data.get("progress")),
            executed_at=seconds_of(data.get("executedAt")),
            completed_at=seconds_of(data.get("completedAt")),
            dataset=text(data, "datasetId"),
            evaluation_task=text(data, "evaluationTaskId"),
            error=text(data, "errorMessage"),
        )


@dataclass(frozen=True, slots=True)
class EvaluationProgress:
    """How far the platform is with judging a record."""

    status: str = ""
    total: int | None = None
    succeeded: int | None = None
    failed: int | None = None

    @property
    def ended(self) -> bool:
        return self.status.lower() in ENDED

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> EvaluationProgress:
        return cls(
            text(data, "status"), number(data, "totalCount"), number(data, "successCount"), number(data, "failedCount")
        )


ENDED = frozenset(
    {
        "completed",
        "complete",
        "success",
        "succeeded",
        "finished",
        "failed",
        "cancelled",
        "canceled",
        "stopped",
        "timeout",
    }
)
"""Statuses after which nothing more happens to a record or to an evaluation, in any case of letters."""


def text(data: Mapping[str, Any], name: str) -> str:
    """A text of an answer; a number or truth value as its text, anything else empty."""
    value = data.get(name)
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def number(data: Mapping[str, Any], name: str) -> int | None:
    value = data.get(name)
    try:
        return None if isinstance(value, bool) or value is None else int(float(value))
    except (TypeError, ValueError, OverflowError):
        return None


def listed(data: Mapping[str, Any], name: str) -> list[Any]:
    value = data.get(name)
    return value if isinstance(value, list) else []
