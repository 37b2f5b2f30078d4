"""The writer's loop: one batch about every 100 ms, in the connection's thread, kept through trouble."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from tui_eval.errors import HistoryError
from tui_eval.store import batch as batches
from tui_eval.store import fallback
from tui_eval.store.batch import Batch, NotOurs, Redact
from tui_eval.store.connection import Connection
from tui_eval.store.faults import explained, explaining
from tui_eval.store.liveness import Runner
from tui_eval.store.records import FinishedTask, LogLine, RunRecord

P = ParamSpec("P")
T = TypeVar("T")

BATCH_SECONDS = 0.1
BATCH_TASKS = 500
_LONGEST_PAUSE = 2.0  # seconds between two tries


class BatchLoop:
    """Gathers in ``pending``, writes when told that there is :meth:`something`, and never loses a finished task.

    While writing fails, all is kept and tried again; after ``fallback_after`` seconds finished tasks go to the
    fallback file, and ``failed`` is True until all of it has reached the history after all.
    """

    def __init__(
        self,
        path: Path,
        connection: Connection,
        redact: Redact | None,
        on_trouble: Callable[[str], None],
        fallback_after: float,
    ) -> None:
        self.pending = Batch()
        self.trouble = ""
        self.failed = False
        self.fallback_file: Path | None = None
        self._path = path
        self._inode = path.stat().st_ino
        self._connection = connection
        self._redact = redact
        self._on_trouble = on_trouble
        self._fallback_after = fallback_after
        self._run = 0
        self._run_id = ""
        self._owner = Runner("", 0, "")
        self._rejected = False
        self._something = asyncio.Event()
        self._hurry = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = asyncio.create_task(self._write_batches(), name="history writer")

    def become(self, run: RunRecord) -> None:
        """From now on what is pending belongs to ``run``."""
        self._run, self._run_id = run.id, run.run_id
        self._owner = Runner(run.host, run.pid or 0, run.pid_started)

    def something(self) -> None:
        """There is something in ``pending``."""
        self._something.set()
        if len(self.pending.finished) >= BATCH_TASKS:
            self._hurry.set()

    async def do(self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """``work(connection, ...)`` in the connection's thread, between two batches. Raises HistoryError."""
        with explaining(self._path):
            return await self._connection.run(work, *args, **options)

    async def restore(self, tasks: Sequence[FinishedTask]) -> tuple[int, list[FinishedTask]]:
        """Store tasks at once: how many were new, and those that fit no task of the run. Raises HistoryError."""
        prepared = batches.prepare(tasks, self._redact)
        stored, rejected = await self.do(batches.write, self._path, self._run, self._owner, Batch(prepared=prepared))
        return stored, rejected

    def hidden(self, text: str) -> str:
        """``text`` with the known secrets replaced."""
        return str(self._redact(text)) if self._redact and text else text

    async def flush(self) -> None:
        """Wait until all that is pending is in the history; in trouble, until it is in the fallback file.

        Raises HistoryError only when the loop itself has stopped.
        """
        if self._task is None or self._task.done():
            raise HistoryError(f"{self._path}: the writer of the history has stopped")
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.pending.waiters.append(waiter)
        self._something.set()
        self._hurry.set()
        await asyncio.wait({waiter, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if not waiter.done():
            error = None if self._task is None or self._task.cancelled() else self._task.exception()
            raise HistoryError(f"{self._path}: the writer of the history has stopped: {error!r}") from error

    async def aclose(self) -> None:
        """Write what is left, or keep it aside, and close the connection. Calling it again does nothing."""
        self._closing.set()
        self._something.set()
        self._hurry.set()
        if self._task is not None:
            task, self._task = self._task, None
            try:
                await asyncio.wait({task})
            finally:
                await self._connection.close()
            task.result()

    async def _write_batches(self) -> None:
        while True:
            await self._something.wait()
            if not self._hurry.is_set() and not self._closing.is_set():
                await _wait(self._hurry, BATCH_SECONDS)
            batch = self._take()
            await self._store(batch)
            batch.tell()
            if self._closing.is_set() and not self._something.is_set():
                return

    def _take(self) -> Batch:
        batch, self.pending = self.pending, Batch()
        self._hurry.clear()
        self._something.clear()
        return batch

    async def _store(self, batch: Batch) -> None:
        """Write a batch, however long it takes; takes in what comes meanwhile."""
        pause = 0.05
        since = time.monotonic()
        while True:
            try:
                rejected = await self._connection.run(self._attempt, batch)
            except Exception as error:  # a fault of ours in here must not cost results either: it is told
                self._tell_trouble(error)
                lost = isinstance(error, NotOurs)
                if lost or self._closing.is_set() or time.monotonic() - since >= self._fallback_after:
                    await self._keep_aside(batch)
                    batch.tell()
                    if lost or self._closing.is_set():
                        return
            else:
                if rejected:
                    await self._reject(rejected)
                await self._after_success()
                return
            await _wait(self._closing, pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            batch.add(self._take())

    def _attempt(self, connection: sqlite3.Connection, batch: Batch) -> list[FinishedTask]:
        """In the connection's thread: prepare what is new and store everything."""
        batch.prepared += batches.prepare(batch.finished, self._redact)
        batch.finished = []
        if self._redact and batch.activity:
            batch.activity = [replace(one, detail=self.hidden(one.detail)) for one in batch.activity]
        if self._path.stat().st_ino != self._inode:
            raise HistoryError(f"{self._path}: the history was replaced by another file while the run was going on")
        if not self._run:
            return []
        return batches.write(connection, self._path, self._run, self._owner, batch)[1]

    def _tell_trouble(self, error: Exception) -> None:
        message = str(error if isinstance(error, HistoryError) else explained(error, self._path))
        if not self.trouble:
            self._on_trouble(message)
        self.trouble = message

    async def _keep_aside(self, batch: Batch) -> None:
        """Move the finished tasks of a batch to the fallback file; in memory they stay when that fails too."""
        self.failed = True
        tasks = [prepared.task for prepared in batch.prepared] + batch.finished
        if not tasks:
            return
        try:
            self.fallback_file = await asyncio.to_thread(fallback.append, self._path, self._run_id, tasks, self._redact)
        except OSError as error:
            self.trouble = f"{self.trouble} Nor could results be kept in a file beside it: {error}."
        else:
            batch.prepared, batch.finished = [], []

    async def _reject(self, tasks: list[FinishedTask]) -> None:
        """Tasks that the history has no place for: kept in the fallback file, for a person to look at."""
        self._rejected = True
        self._tell_trouble(HistoryError(f"{self._path}: {len(tasks)} results do not belong to any task of the run"))
        await self._keep_aside(Batch(finished=tasks))

    async def _after_success(self) -> None:
        """The history can be written (again): bring back what was kept aside."""
        if not self.trouble or self._rejected:
            return
        if self.fallback_file is not None:
            try:
                recovered = await fallback.recover(self.fallback_file, self)
                if recovered.rejected:
                    self._rejected = True
                    return
                self.fallback_file.unlink()
            except (HistoryError, OSError):
                return  # the next batch tries again
        message = f"{self.trouble} Everything was saved afterwards."
        self.pending.log.append(LogLine(time.time(), "warning", message))
        self._something.set()
        self.trouble, self.failed, self.fallback_file = "", False, None


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
