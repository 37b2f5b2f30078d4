"""Before the first call: who makes the agents of a plan's agentspecs, what may be started for that, which key is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tui_eval.errors import Fault
from tui_eval.spec.datalayer_options import API_KEY, API_URL, DEFAULT_API_URL, DatalayerOptions
from tui_eval.spec.solution_options import AgentRuntimesOptions, DatalayerCloudOptions

if TYPE_CHECKING:
    from tui_eval.spec.loading import LoadedPlan

PLATFORM = "datalayer"


def section_of(loaded: LoadedPlan) -> DatalayerOptions | None:
    """The section that says where agents are made, None where the plan has none."""
    section = loaded.platforms.get(PLATFORM)
    return section.options if section is not None and isinstance(section.options, DatalayerOptions) else None


def platform_address(options: DatalayerOptions | None, environment: Mapping[str, str]) -> str:
    """The address of the platform."""
    named = options.api_url if options is not None else None
    return named or environment.get(API_URL, "").strip() or DEFAULT_API_URL


def started_for(options: DatalayerOptions) -> str:
    """The command that may be started to have a server, empty where none is."""
    return " ".join(options.server.command) if options.server.may_be_started else ""


def section_faults(loaded: LoadedPlan, environment: Mapping[str, str]) -> Iterator[Fault]:
    """A key that is missing, and a command of a server that cannot be started; that is only a warning where a server
    which answers may make up for it."""
    options = section_of(loaded)
    if options is None:
        return
    solutions = [request.solution for request in loaded.requests]
    locate = loaded.platforms[PLATFORM].locate
    missing = not environment.get(API_KEY, "").strip()
    if missing and any(isinstance(one, DatalayerCloudOptions) for one in solutions):
        yield locate(("execution_target",)).fault(f"the cloud needs an API key: set {API_KEY}")
    elif missing and options.report:
        hint = "without it nothing is reported; `tui-eval datalayer sync RUN` does it later"
        yield locate(("report",)).fault(f"reporting needs an API key: set {API_KEY}", hint, warning=True)
    if any(isinstance(one, AgentRuntimesOptions) and one.agentspec is not None for one in solutions):
        yield from _server_faults(loaded, options, environment)


def _server_faults(loaded: LoadedPlan, options: DatalayerOptions, environment: Mapping[str, str]) -> Iterator[Fault]:
    from tui_eval.solutions.program_checks import check_program

    server = options.server
    if not server.may_be_started:
        return
    place = loaded.platforms[PLATFORM].locate(("server", "command"))
    for message in check_program(server.command, None, server.env, loaded.folder, environment):
        if server.start == "always":
            yield place.fault(f"no agent server can be started: {message}")
        else:
            hint = f"have one answer at {server.base_url}, or write a command into datalayer.server.command"
            yield place.fault(f"no agent server can be started where none answers: {message}", hint, warning=True)
