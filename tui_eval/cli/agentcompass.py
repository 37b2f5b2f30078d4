"""AgentCompass's side of ``run`` and ``validate``: the flags of ``agentcompass launch``, under their own names."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tui_eval.cli.options import SectionOption
from tui_eval.cli.terminal import one_line, out, out_json, out_table, safe, speaks_utf8, tell
from tui_eval.errors import SpecError, TuiEvalError, UsageError

if TYPE_CHECKING:
    from tui_eval.errors import Fault
    from tui_eval.platforms.agentcompass.loading import LoadedOrchestration

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

FLAGS = {
    "config": "--config",
    "data_dir": "--data-dir",
    "env_open_qps": "--env-open-qps",
    "log_level": "--log-level",
    "file_log_level": "--file-log-level",
    "auto_install_dependencies": "--auto-install-dependencies",
    "reuse": "--reuse",
    "preload_module": "--preload-module",
    "python": "--python",
}
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


def _option(*declarations: str, **attributes: Any) -> Callable[[Decorated], Decorated]:
    return click.option(*declarations, cls=SectionOption, section="AgentCompass orchestrations", **attributes)


def compass_options(command: Decorated) -> Decorated:
    """The flags of ``agentcompass launch`` that plans of ours do not have."""
    levels = click.Choice(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], case_sensitive=False)
    for option in reversed(
        (
            _option("--config", multiple=True, type=_FILE, help="Its configuration file (repeatable)."),
            _option("--data-dir", metavar="FOLDER", help="Where benchmarks keep their data."),
            _option("--env-open-qps", multiple=True, metavar="ENV=X", help="Environments opened a second."),
            _option("--log-level", type=levels, metavar="LEVEL", help="Of its log beside the history."),
            _option("--file-log-level", type=levels, metavar="LEVEL", help="Of `run.log` in each request's folder."),
            _option("--auto-install-dependencies", is_flag=True, default=None, help="Let it use pip."),
            _option("--reuse/--no-reuse", default=None, help="Take over finished tasks of its last run."),
            _option("--preload-module", multiple=True, type=_FILE, help="A Python file that registers components."),
            _option("--python", metavar="PATH", help="The Python that has AgentCompass (3.12 or newer)."),
        )
    ):
        command = option(command)
    return command


def taken_out(options: dict[str, Any]) -> dict[str, Any]:
    """The values of these flags, taken out of all options; those that were not given are left out."""
    found = {name: options.pop(name) for name in FLAGS}
    return {name: value for name, value in found.items() if value not in (None, ())}


def refuse_flags(given: dict[str, Any]) -> None:
    """These flags mean nothing for a plan of ours."""
    if given:
        names = ", ".join(FLAGS[name] for name in given)
        raise UsageError(f"{names}: for AgentCompass orchestrations only, and this is none")


def overrides_of(given: dict[str, Any], run_id: str | None) -> list[str]:
    """The flags as ``path=value`` texts for a job. Raises UsageError."""
    settings: dict[str, Any] = {
        "runtime.data_dir": given.get("data_dir"),
        "runtime.log_level": given.get("log_level"),
        "runtime.file_log_level": given.get("file_log_level"),
        "runtime.auto_install_dependencies": given.get("auto_install_dependencies"),
        "defaults.runtime.reuse": given.get("reuse"),
        "agentcompass.preload": [str(path.absolute()) for path in given.get("preload_module", ())] or None,
        "agentcompass.config": [str(path.absolute()) for path in given.get("config", ())] or None,
        "agentcompass.python": given.get("python"),
        "requests.*.output.run_id": run_id,
    }
    for text in given.get("env_open_qps", ()):
        name, _, value = text.partition("=")
        try:
            settings.setdefault("runtime.env_open_qps", {})[name] = float(value)
        except ValueError:
            raise UsageError(f"--env-open-qps {text}: expected ENV=NUMBER, as docker=2") from None
    return [f"{key}={json.dumps(value)}" for key, value in settings.items() if value is not None]


def with_limits(overrides: tuple[str, ...]) -> tuple[str, ...]:
    """``--qps`` is a word of our plans."""
    if any(text.startswith("runtime.qps.") for text in overrides):
        raise UsageError("--qps is for plans of tui_eval; AgentCompass has --env-open-qps ENV=X")
    return overrides


def check_orchestration(
    source: Path, overrides: tuple[str, ...] = ()
) -> tuple[LoadedOrchestration | None, list[Fault], list[Fault]]:
    """An orchestration with its faults and its warnings; None where it has faults."""
    from tui_eval.platforms.agentcompass.loading import load_orchestration
    from tui_eval.platforms.agentcompass.starting import checks_of, options_of

    options = options_of(overrides)
    try:
        loaded = load_orchestration(source, settings=options.settings, against=checks_of(options))
    except SpecError as error:
        warnings = [fault for fault in error.faults if fault.warning]
        return None, [fault for fault in error.faults if not fault.warning], warnings
    return loaded, [], list(loaded.warnings)


def tell_orchestration(source: Path, overrides: tuple[str, ...] = ()) -> bool:
    """What ``validate`` says of an orchestration; whether it can be launched."""
    from tui_eval.platforms.agentcompass.starting import reuse_statement

    loaded, faults, warnings = check_orchestration(source, overrides)
    for fault in faults:
        tell(str(fault))
    for warning in warnings:
        tell(f"warning: {warning}")
    name = safe(str(source))
    if loaded is None:
        tell(f"{name}: {len(faults)} {'fault' if len(faults) == 1 else 'faults'}")
        return False
    count = len(loaded.requests)
    out(
        f"{'✓' if speaks_utf8() else 'ok:'} {name}: AgentCompass, {count} {'request' if count == 1 else 'requests'}, "
        f"{loaded.task_concurrency} tasks at once, results in {safe(str(loaded.results_dir))}"
    )
    rows = [
        [f"  {one_line(one.name, 40)}", one.benchmark, one.harness, one.environment, one.model]
        for one in loaded.requests
    ]
    out_table(
        ["  request", "benchmark", "harness", "environment", "model"],
        [[one_line(cell, 50) if at else cell for at, cell in enumerate(row)] for row in rows],
    )
    for request in loaded.requests:
        if text := reuse_statement(loaded, request):
            out(f"  {one_line(text)}")
    return True


def orchestration_json(source: Path, overrides: tuple[str, ...] = ()) -> dict[str, Any]:
    """The same as JSON data."""
    from dataclasses import asdict

    loaded, faults, warnings = check_orchestration(source, overrides)
    requests = loaded.requests if loaded is not None else ()
    return {
        "path": str(source),
        "platform": "agentcompass",
        "valid": loaded is not None,
        "faults": [asdict(fault) for fault in faults],
        "warnings": [asdict(warning) for warning in warnings],
        "requests": [
            {
                "name": one.name,
                "solution": "agentcompass",
                "dataset": one.benchmark,
                "benchmark": one.benchmark,
                "harness": one.harness,
                "environment": one.environment,
                "model": one.model,
                "attempts": one.k,
            }
            for one in requests
        ],
    }


def dry_run(source: Path, overrides: tuple[str, ...], as_json: bool) -> int:
    """Our checks, then AgentCompass's own dry run where it is installed (it loads no dataset)."""
    if as_json:
        data = orchestration_json(source, overrides)
        data["dry_run"] = _own_dry_run(source, overrides) if data["valid"] else None
        out_json(data)
        return 0 if data["valid"] else 2
    if not tell_orchestration(source, overrides):
        return 2
    told = _own_dry_run(source, overrides)
    out("AgentCompass's own dry run:")
    out(safe(told))
    return 0


def _own_dry_run(source: Path, overrides: tuple[str, ...]) -> str:
    import asyncio

    from tui_eval.platforms.agentcompass.dry_run import dry_run_text
    from tui_eval.platforms.agentcompass.loading import load_orchestration
    from tui_eval.platforms.agentcompass.starting import checks_of, options_of

    options = options_of(overrides)
    loaded = load_orchestration(source, settings=options.settings, against=checks_of(options))
    try:
        return asyncio.run(dry_run_text(loaded, options, os.environ))
    except TuiEvalError as error:
        return f"not shown: {error}"
