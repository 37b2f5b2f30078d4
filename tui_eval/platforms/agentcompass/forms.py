"""The sections of an orchestration as models whose fields make a form: keys, kinds of values, defaults, descriptions.

They say how a value is asked for; whether it may stand there is decided by loading the orchestration, since a number may
also be a text or ``${NAME}`` (contract, section 1). Keys and defaults are those of AgentCompass 1.0.1; the parameters of
components come from a catalogue.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from tui_eval.platforms.agentcompass.catalog import Component


class _Section(BaseModel):
    model_config = ConfigDict(protected_namespaces=())


class General(_Section):
    """The keys at the top of the file."""

    name: str = Field("", description="What the run is called here; no folder has it.")
    task_concurrency: int = Field(32, description="Tasks in flight over all requests, 1 or more.")


class Runtime(_Section):
    """``runtime`` of the whole orchestration. Times are in seconds."""

    results_dir: str = Field("results", description="Folder of the results; a relative one starts beside the file.")
    data_dir: str = Field("data", description="Folder of the benchmarks' data; a relative one starts beside the file.")
    timeout_seconds: float = Field(360000, description="Limit of the whole run; 0 is none. Preparing does not count.")
    cleanup_grace_seconds: float = Field(30, description="What running tasks and environments get after a cancel.")
    provider_limits: dict[str, int] = Field(
        default_factory=dict, description="Most environments open at once, as `docker: 8` (128 each; 0 is no limit)."
    )
    env_open_qps: dict[str, float] = Field(
        default_factory=dict, description="Environments opened a second, as `docker: 2` (local 0: no limit; remote 10)."
    )
    auto_install_dependencies: bool = Field(False, description="Let AgentCompass install what a benchmark needs.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = Field(
        "INFO", description="Of AgentCompass's log beside the history."
    )
    file_log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = Field(
        "DEBUG", description="Of `run.log` in the folder of each request."
    )
    recipe_dirs: list[str] = Field(default_factory=list, description="More folders with recipes.")
    progress: Literal["auto", "plain", "none"] = Field(
        "auto", description="What `agentcompass launch` shows in a terminal; nothing here."
    )


class Model(_Section):
    """``model``."""

    id: str = Field(description="Name of the model, as its server calls it.")
    base_url: str = Field("", description="Address of its server, as http://127.0.0.1:8000/v1.")
    api_key: str = Field("", description="Write ${NAME}: the key is then taken from the environment.")
    api_protocol: str | list[str] = Field(
        "", description="openai-chat, openai-responses, anthropic or auto; or a list of these."
    )
    params: dict[str, Any] = Field(
        default_factory=dict, description="What is sent with every call, as `temperature: 0`."
    )
    wrap_api_key: bool = Field(False, description="Hide the key from the harness behind one of AgentCompass's own.")


class Attempts(_Section):
    """``execution.attempts``."""

    k: int = Field(1, description="How often each task is attempted, 1 or more.")
    strategy: Literal["avg", "pass"] = Field("avg", description="avg: the mean of the attempts; pass: pass@k.")


class ArtifactLimits(_Section):
    """``execution.artifact_limits``."""

    max_mb: float = Field(16384, description="Most megabytes that are collected of a task.")
    max_files: int = Field(100000, description="Most files that are collected of a task.")
    timeout_seconds: float = Field(600, description="Seconds that collecting may take.")


class Execution(_Section):
    """``execution`` of requests. Times are in seconds."""

    max_retries: int = Field(0, description="Tries after the first one, of fatal issues and what a pattern matches.")
    retry_pattern_list: list[str] | None = Field(
        None, description="Regular expressions: errors whose message or code they match are retried too."
    )
    retry_min_delay_seconds: float = Field(5, description="Pause before the first retry; it doubles each time.")
    retry_max_delay_seconds: float = Field(60, description="Longest pause before a retry.")
    attempts: Attempts = Attempts()
    run_timeout_seconds: float | None = Field(None, description="Limit of a task's run; none: what the harness says.")
    evaluation_timeout_seconds: float | None = Field(None, description="Limit of an evaluation; none: its own.")
    timeout_multiplier: float = Field(1, description="Makes all time limits of tasks longer or shorter.")
    run_timeout_multiplier: float | None = Field(None, description="The same for runs only.")
    evaluation_timeout_multiplier: float | None = Field(None, description="The same for evaluations only.")
    run_timer_compensation_seconds: float = Field(120, description="Added to a run's limit for starting and stopping.")
    runresult_collect_timeout_seconds: float = Field(60, description="Limit of collecting the harness's result.")
    artifact_collect_timeout_seconds: float | None = Field(None, description="Limit of collecting artifacts.")
    artifact_limits: ArtifactLimits = ArtifactLimits()
    save_artifacts: bool | None = Field(None, description="Keep the files that a task leaves behind.")
    artifacts: list[Any] | None = Field(None, description="Which files are kept.")
    artifact_collect: list[Any] | None = Field(None, description="Files to collect from the environment.")
    enable_analysis: bool = Field(True, description="Analyse trajectories after each task.")
    analysis_params: dict[str, Any] | None = Field(None, description="Settings of the analysers, by name.")
    enabled_recipes: list[str] = Field(default_factory=list, description="Recipes to apply; see `agentcompass list`.")
    keep_environment: bool = Field(False, description="Leave environments open after their task.")


class Reuse(_Section):
    """``runtime`` of a request."""

    reuse: bool | None = Field(
        None, description="Take over finished tasks of AgentCompass's latest run, failed ones too."
    )
    reuse_run_id: str = Field("", description="The run to take them from; none: the latest one.")
    checkpoint_resume: bool = Field(True, description="Go on from checkpoints of evaluations.")


class Output(_Section):
    """``output`` of a request."""

    run_name: str = Field("", description="A folder between the results folder and that of the request.")
    run_id: str = Field("", description="Name of the run's folder; none: the id of the run in the history.")


SECTIONS: Mapping[str, type[BaseModel]] = {
    "general": General,
    "top_runtime": Runtime,
    "model": Model,
    "execution": Execution,
    "runtime": Reuse,
    "output": Output,
}
"""Models of what has fixed keys, by name. ``general`` and ``top_runtime`` are about the whole orchestration."""

_TYPES: Mapping[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "AggregationMode": str,
    "list[str]": list[str],
    "dict[str, Any]": dict[str, Any],
    "dict[str, str]": dict[str, str],
}
_MAPS = re.compile(r"(env_variables|policy|resources)$")
"""Shared parameters of environments (the catalogue has no types for them) that are maps."""


def with_defaults(model: type[BaseModel], inherited: Mapping[str, Any], *, whole: bool = True) -> type[BaseModel]:
    """The model with other defaults: ``inherited`` are values that hold where nothing is typed. Not ``whole``: nothing is
    required, since requests may add it."""
    fields: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        kind = info.annotation
        if name in inherited:
            value = inherited[name]
            if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value, Mapping):
                kind, value = with_defaults(kind, value, whole=whole), None
            fields[name] = (kind, Field(value, description=info.description))
        elif info.is_required() and not whole:
            fields[name] = (kind, Field(None, description=info.description))
    return create_model(model.__name__, __base__=model, **fields) if fields else model


def component_model(
    ids: Iterable[str], component: Component | None, inherited: Mapping[str, Any], *, whole: bool = True
) -> type[BaseModel]:
    """The model of a benchmark, harness or environment: its ``id``, one of ``ids``, and the parameters of ``component``
    (None: only the id). ``inherited`` and ``whole`` as in :func:`with_defaults`."""
    names = tuple(dict.fromkeys(ids))
    default = inherited.get("id", ... if whole else None)
    about = component.description if component is not None else "Which one; its parameters follow."
    fields: dict[str, Any] = {"f0": (Literal[names] if names else str, Field(default, alias="id", description=about))}
    parameters = component.parameters if component is not None else {}
    for place, (name, declared) in enumerate(parameters.items(), 1):
        fields[f"f{place}"] = (_annotation(name, declared), _field(name, declared, inherited, whole))
    return create_model("Component", __base__=_Section, **fields)


def _field(name: str, about: Mapping[str, Any], inherited: Mapping[str, Any], whole: bool) -> Any:
    required = whole and bool(about.get("required")) and name not in inherited
    default = inherited.get(name, about.get("default"))
    return Field(... if required else default, alias=name, description=str(about.get("description") or ""))


def _annotation(name: str, about: Mapping[str, Any]) -> Any:
    """The Python type that a catalogue names; what is not known is asked for as YAML or JSON."""
    text = str(about.get("type", ""))
    if not text and _MAPS.search(name):
        return dict[str, Any] | None
    plain = text.removesuffix(" | None")
    kind = _TYPES.get(re.sub(r"^(List|Dict)\[", lambda match: match.group().lower(), plain), Any)
    if plain.startswith("Literal["):
        kind = _literal(plain)
    return kind | None if plain != text and kind is not Any else kind


def _literal(text: str) -> Any:
    try:
        values = ast.literal_eval(text.removeprefix("Literal"))
    except (ValueError, SyntaxError):
        return str
    return Literal[tuple(values)]
