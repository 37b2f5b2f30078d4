"""What a person fills in to launch an evalset, and the plan that is made of it. Nothing is created or called here.

The fields are those of the plan that comes of them; one that is left out means the plan's own default.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from tui_eval.domain import JsonValue
from tui_eval.errors import Fault
from tui_eval.platforms.datalayer.conversion import CHAT_SECONDS, CONCURRENCY, Choices, plan_of
from tui_eval.spec.datalayer_options import API_KEY, LOCAL_BASE_URL, SERVER_COMMAND
from tui_eval.spec.evalset import Evalset, load_evalset
from tui_eval.spec.marks import Address
from tui_eval.spec.model import Seconds, Strict

_SERVER = {"base_url": "base_url", "start_server": "start", "server_command": "command"}
_SECTION = ("report", "evalset_name", "report_folder")
_HERE_ONLY = (*_SERVER, "idle_timeout_seconds", "report")
"""Fields that say nothing about a launch on the platform."""


class EvalsetLaunch(Strict):
    """Where an evalset runs, how often, under which limits, how it is graded, and what is written of it."""

    execution_target: Literal["local", "cloud"] = Field(
        "local", description="Agents on a server here, or launches on the platform (with an API key)."
    )
    grading: Literal["strict", "compat"] = Field(
        "strict", description="A verdict only where something was compared, or as Datalayer's own runner decides."
    )
    n_repeat: int = Field(1, ge=1, le=1000, description="Times each case is asked.")
    task_concurrency: int = Field(
        CONCURRENCY, ge=1, le=4096, description="Chats at once, over all agentspecs together."
    )
    attempt_timeout_seconds: Seconds = Field(CHAT_SECONDS, description="Longest chat of one case, in all.")
    idle_timeout_seconds: Seconds | None = Field(None, description="Longest silence within a chat.")
    base_url: Annotated[str, Address] = Field(LOCAL_BASE_URL, description="The server to use when it answers.")
    start_server: Literal["when_needed", "always", "never"] = Field(
        "when_needed", description="Start one: when none answers (on this machine only), always, or never."
    )
    server_command: list[str] = Field(
        default_factory=lambda: list(SERVER_COMMAND),
        min_length=1,
        description="Program and arguments that start one, one a line; `{host}` and `{port}` are filled in.",
    )
    report: bool = Field(False, description=f"Report back to Datalayer while it runs (needs {API_KEY}).")
    evalset_name: str | None = Field(None, min_length=1, description="Name of the evalset on the platform.")
    report_folder: str | None = Field(
        None, min_length=1, description="Write the report (Markdown and CSV) here at the end; from the plan's folder."
    )
    check_output_schema: bool = Field(False, description="Check answers against the evalset's output_schema too.")
    judge: dict[str, Any] | None = Field(
        None, description="Model that llm_judge asks: base_url, model, api_key: ${NAME}."
    )


def read_for_launch(path: Path) -> Evalset:
    """The evalset in a file. Raises SpecError with every fault; one without cases is a fault."""
    return load_evalset(path, require_cases=True)


def launch_faults(evalset: Evalset, data: Mapping[str, JsonValue], environment: Mapping[str, str]) -> Iterator[Fault]:
    """Everything wrong with what was filled in; ``Fault.path`` is the field's name."""
    from tui_eval.spec.findings import Findings
    from tui_eval.spec.nodes import Place, node_of
    from tui_eval.spec.option_checks import check_languages
    from tui_eval.spec.validation import validated

    findings, node = Findings(), node_of(dict(data), Place())
    validated(EvalsetLaunch, node, findings)
    check_languages(EvalsetLaunch, node, findings)
    yield from findings.faults("")
    cloud = data.get("execution_target") == "cloud"
    if (cloud or data.get("report") is True) and not environment.get(API_KEY, "").strip():
        field = "execution_target" if cloud else "report"
        yield Fault(f"the platform needs an API key: set {API_KEY} and start tui-eval again", path=field)
    for name in _HERE_ONLY if cloud else ():
        if name in data and data[name] is not False:
            yield Fault("this is for `local` only: the platform runs and keeps a cloud launch itself", path=name)
    if data.get("check_output_schema") is True and not isinstance(
        evalset.spec.schemas.get("output_schema"), dict | bool
    ):
        yield Fault("this evalset has no output_schema", path="check_output_schema")


def launch_plan(
    evalset: Evalset, agentspecs: Sequence[str], data: Mapping[str, JsonValue], folder: Path
) -> dict[str, Any]:
    """The plan of a launch, with paths from ``folder`` (absolute) where they lie below it. ``data`` has no faults.

    Raises UsageError for no agentspec, and for an evalset without cases.
    """
    chosen = EvalsetLaunch.model_validate(data)
    section: dict[str, Any] = {name: data[name] for name in _SECTION if name in data}
    server = {key: data[name] for name, key in _SERVER.items() if name in data}
    if server:
        section["server"] = server
    choices = Choices(
        agentspecs,
        execution_target=chosen.execution_target,
        grading=chosen.grading,
        run_limit=chosen.n_repeat,
        concurrency=chosen.task_concurrency,
        request_timeout_seconds=chosen.attempt_timeout_seconds,
        check_output_schema=chosen.check_output_schema,
        judge=chosen.judge,
        section=section,
        folder=folder,
    )
    plan = plan_of(evalset, choices)
    if chosen.idle_timeout_seconds is not None:
        plan["defaults"]["execution"]["idle_timeout_seconds"] = chosen.idle_timeout_seconds
    return plan


def base_folder(evalset: Path, workspace: Path) -> Path:
    """Where the plan of an evalset lies: the workspace, or the evalset's own folder when it is elsewhere."""
    path = Path(os.path.abspath(evalset))
    return workspace if path.is_relative_to(workspace) else path.parent
