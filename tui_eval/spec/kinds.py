"""Which kinds of solution and evaluator there are, and where their parts live. Nothing is imported before it is used.

A kind that ships is one line below. A third party adds one through an entry point (``tui_eval.solutions`` or
``tui_eval.evaluators``) that names a :class:`Kind`: its options model and the class that does the work.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from pydantic import BaseModel

from tui_eval.errors import Fault, SpecError


@dataclass(frozen=True, slots=True)
class Kind:
    """``options`` and ``implementation`` are ``module:Name``, imported on first use."""

    options: str
    implementation: str

    def options_model(self) -> type[BaseModel]:
        return cast(type[BaseModel], load(self.options))

    def implementation_class(self) -> Any:
        return load(self.implementation)


@dataclass(frozen=True, slots=True)
class PlatformKind:
    """A platform that a plan may name with a section of its own. The first three are ``module:Name``, imported on first
    use.

    ``options`` is the section's model. ``rows`` (empty: it has none) is a function
    ``(options, environment) -> PlatformRows`` (see
    ``datasets.platform``). ``companion`` is a class that goes along with a run (see ``engine.companions``). ``secrets`` are
    environment variables that hold its credentials: their values are kept out of everything that is written.
    """

    options: str
    rows: str
    companion: str
    secrets: tuple[str, ...] = ()

    def options_model(self) -> type[BaseModel]:
        return cast(type[BaseModel], load(self.options))


PLATFORMS = {
    "agentloop": PlatformKind(
        "tui_eval.spec.agentloop_options:AgentLoopOptions",
        "tui_eval.platforms.agentloop.dataset:platform_rows",
        "tui_eval.platforms.agentloop.companion:AgentLoopCompanion",
        (
            "AGENTLOOP_SK",
            "AGENTLOOP_SECURITY_TOKEN",
            "ALIBABA_CLOUD_ACCESS_KEY_SECRET",
            "ALIBABA_CLOUD_SECURITY_TOKEN",
        ),
    ),
    "datalayer": PlatformKind(
        "tui_eval.spec.datalayer_options:DatalayerOptions",
        "",
        "tui_eval.platforms.datalayer.companion:DatalayerCompanion",
        ("DATALAYER_API_KEY",),
    ),
}

SOLUTIONS = {
    "http": Kind("tui_eval.spec.solution_options:HttpOptions", "tui_eval.solutions.http:HttpSolution"),
    "chat": Kind("tui_eval.spec.solution_options:ChatOptions", "tui_eval.solutions.chat:ChatSolution"),
    "command": Kind("tui_eval.spec.solution_options:CommandOptions", "tui_eval.solutions.command:CommandSolution"),
    "python": Kind("tui_eval.spec.solution_options:PythonOptions", "tui_eval.solutions.python:PythonSolution"),
    "agent_runtimes": Kind(
        "tui_eval.spec.solution_options:AgentRuntimesOptions", "tui_eval.solutions.agent_runtimes:AgentRuntimes"
    ),
    "datalayer_cloud": Kind(
        "tui_eval.spec.solution_options:DatalayerCloudOptions", "tui_eval.solutions.datalayer_cloud:DatalayerCloud"
    ),
}

IN_PROCESS: dict[str, Kind] = {}
"""Kinds of solution that only a Python program in this process can use, put here by the module that offers them. They
are in no list and in no schema."""

EVALUATORS = {
    "exact": Kind("tui_eval.spec.evaluator_options:ExactOptions", "tui_eval.evaluators.text:Exact"),
    "contains": Kind("tui_eval.spec.evaluator_options:ContainsOptions", "tui_eval.evaluators.text:Contains"),
    "regex": Kind("tui_eval.spec.evaluator_options:RegexOptions", "tui_eval.evaluators.regex:Regex"),
    "json": Kind("tui_eval.spec.evaluator_options:JsonOptions", "tui_eval.evaluators.structure:Json"),
    "numeric": Kind("tui_eval.spec.evaluator_options:NumericOptions", "tui_eval.evaluators.numeric:Numeric"),
    "similarity": Kind(
        "tui_eval.spec.evaluator_options:SimilarityOptions", "tui_eval.evaluators.similarity:Similarity"
    ),
    "python": Kind(
        "tui_eval.spec.evaluator_options:PythonEvaluatorOptions", "tui_eval.evaluators.external:PythonFunction"
    ),
    "command": Kind("tui_eval.spec.evaluator_options:CommandEvaluatorOptions", "tui_eval.evaluators.external:Program"),
    "judge": Kind("tui_eval.spec.evaluator_options:JudgeOptions", "tui_eval.evaluators.judge:Judge"),
    "datalayer": Kind(
        "tui_eval.spec.datalayer_options:DatalayerGrading", "tui_eval.platforms.datalayer.grading:Grading"
    ),
    "datalayer_platform": Kind(
        "tui_eval.spec.datalayer_options:DatalayerVerdict", "tui_eval.platforms.datalayer.grading:PlatformVerdict"
    ),
}


def load(reference: str) -> Any:
    """The object behind ``module:Name``."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


class Kinds(Mapping[str, Kind]):
    """Kinds by name: ours, then those of installed packages (which cannot replace ours).

    Names are known without importing anything; a package's kind is imported when it is asked for, and
    :class:`~tui_eval.errors.SpecError` says which package is at fault when that fails.
    """

    def __init__(self, group: str, own: Mapping[str, Kind], unlisted: Mapping[str, Kind] | None = None) -> None:
        self._group = group
        self._own = own
        self._unlisted = unlisted if unlisted is not None else {}
        self._loaded: dict[str, Kind] = {}

    @cached_property
    def _points(self) -> dict[str, EntryPoint]:
        found = sorted(entry_points(group=self._group), key=lambda point: (point.name, point.value), reverse=True)
        return {point.name: point for point in found}

    def __getitem__(self, name: str) -> Kind:
        if name in self._own:
            return self._own[name]
        if name in self._unlisted:
            return self._unlisted[name]
        if name not in self._loaded:
            self._loaded[name] = _kind_behind(self._points[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._unlisted or name in self._points

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (name for name in self._points if name not in self._own)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _kind_behind(point: EntryPoint) -> Kind:
    package = point.dist.name if point.dist is not None else point.value
    try:
        kind = point.load()
        if not isinstance(kind, Kind):
            raise TypeError(f"{point.value} is a {type(kind).__name__}, not a tui_eval.spec.kinds.Kind")
        kind.options_model()
    except Exception as error:  # whatever a package does when it is imported, it must not end us
        message = f"the kind `{point.name}` of the package {package} cannot be loaded: {type(error).__name__}: {error}"
        raise SpecError([Fault(message, hint=f"repair or remove the package {package}")]) from error
    return kind


@cache
def solution_kinds() -> Mapping[str, Kind]:
    """Every solution kind by name."""
    return Kinds("tui_eval.solutions", SOLUTIONS, IN_PROCESS)


@cache
def evaluator_kinds() -> Mapping[str, Kind]:
    """Every evaluator kind by name."""
    return Kinds("tui_eval.evaluators", EVALUATORS)
