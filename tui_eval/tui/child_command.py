"""Questions to the command line in a process of its own: what needs the engine, which no screen imports."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tui_eval.errors import UsageError


async def ask(*arguments: str) -> dict[str, Any]:
    """The JSON object that ``tui-eval ARGUMENTS`` (one with ``--json``) prints, whatever its exit status.

    The process is killed when the waiting is cancelled. Raises UsageError when it prints no such object.
    """
    package = str(Path(__file__).parent.parent.parent)
    path = os.pathsep.join(part for part in (package, os.environ.get("PYTHONPATH", "")) if part)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tui_eval",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        output, told = await process.communicate()
    except asyncio.CancelledError:
        if process.returncode is None:
            process.kill()
            await process.wait()
        raise
    try:
        answer = json.loads(output)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        words = told.decode("utf-8", "replace").strip()
        raise UsageError(f"tui-eval {arguments[0]} gave no answer: {words[-400:] or f'status {process.returncode}'}")
    return answer
