"""Who and what a request calls: hosts, programs, functions, as the plan says it; and which of them cannot be used here.

Third-party kinds of solutions and evaluators tell nothing. Nothing is called or executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tui_eval.engine.agentspecs import platform_address, section_of, started_for
from tui_eval.spec.evaluator_options import CommandEvaluatorOptions, JudgeOptions, PythonEvaluatorOptions
from tui_eval.spec.solution_options import (
    AgentRuntimesOptions,
    ChatOptions,
    CommandOptions,
    DatalayerCloudOptions,
    HttpOptions,
    PythonOptions,
)

if TYPE_CHECKING:
    from tui_eval.errors import Fault
    from tui_eval.spec.loading import LoadedPlan, LoadedRequest


@dataclass(frozen=True, slots=True)
class Callees:
    """As written in the plan, templates and references as they stand."""

    hosts: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()


def callees_of(loaded: LoadedPlan, request: LoadedRequest, environment: Mapping[str, str]) -> Callees:
    """What the solution and the evaluators of a request call, in the order of the plan."""
    found = [*_of_solution(loaded, request.solution, environment)]
    for evaluator in request.evaluators:
        found += _of_evaluator(evaluator.options)
    return Callees(*(tuple(text for of, text in found if of == kind) for kind in ("host", "command", "function")))


def _of_solution(loaded: LoadedPlan, solution: Any, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    match solution:
        case HttpOptions(url=url) | ChatOptions(base_url=url):
            yield "host", host_of(url)
        case AgentRuntimesOptions():
            agents = section_of(loaded) if solution.agentspec is not None else None
            address = solution.url or solution.base_url or (agents.server.base_url if agents is not None else None)
            yield "host", host_of(address) if address else f"an agent of {solution.agentspec}"
            if agents is not None and (command := started_for(agents)):
                yield "command", command
        case DatalayerCloudOptions():
            yield "host", host_of(platform_address(section_of(loaded), environment))
        case CommandOptions(command=text, argv=argv):
            yield "command", text if text is not None else " ".join(argv or ())
        case PythonOptions(function=function):
            yield "function", function


def _of_evaluator(options: Any) -> Iterator[tuple[str, str]]:
    match options:
        case JudgeOptions(base_url=url):
            yield "host", host_of(url)
        case CommandEvaluatorOptions(argv=argv):
            yield "command", " ".join(argv)
        case PythonEvaluatorOptions(function=function):
            yield "function", function


def unusable(loaded: LoadedPlan, request: LoadedRequest, environment: Mapping[str, str]) -> Iterator[Fault]:
    """What cannot be used on this machine: programs that are not there, functions that cannot be found; with the
    options of evaluators that cannot work anywhere."""
    yield from _unusable_solution(loaded, request, environment)
    yield from _unusable_evaluators(loaded, request, environment)


def _unusable_solution(loaded: LoadedPlan, request: LoadedRequest, environment: Mapping[str, str]) -> Iterator[Fault]:
    from tui_eval.solutions.command import check_command, secret_in_argv_warning
    from tui_eval.solutions.python import check_function

    solution = request.solution
    if isinstance(solution, CommandOptions):
        for message in check_command(solution, loaded.folder, environment):
            yield request.locate(("solution",)).fault(message)
        if warning := secret_in_argv_warning(solution):
            yield request.locate(("solution", "argv")).fault(warning, warning=True)
    elif isinstance(solution, PythonOptions):
        for message in check_function(solution.function, solution.path, loaded.folder):
            yield request.locate(("solution", "function")).fault(message)


def _unusable_evaluators(loaded: LoadedPlan, request: LoadedRequest, environment: Mapping[str, str]) -> Iterator[Fault]:
    from tui_eval.evaluators.checks import check_options
    from tui_eval.solutions.program_checks import check_program
    from tui_eval.solutions.python import check_function

    for index, evaluator in enumerate(request.evaluators):
        options = evaluator.options
        messages = [*check_options(options)]
        if isinstance(options, CommandEvaluatorOptions):
            messages += check_program(options.argv, options.cwd, options.env, loaded.folder, environment)
        elif isinstance(options, PythonEvaluatorOptions):
            messages += check_function(options.function, options.path, loaded.folder)
        place = request.locate(("evaluators", index))
        yield from (place.fault(message) for message in messages)


def host_of(url: str) -> str:
    """The host of an address as written in a plan, templates and references as they stand."""
    try:
        parts = urlsplit(url)
        return parts.netloc.rpartition("@")[2] or url
    except ValueError:
        return url
