"""The plan file as a model: what a user writes, version 1. One declaration for checking, forms, schema and docs.

Solutions and evaluators have a model a kind, in ``solution_options`` and ``evaluator_options`` (found through
``kinds``); here they are still mappings, checked by the loader against the kind's model.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from tui_eval.spec.marks import Expression, Pattern


class Strict(BaseModel):
    """The base of everything a user writes: unknown keys are refused, numbers are finite, values never change.

    A text that is a number is taken where a number is declared (``1e3`` is a text in a plan file); a truth value is not.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        given = value.values() if isinstance(value, dict) else value if isinstance(value, list) else (value,)
        if any(isinstance(item, bool) for item in given) and _only_numbers(cls, info.field_name or ""):
            raise ValueError("must be a number, not true or false")
        return value


def _only_numbers(model: type[BaseModel], name: str) -> bool:
    """True for a field that takes numbers and neither truth values nor anything at all."""
    pending, found = [model.model_fields[name].annotation], set()
    while pending:
        annotation = pending.pop()
        found.add(annotation)
        pending.extend(get_args(annotation))
    return bool(found & {int, float}) and not found & {bool, Any}


_HOST = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Sample(Strict):
    """Which cases of a dataset take part: ``ids``, then ``where``, then ``limit`` (random when ``seed`` is given)."""

    limit: int | None = Field(None, ge=0, description="At most this many cases; 0 means none.")
    seed: int | None = Field(None, description="Choose the `limit` cases at random, the same ones for the same seed.")
    where: Annotated[str, Expression] | None = Field(
        None, description="JMESPath over a case's columns; a case is taken when it is truthy."
    )
    ids: list[str] | None = Field(None, description="Only these case ids; an id that is not there is a fault.")


class Dataset(Strict):
    """Where the cases come from: a file, cases written in the plan, or a platform."""

    path: str | None = Field(None, description="File, relative to the plan's folder.")
    cases: list[dict[str, Any]] | None = Field(None, description="Cases written in the plan itself.")
    platform: Literal["agentloop"] | None = Field(
        None, description="The rows of the platform's plan; the default where the plan has a section of this name."
    )
    format: Literal["jsonl", "json", "csv", "tsv", "yaml", "parquet", "evalset"] | None = Field(
        None, description="Default: from the file's name."
    )
    id: str | None = Field(
        None, description="Column with the case id. Default: `id` if there is one, else a content hash."
    )
    encoding: str = Field("utf-8", description="Text encoding of the file.")
    records: Annotated[str, Expression] | None = Field(
        None, description="JMESPath to the list of cases inside a JSON or YAML document."
    )
    delimiter: str | None = Field(
        None, min_length=1, max_length=1, description="CSV delimiter. Default `,` (TSV: tab)."
    )
    json_columns: list[str] = Field(default_factory=list, description="CSV columns whose cells are JSON.")
    skip_bad_lines: bool = Field(False, description="Leave broken lines out (recorded in the run) instead of refusing.")
    sample: Sample = Field(default_factory=Sample, description="Which cases take part; default: all.")

    @model_validator(mode="after")
    def _one_source(self) -> Dataset:
        sources = (self.path, self.cases, self.platform)
        if sum(source is not None for source in sources) != 1:
            raise ValueError("give either path (a file) or cases (a list in the plan)")
        return self


class Execution(Strict):
    """How the tasks of a request are executed. All times are in seconds; every limit is a total, not per read."""

    n_repeat: int = Field(1, ge=1, le=1000, description="Times each case is asked.")
    max_retries: int = Field(0, ge=0, le=100, description="Further attempts after a failed one.")
    retry_pattern_list: Annotated[list[str], Pattern] = Field(
        default_factory=list,
        description="Regular expressions; an error whose kind or message matches is retried, whatever it is.",
    )
    retry_min_delay_seconds: float = Field(
        1.0, ge=0, allow_inf_nan=False, description="Wait before the first retry; doubles."
    )
    retry_max_delay_seconds: float = Field(
        60.0, ge=0, allow_inf_nan=False, description="Longest wait; a Retry-After above it ends the task at once."
    )
    resend: bool = Field(
        False, description="Also retry what may have reached the agent (timeouts, cut connections, 500, 502, 504)."
    )
    attempt_timeout_seconds: Seconds | None = Field(300.0, description="One call, from connect to the last byte.")
    connect_timeout_seconds: Seconds | None = Field(10.0, description="Until the connection stands.")
    idle_timeout_seconds: Seconds | None = Field(None, description="Longest silence within an answer.")
    task_timeout_seconds: Seconds | None = Field(None, description="All attempts of a task, waits included.")
    request_timeout_seconds: Seconds | None = Field(None, description="All tasks of the request.")
    evaluation_timeout_seconds: Seconds = Field(60.0, description="One evaluator on one answer.")


class Runtime(Strict):
    """Settings of the whole orchestration."""

    timeout_seconds: Seconds | None = Field(None, description="The whole run; what is unfinished then is cancelled.")
    cleanup_grace_seconds: float = Field(
        10.0, ge=0, allow_inf_nan=False, description="Time in-flight tasks get on a stop."
    )
    provider_limits: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict, description="Most calls in flight, by host (`api.example.com` or `host:port`)."
    )
    qps: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict, description="Calls started a second, by host."
    )
    results_dir: str | None = Field(None, description="Also write results as JSON lines below this folder.")

    @field_validator("provider_limits", "qps")
    @classmethod
    def _hosts(cls, limits: dict[str, Any]) -> dict[str, Any]:
        for host in limits:
            if not _HOST.fullmatch(host):
                raise ValueError(f"`{host}` is not a host: write api.example.com or 127.0.0.1:8000")
        lowered = {host.lower(): limit for host, limit in limits.items()}
        if len(lowered) < len(limits):
            raise ValueError("a host is there twice, in upper and lower case")
        return lowered


class Defaults(Strict):
    """Sections that every request starts from."""

    dataset: dict[str, Any] | None = None
    solution: dict[str, Any] | None = None
    evaluators: list[dict[str, Any]] | None = None
    execution: dict[str, Any] | None = None
    tags: list[str] | None = None


class RequestHead(Strict):
    """What a request is called."""

    name: str = Field(min_length=1, max_length=200, description="Unique in the plan; results are shown under it.")
    tags: list[str] = Field(default_factory=list, description="Words of your own, kept with the request.")


class Request(RequestHead):
    """One named evaluation: dataset x solution x evaluators x execution, after the defaults were merged in."""

    dataset: Dataset = Field(description="Where the cases come from.")
    solution: dict[str, Any] = Field(description="`type` and the options of that kind.")
    evaluators: list[dict[str, Any]] = Field(
        default_factory=list, description="Each: `id` and the options of that kind."
    )
    execution: Execution = Field(default_factory=lambda: Execution(), description="Repeats, retries, time limits.")


class PlanHead(Strict):
    """The part of a plan that is about all requests."""

    version: Literal[1] = Field(description="Of the file format.")
    name: str = Field(min_length=1, max_length=200, description="What its runs are called in the history.")
    description: str = Field("", description="For people; kept with every run.")
    task_concurrency: int = Field(8, ge=1, le=4096, description="Tasks in flight over all requests.")
    runtime: Runtime = Field(default_factory=Runtime, description="Limits of the whole run.")
    agentloop: dict[str, Any] | None = Field(
        None, description="An experiment plan of AgentLoop to take the cases from and to report to."
    )
    datalayer: dict[str, Any] | None = Field(
        None, description="Where agents of agentspecs run, and whether the results are reported to Datalayer."
    )
    tags: list[str] = Field(default_factory=list, description="Words to find its runs by.")


class Plan(PlanHead):
    """A plan: what one launch runs, the defaults merged into its requests."""

    requests: list[Request] = Field(min_length=1, description="What is evaluated, side by side under one limit.")
