"""What AgentCompass itself resolves an orchestration to, and the components that are installed, asked of the bridge."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tui_eval.errors import StartError, UsageError
from tui_eval.platforms.agentcompass.interpreter import Interpreter, find_interpreter
from tui_eval.platforms.agentcompass.loading import LoadedOrchestration
from tui_eval.platforms.agentcompass.preparing import write_prepared
from tui_eval.platforms.agentcompass.process import BridgeProcess
from tui_eval.platforms.agentcompass.starting import Options
from tui_eval.processes.child import last_lines

GRACE_SECONDS = 5.0


async def dry_run_text(loaded: LoadedOrchestration, options: Options, environment: Mapping[str, str]) -> str:
    """The resolved orchestration as YAML, credentials hidden. Raises UsageError with AgentCompass's own words when it
    refuses the file, or when it is not installed."""
    interpreter = await asyncio.to_thread(find_interpreter, environment, options.python)
    with tempfile.TemporaryDirectory(prefix="tui-eval-") as folder:
        prepared = write_prepared(loaded.data, Path(folder), "orchestration")
        job = {
            "action": "dry_run",
            "file": str(prepared.path),
            "preload": list(options.preload),
            "config": list(options.config),
        }
        answer = await _asked(interpreter, job, loaded.folder, {**environment, **prepared.variables}, Path(folder))
    return str(loaded.secrets.redact(str(answer.get("text", ""))))


async def installed_catalog(environment: Mapping[str, str], named: str | None = None) -> dict[str, Any]:
    """The components of the AgentCompass that is installed, in the form that ``catalog_of`` takes. Takes some ten
    seconds. Raises UsageError."""
    interpreter = await asyncio.to_thread(find_interpreter, environment, named)
    with tempfile.TemporaryDirectory(prefix="tui-eval-") as folder:
        answer = await _asked(interpreter, {"action": "catalog"}, Path(folder), environment, Path(folder))
    found = answer.get("catalog")
    return dict(found) if isinstance(found, Mapping) else {}


async def _asked(
    interpreter: Interpreter, job: Mapping[str, Any], cwd: Path, environment: Mapping[str, str], folder: Path
) -> Mapping[str, Any]:
    """The answer of the bridge to a job that is no launch."""
    log = folder / "log"
    answer: Mapping[str, Any] | None = None
    try:
        async with BridgeProcess(
            interpreter, job, cwd=cwd, environment=environment, log=log, grace=GRACE_SECONDS
        ) as process:
            while (line := await process.lines.get()) is not None:
                if line["kind"] == "error":
                    raise UsageError(f"AgentCompass refuses it: {line.get('error')}")
                if line["kind"] == job["action"]:
                    answer = line
    except StartError as error:
        raise UsageError(f"AgentCompass could not be started: {error}") from error
    if answer is None:
        said = last_lines(log.read_text(encoding="utf-8", errors="replace"))
        raise UsageError(f"AgentCompass's process ended without an answer: {said or 'it said nothing'}")
    return answer
