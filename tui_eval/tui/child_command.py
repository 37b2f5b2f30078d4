"""Questions to the command line in a process of its own: what needs the engine, which no screen imports."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tui_eval.errors import UsageError
from tui_eval.tui.background import Stopped, away

GRACE_SECONDS = 5.0
"""Time a process gets to end what it started, before it is killed."""


def program(module: str = "tui_eval") -> list[str]:
    """How a module of ours is run in a process of its own. Nothing is imported from the current folder (-P): a workspace
    may hold a file with the name of any module."""
    return [sys.executable, "-P", "-m", module]


def environment() -> dict[str, str]:
    """Ours, so that the process finds the same package, also when it runs from a checkout."""
    package = str(Path(__file__).parent.parent.parent)
    path = os.pathsep.join(part for part in (package, os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "PYTHONPATH": path}


async def started(*command: str, **options: Any) -> asyncio.subprocess.Process:
    """``asyncio.create_subprocess_exec``, which alone would leave the process behind when it is cancelled meanwhile."""
    creation = asyncio.ensure_future(asyncio.create_subprocess_exec(*command, **options))
    try:
        return await asyncio.shield(creation)
    except asyncio.CancelledError:
        process = await creation
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise


async def ask(*arguments: str, text: str = "", variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The JSON object that ``tui-eval ARGUMENTS`` (one with ``--json``) prints, whatever its exit status.

    ``text`` is its standard input, ``variables`` are set in its environment besides ours. The process is ended when the waiting is cancelled, and what it started with it;
    nobody waits for that. Raises UsageError when it prints no such object.
    """
    try:
        output, told, status = await run([*program(), *arguments], text, variables or {})
    except OSError as error:
        raise UsageError(f"tui-eval {arguments[0]} cannot be started: {error.strerror or error}") from error
    try:
        answer = json.loads(output)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        words = told.decode("utf-8", "replace").strip()
        raise UsageError(f"tui-eval {arguments[0]} gave no answer: {words[-400:] or f'status {status}'}")
    return answer


async def run(
    command: Sequence[str], text: str = "", variables: Mapping[str, str] | None = None
) -> tuple[bytes, bytes, int]:
    """Run a program to its end, in a session of its own: what it wrote to standard output and error, and its status.

    It is ended when the waiting is cancelled, with what it started; nobody waits for that, the end of the program
    neither. Raises OSError when it cannot be started."""
    child = _Child(command, text, variables or {})
    try:
        return await away(child.run)
    except asyncio.CancelledError:
        child.stop()
        raise


class _Child:
    """One process. :meth:`run` in a thread, :meth:`stop` from anywhere, also before it has begun."""

    def __init__(self, command: Sequence[str], text: str, variables: Mapping[str, str]) -> None:
        self._command = command
        self._variables = variables
        self._text = text
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(self) -> tuple[bytes, bytes, int]:
        with self._lock:
            if self._stopped:
                raise Stopped
            self._process = process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE if self._text else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env={**environment(), **self._variables},
            )
        output, told = process.communicate(self._text.encode("utf-8") if self._text else None)
        return output, told, process.returncode

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        timer = threading.Timer(GRACE_SECONDS, self._kill, [process])
        timer.daemon = True
        timer.start()

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                process.kill()
