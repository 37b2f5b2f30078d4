"""The process that AgentCompass runs in, seen from our side: started, listened to, stopped, never left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tui_eval.platforms.agentcompass.interpreter import Interpreter, clean_environment
from tui_eval.processes.child import signal_name
from tui_eval.processes.process import Process
from tui_eval.processes.start import start

SCRIPT = Path(__file__).parent / "bridge.py"
LONGEST_LINE = 256 * 1024 * 1024
"""Bytes of one line of the bridge: a result grows with the categories of a benchmark."""
MOST_WAITING = 2_000
"""Lines that wait to be recorded before reading slows down."""


class BridgeProcess:
    """AgentCompass at work on one job. Use as an async context manager; leaving it ends what is left of its family.

    ``lines`` gives the lines as they come and None at the end. ``last_line_at`` is a monotonic time.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        job: Mapping[str, Any],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        log: Path,
        grace: float,
        redact: Callable[[bytes], bytes] = lambda data: data,
    ) -> None:
        self.lines: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.last_line_at = time.monotonic()
        self.bad_lines = 0
        self._grace = grace
        self._redact = redact
        self._buffer = bytearray()
        self._errors = bytearray()
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._popen_arguments = ([interpreter.path, "-P", str(SCRIPT)], clean_environment(environment), cwd)
        self._job = json.dumps(job).encode()
        self._process: Process | None = None
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> BridgeProcess:
        argv, environment, cwd = self._popen_arguments
        try:
            popen = start(argv, None, environment, cwd, with_stdin=True)
            self._process = Process(popen, grace=self._grace, stdout=self._take, stderr=self._note)
        except BaseException:
            os.close(self._log)
            raise
        self._process.write(self._job, close=True)
        self._watching = asyncio.create_task(self._watch(self._process))
        return self

    async def __aexit__(self, *problem: object) -> None:
        assert self._process is not None
        assert self._watching is not None
        self._watching.cancel()
        await asyncio.wait({self._watching})
        if self._process.ended:
            self._process.read_now()
            self._process.settle()
        else:
            await self._process.end(self._grace)
        self._write_log(b"", last=True)
        os.close(self._log)

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    @property
    def ended_how(self) -> str:
        """How it ended, for a message; only after leaving."""
        code = self._process.returncode if self._process is not None else 0
        return f"with signal {signal_name(-code)}" if code < 0 else f"with exit status {code}"

    def stop(self) -> None:
        """Ask AgentCompass to cancel (the second time: to end at once). Only its leader hears it, as its own harnesses
        are ended by it."""
        if self._process is not None and not self._process.ended:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGINT)

    async def _watch(self, process: Process) -> None:
        """Wait until it ended and what it wrote was read; tell that there is no more."""
        while not process.ended:
            await process.changed(None)
        deadline = time.monotonic() + 2.0  # a process that it left behind may hold the pipe open
        while process.open_pipes and time.monotonic() < deadline:
            process.read_now()
            await process.changed(0.05)
        self.lines.put_nowait(None)

    def _take(self, chunk: bytes) -> float:
        self._buffer += chunk
        if b"\n" in chunk:
            *whole, rest = bytes(self._buffer).split(b"\n")
            self._buffer = bytearray(rest)
            for line in whole:
                self._line(line)
        elif len(self._buffer) > LONGEST_LINE:
            self._buffer.clear()
            self.bad_lines += 1
        return 0.05 if self.lines.qsize() > MOST_WAITING else 0.0

    def _line(self, line: bytes) -> None:
        if not line.strip():
            return
        self.last_line_at = time.monotonic()
        try:
            data = json.loads(line, parse_constant=lambda name: None)
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict) and isinstance(data.get("kind"), str):
            self.lines.put_nowait(data)
        else:
            self.bad_lines += 1

    def _note(self, chunk: bytes) -> float:
        self._write_log(chunk)
        return 0.0

    def _write_log(self, chunk: bytes, *, last: bool = False) -> None:
        """Whole lines only, so that no secret is torn in two."""
        self._errors += chunk
        end = len(self._errors) if last or len(self._errors) > 1_000_000 else self._errors.rfind(b"\n") + 1
        if not end:
            return
        text = self._redact(bytes(self._errors[:end]))
        del self._errors[:end]
        with suppress(OSError):  # a full disk costs the log, not the run
            os.write(self._log, text)
