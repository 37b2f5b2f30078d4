"""Questions to the command line in a process of its own: what needs the engine, which no screen imports."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tui_eval.errors import UsageError

GRACE_SECONDS = 3.0
"""Time a process gets to end what it started, before it is killed."""


async def ask(*arguments: str, text: str = "") -> dict[str, Any]:
    """The JSON object that ``tui-eval ARGUMENTS`` (one with ``--json``) prints, whatever its exit status.

    ``text`` is its standard input. The process is ended when the waiting is cancelled, and what it started with it.
    Raises UsageError when it prints no such object.
    """
    package = str(Path(__file__).parent.parent.parent)
    path = os.pathsep.join(part for part in (package, os.environ.get("PYTHONPATH", "")) if part)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tui_eval",
        *arguments,
        stdin=asyncio.subprocess.PIPE if text else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        output, told = await process.communicate(text.encode("utf-8") if text else None)
    except asyncio.CancelledError:
        await _end(process)
        raise
    try:
        answer = json.loads(output)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        words = told.decode("utf-8", "replace").strip()
        raise UsageError(f"tui-eval {arguments[0]} gave no answer: {words[-400:] or f'status {process.returncode}'}")
    return answer


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(GRACE_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
