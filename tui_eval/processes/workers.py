"""Python functions in processes that can be killed: a call that hangs, crashes or burns CPU stops nobody else."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.errors import StartError, WorkerDied, WorkerError, WorkerRaised, WorkerTimeout
from tui_eval.processes.child import Tail, last_lines, signal_name
from tui_eval.processes.process import Process
from tui_eval.processes.start import start

PROGRAM = Path(__file__).with_name("worker_main.py")

GRACE_SECONDS = 0.5
"""Between TERM and KILL of a worker. Its function is not asked to save anything: its call is over."""

START_SECONDS = 30.0
"""A worker that is not ready by then is given up; also the limit for importing a function of this package."""

LARGEST_REPLY = 64 * 1024 * 1024
STDERR_KEPT = 65536


class WorkerPool:
    """Up to ``size`` worker processes, started when needed and used again, the last used first.

    ``folder`` is their working folder and where modules are imported from unless a call names another; ``environment``
    is all of theirs. ``log`` is given what the functions print, whole lines.
    """

    def __init__(
        self, *, size: int, folder: Path, environment: Mapping[str, str], log: Callable[[str], None] | None = None
    ) -> None:
        if size < 1:
            raise ValueError(f"a pool has at least one worker, not {size}")
        self._size = size
        self._folder = folder
        self._environment = environment
        self._log = log
        self._free = asyncio.Semaphore(size)
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._closed = False

    async def call(
        self,
        function: str,
        argument: JsonValue,
        *,
        timeout: float | None,
        path: str | None = None,
        style: str = "case",
        arguments: Mapping[str, JsonValue] | None = None,
        environment: Mapping[str, str] | None = None,
        printed: Callable[[str], None] | None = None,
    ) -> JsonValue:
        """What ``function`` (``module:function``, sync or async) returns, a JSON value.

        ``style`` says how it is called: ``case``: ``f(argument, **arguments)``; ``keywords``: ``f(**argument,
        **arguments)``; ``solution``: as a ``python`` solution, the result as ``worker_main.as_solution`` gives it.
        ``path`` is the folder to import from, relative to the pool's. ``environment`` is set during the call only.
        ``timeout`` is in seconds from when a worker has taken the call; then the worker is killed. ``printed`` is given
        what the function printed (its last 64 KiB).

        Raises WorkerTimeout, WorkerDied, WorkerRaised (see its ``stage``), or WorkerError when none could be started.
        """
        place = str(self._folder / path if path is not None else self._folder)
        message = {
            "function": function,
            "path": place,
            "style": style,
            "argument": argument,
            "arguments": dict(arguments or {}),
            "environment": dict(environment or {}),
        }
        data = json.dumps(message, allow_nan=False).encode() + b"\n"
        async with self._free:
            worker = await self._worker(place)
            try:
                reply = await worker.ask(function, data, timeout)
            finally:
                if printed is not None:
                    printed(worker.printed())
                self._give_back(worker)
        if "value" in reply:
            return reply["value"]
        if "error" not in reply:
            raise WorkerDied(f"{function}: the worker process sent something that is no reply")
        raise WorkerRaised(f"{function}: {reply['error']}", reply["traceback"], reply["stage"])

    async def aclose(self) -> None:
        """End all workers; a call in flight then fails with WorkerDied."""
        self._closed = True
        self._idle.clear()
        endings = [worker.stop() for worker in self._all]
        self._all.clear()
        await asyncio.gather(*endings)

    async def _worker(self, place: str) -> _Worker:
        """An idle worker that imports from ``place``, else a new one. There is room: the caller holds a free slot."""
        if self._closed:
            raise WorkerError("the worker processes were closed")
        for dead in [worker for worker in self._idle if not worker.alive]:
            await self._drop(dead)
        for worker in reversed(self._idle):
            if worker.place == place:
                self._idle.remove(worker)
                return worker
        if len(self._all) >= self._size and self._idle:
            await self._drop(self._idle[0])
        worker = _Worker(place, self._folder, self._environment, self._log)
        self._all.add(worker)
        try:
            await worker.ready()
        except BaseException:
            self._all.discard(worker)
            raise
        return worker

    async def _drop(self, idle: _Worker) -> None:
        self._idle.remove(idle)
        self._all.discard(idle)
        await idle.stop()

    def _give_back(self, worker: _Worker) -> None:
        if worker.alive and not self._closed:
            self._idle.append(worker)
        else:
            self._all.discard(worker)


class _Worker:
    """One worker process; one call at a time."""

    def __init__(
        self, place: str, folder: Path, environment: Mapping[str, str], log: Callable[[str], None] | None
    ) -> None:
        self.place = place
        self._stopped = False
        self._log = log
        self._unlogged = b""
        self._received = bytearray()
        self._scanned = 0
        self._imported: set[str] = set()
        self._stderr = Tail(STDERR_KEPT, LARGEST_REPLY)
        # -P: this file's folder is no place to import from.
        argv = [sys.executable, "-P", str(PROGRAM)]
        try:
            popen = start(argv, None, environment, folder, with_stdin=True)
            self._process = Process(popen, grace=GRACE_SECONDS, stdout=self._on_reply, stderr=self._on_print)
        except (StartError, OSError) as error:
            raise WorkerError(f"a worker process could not be started: {error}") from error

    @property
    def alive(self) -> bool:
        """Whether it can take a call."""
        return not self._stopped and not self._process.ended

    async def ready(self) -> None:
        """Wait until it takes calls. Raises WorkerError; it is ended then."""
        try:
            # Something that Python runs at every start (sitecustomize, a .pth file) may have printed before.
            while not (await self._reply(START_SECONDS)).get("ready"):
                continue
        except WorkerTimeout:
            raise WorkerError(f"a worker process did not start within {START_SECONDS:g} s") from None

    async def ask(self, function: str, message: bytes, timeout: float | None) -> dict[str, Any]:
        """The reply to one call of ``function``; the worker is ended unless there is one. ``timeout`` is in seconds."""
        self._stderr = Tail(STDERR_KEPT, LARGEST_REPLY)
        self._process.write(message)
        limit = timeout
        if timeout is not None and function.startswith("tui_eval.") and function not in self._imported:
            # A function of this package is imported on our own account; for a user's the limit counts from the start.
            limit = max(timeout, START_SECONDS)
        reply = await self._reply(limit)
        if "imported" in reply:
            self._imported.add(function)
            reply = await self._reply(timeout)
        return reply

    async def _reply(self, limit: float | None) -> dict[str, Any]:
        try:
            line = await self._line(limit)
        except BaseException:
            self._stopped = True
            await self._process.end(GRACE_SECONDS)
            raise
        try:
            reply = json.loads(line)
        except ValueError:
            return {}
        return reply if isinstance(reply, dict) else {}

    async def _line(self, limit: float | None) -> bytes:
        """The next line it sends."""
        loop = asyncio.get_running_loop()
        deadline = None if limit is None else loop.time() + limit
        while True:
            end = self._received.find(b"\n", self._scanned)
            if end >= 0:
                line = bytes(self._received[:end])
                del self._received[: end + 1]
                self._scanned = 0
                return line
            self._scanned = len(self._received)
            if self._scanned > LARGEST_REPLY:
                raise WorkerDied(f"it returned more than {LARGEST_REPLY // 1024 // 1024} MiB; the worker was killed")
            if self._process.ended:
                if self._process.open_pipes:
                    self._process.read_now()
                    if self._received.find(b"\n", self._scanned) >= 0:
                        continue
                await self._died()
            left = None if deadline is None else deadline - loop.time()
            if left is not None and left <= 0:
                raise WorkerTimeout(f"timed out ({limit:g} s); the worker was killed")
            await self._process.changed(left)

    async def _died(self) -> None:
        """Raise WorkerDied with how it ended and what it said last."""
        await self._process.end(0)
        code = self._process.returncode
        how = f"exit {code}" if code >= 0 else f"killed by {signal_name(-code)}"
        last = last_lines(self._stderr.data.decode("utf-8", "backslashreplace"))
        raise WorkerDied(f"the worker process ended in the middle of the call: {how}" + (f": {last}" if last else ""))

    def printed(self) -> str:
        """What was printed since the last call began."""
        if self._process.open_pipes:
            self._process.read_now()
        return self._stderr.data.decode("utf-8", "backslashreplace")

    async def stop(self) -> None:
        """End it: its stdin is closed, at which an idle one ends by itself at once; then TERM and KILL."""
        self._stopped = True
        if not self._process.ended:
            self._process.write(b"", close=True)
            await self._process.changed(GRACE_SECONDS)
        await self._process.end(GRACE_SECONDS)

    def _on_reply(self, chunk: bytes) -> float:
        self._received += chunk
        if b"\n" in chunk or len(self._received) > LARGEST_REPLY:
            self._process.wake()
        return 0.0

    def _on_print(self, chunk: bytes) -> float:
        if self._log is not None:
            *lines, self._unlogged = (self._unlogged + chunk).split(b"\n")
            for line in lines:
                self._log(line.decode("utf-8", "backslashreplace"))
            self._unlogged = self._unlogged[-STDERR_KEPT:]
        return self._stderr(chunk)
