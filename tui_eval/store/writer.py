"""The one that writes a run into the history. Gathers and stores in batches (``loop``), off the event loop."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from tui_eval.domain import Outcome
from tui_eval.store import fallback, ownership, planning
from tui_eval.store.batch import Redact, Rest, count
from tui_eval.store.connection import Connection
from tui_eval.store.encoding import clean, to_json
from tui_eval.store.faults import explained, explaining
from tui_eval.store.liveness import Runner, this_runner
from tui_eval.store.loop import BatchLoop
from tui_eval.store.opening import BUSY_SECONDS, open_for_writing
from tui_eval.store.planning import TakeOver
from tui_eval.store.records import (
    Activity,
    Command,
    Counters,
    FinishedTask,
    LogLine,
    NewTask,
    RequestRecord,
    RequestState,
    RunRecord,
    RunState,
)

__all__ = ["FALLBACK_SECONDS", "HistoryWriter", "TakeOver"]

T = TypeVar("T")

FALLBACK_SECONDS = 5.0
"""After so long without a successful write, finished tasks go to the fallback file."""
_PLANNING_CHUNK = 2000  # tasks in one transaction: some 50 ms


def _unchanged(value: Any) -> Any:
    return value


def _silent(message: str) -> None:
    """The default listener for trouble; ``HistoryWriter.failed`` and ``.trouble`` tell the same."""


class HistoryWriter:
    """Writes one run. Made with :meth:`open`, ended with :meth:`aclose` (or as an async context manager).

    The plain methods (``finished``, ``activity``, ``log`` …) only gather and never fail; what they got is durable
    within half a second. For what happens while the history cannot be written see :class:`BatchLoop`. All methods
    belong to one event loop. ``run`` and ``request`` are keys (``RunRecord.id``, ``RequestRecord.id``); a writer
    writes the run that it created or adopted last.
    """

    def __init__(self, path: Path, connection: Connection, loop: BatchLoop) -> None:
        self.path = path
        self._connection = connection
        self._loop = loop
        self._counters: dict[int, Counters] = {}
        self._given_out: set[int] = set()

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        secrets: Redact = _unchanged,
        on_trouble: Callable[[str], None] = _silent,
        fallback_after: float = FALLBACK_SECONDS,
        busy_seconds: float = BUSY_SECONDS,
    ) -> HistoryWriter:
        """Open the history for writing, see :func:`~tui_eval.store.opening.open_for_writing`; raises HistoryError.

        ``secrets`` gets every text and JSON value about an answer before it is stored and gives it back with known
        secrets replaced; it runs in the writer's thread. ``on_trouble`` is called once per time of trouble.
        """
        # Opened before aiosqlite gets it: where opening fails, that would leave a thread to end at its leisure.
        opened = await asyncio.to_thread(open_for_writing, path, busy_seconds=busy_seconds, any_thread=True)
        connection = Connection(lambda: opened, 64)
        await connection
        redact = None if secrets is _unchanged else secrets
        return cls(path, connection, BatchLoop(path, connection, redact, on_trouble, fallback_after))

    async def __aenter__(self) -> HistoryWriter:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def failed(self) -> bool:
        """Whether something is not in the history (yet): it is in the fallback file, or only in memory."""
        return self._loop.failed

    @property
    def trouble(self) -> str:
        """What is wrong with the history at the moment, "" when nothing is."""
        return self._loop.trouble

    @property
    def fallback_file(self) -> Path | None:
        """Where results are that are not in the history, None when there are none (or no file could take them)."""
        return self._loop.fallback_file

    # -- before the first call --

    async def create_run(self, run: RunRecord) -> int:
        """Store the run and become its writer. Sets ``run.id``, and this process as its runner unless one is set."""
        if not run.pid_started:
            runner = this_runner()
            run.host, run.pid, run.pid_started = runner.host, runner.pid, runner.pid_started
        if run.heartbeat_at is None:
            run.heartbeat_at = time.time()
        run.error, run.warnings = self._loop.hidden(run.error), [self._loop.hidden(line) for line in run.warnings]
        run.id = await self._loop.do(planning.insert_run, run)
        self._loop.become(run)
        self._counters = {}
        return run.id

    async def adopt(self, run_id: str, runner: Runner | None = None) -> RunRecord:
        """Become the writer of a run whose runner is gone, to finish it; its state is ``running`` then.

        What the lost runner left in a fallback file is put into the history first; counters are counted anew from the
        tasks. Raises UsageError when there is no such run, HistoryError when its runner is alive; of two that try at
        once one gets it.
        """
        run = await self._loop.do(ownership.adopt, run_id, runner or this_runner(), time.time())
        self._loop.become(run)
        for place in fallback.find(self.path, run_id):
            with explaining(place):
                recovered = await fallback.recover(place, self)
                if not recovered.rejected:
                    place.unlink()
        self._counters = await self._loop.do(ownership.recount, run.id)
        return run

    async def add_requests(self, requests: Sequence[RequestRecord]) -> None:
        """Store the requests of the run; sets their ``id``."""
        for request, key in zip(requests, await self._loop.do(planning.insert_requests, requests), strict=True):
            request.id = key
            self._counters[key] = Counters()

    async def add_tasks(self, tasks: Sequence[NewTask]) -> None:
        """Store queued tasks, 2,000 a transaction. Raises HistoryError for a case and repeat given twice."""
        for chunk in _chunks(tasks):
            await self._loop.do(planning.insert_tasks, chunk)
            for task in chunk:
                self.counters(task.request).total += 1

    async def take_over(self, run: int, request: int, items: Sequence[TakeOver]) -> None:
        """Copy tasks of earlier runs into ``request`` of ``run``, see :func:`~tui_eval.store.planning.take_over`."""
        for chunk in _chunks(items):
            await self._loop.do(planning.take_over, run, request, chunk)
        self._counters[request] = await self._loop.do(ownership.counters_of, request)

    async def requeue(self, run: int, outcomes: Sequence[Outcome] = (Outcome.CANCELLED,)) -> int:
        """Put tasks with these outcomes back into the queue; how many. Their attempts stay (later ones are numbered
        after them), and so do tasks that were taken over from another run."""
        number = await self._loop.do(ownership.requeue, run, [outcome.value for outcome in outcomes])
        self._counters = await self._loop.do(ownership.recount, run)
        return number

    async def requeue_unscored(self, run: int) -> int:
        """Queue what lacks a verdict only because an evaluator could not decide, to be judged again; how many."""
        number = await self._loop.do(ownership.requeue_unscored, run)
        self._counters = await self._loop.do(ownership.recount, run)
        return number

    # -- while it runs --

    def counters(self, request: int) -> Counters:
        """The counters of a request as of now, ahead of the history by what is not written yet."""
        return self._counters.setdefault(request, Counters())

    def finished(self, task: FinishedTask) -> None:
        """The end of a task. Texts may be given whole: secrets are replaced before they are cut."""
        self._loop.pending.finished.append(task)
        count(self.counters(task.request), task)
        self._loop.something()

    def cancel_rest(self, request: int, message: str, at: float | None = None) -> None:
        """Every task of the request that is not finished (nor handed to :meth:`finished`) is cancelled."""
        counters = self.counters(request)
        counters.cancelled += counters.total - counters.finished
        self._loop.pending.rests.append(Rest(request, self._loop.hidden(message), time.time() if at is None else at))
        self._loop.something()

    def activity(self, run: int, activity: Sequence[Activity]) -> None:
        """What the running tasks of the run are doing now; takes the place of what was said before."""
        self._loop.pending.activity = list(activity)
        self._loop.something()

    def in_flight(self, request: int, running: int, waiting: int) -> None:
        """How many tasks of a request are running, and how many of these wait between attempts."""
        counters = self.counters(request)
        if (counters.running, counters.waiting) != (running, waiting):
            counters.running, counters.waiting = running, waiting
            self._change_request(request, running=running, waiting=waiting)

    def log(self, run: int, line: LogLine) -> None:
        """A line of the run's log."""
        self._loop.pending.log.append(replace(line, message=self._loop.hidden(line.message)))
        self._loop.something()

    def run_state_changed(self, run: int, state: RunState, **changes: Any) -> None:
        """As :meth:`set_run_state`, written with the next batch."""
        self._loop.pending.run_changes |= {"state": state.value} | self._columns(changes)
        if not state.live:
            self._loop.pending.activity = []
            for request in self._counters:
                self.in_flight(request, 0, 0)
        self._loop.something()

    def concurrency_changed(self, run: int, value: int) -> None:
        """The run's ``task_concurrency`` was changed while it goes on."""
        self._loop.pending.run_changes["task_concurrency"] = value
        self._loop.something()

    def request_changed(self, request: RequestRecord) -> None:
        """State, error, start and end of a request are what the record says; written with the next batch."""
        self._change_request(
            request.id,
            state=request.state.value,
            error=clean(self._loop.hidden(request.error)),
            started_at=request.started_at,
            finished_at=request.finished_at,
        )

    async def set_run_state(self, run: int, state: RunState, **changes: Any) -> None:
        """Change the run's state and, by name, ``error started_at finished_at warnings tags note task_concurrency``.

        Returns when it is stored, after everything handed over before (or, in trouble, kept aside). A state that is
        not live ends the activity.
        """
        self.run_state_changed(run, state, **changes)
        await self.flush()

    async def set_request_state(self, request: int, state: RequestState, **changes: Any) -> None:
        """Change a request's state and, by name, ``error started_at finished_at dataset_hash``. Returns as above."""
        self._change_request(request, state=state.value, **self._columns(changes))
        await self.flush()

    def heartbeat(self, at: float | None = None) -> None:
        """Say that the runner is alive (seconds since the epoch, default now). Written with the next batch."""
        self._loop.pending.run_changes["heartbeat_at"] = time.time() if at is None else at
        self._loop.something()

    async def commands(self, run: int) -> list[Command]:
        """What viewers have asked for and was not handed out yet, oldest first. Empty while the history is locked."""
        fresh = await self.waiting_commands(run)
        self._given_out.update(command.id for command in fresh)
        return fresh

    async def waiting_commands(self, run: int) -> list[Command]:
        """As :meth:`commands`, but only to look: they are handed out all the same."""
        try:
            found = await self._connection.run(ownership.open_commands, run)
        except sqlite3.OperationalError:
            return []
        except sqlite3.Error as error:
            raise explained(error, self.path) from error
        return [command for command in found if command.id not in self._given_out]

    async def answer(self, command: int, text: str) -> None:
        """Tell the viewer who gave the command what became of it; marks it as taken."""
        self._loop.pending.answers.append((time.time(), clean(self._loop.hidden(text)), command))
        await self.flush()

    async def restore(self, tasks: Sequence[FinishedTask]) -> tuple[int, list[FinishedTask]]:
        """Store tasks of a fallback file at once: how many were new, and those that fit no task of the run.

        Raises HistoryError.
        """
        return await self._loop.restore(tasks)

    async def flush(self) -> None:
        """Wait until all that was handed over is in the history; in trouble, until it is in the fallback file.

        Raises HistoryError only when the writer itself has stopped.
        """
        await self._loop.flush()

    async def aclose(self) -> None:
        """Write what is left (or keep it aside: see ``failed``) and close. Calling it again does nothing."""
        await self._loop.aclose()

    def _change_request(self, request: int, **changes: Any) -> None:
        self._loop.pending.request_changes.setdefault(request, {}).update(changes)
        self._loop.something()

    def _columns(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Named changes as columns, secrets replaced."""
        if unknown := changes.keys() - _CHANGEABLE:
            raise TypeError(f"no such field can be changed: {', '.join(sorted(unknown))}")
        columns = dict(changes)
        for name, value in changes.items():
            if isinstance(value, list):
                columns[name] = to_json([self._loop.hidden(text) for text in value])
            elif isinstance(value, str):
                columns[name] = clean(self._loop.hidden(value))
        return columns


def _chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), _PLANNING_CHUNK):
        yield items[start : start + _PLANNING_CHUNK]


_CHANGEABLE = frozenset(
    {"error", "started_at", "finished_at", "warnings", "tags", "note", "task_concurrency", "dataset", "dataset_hash"}
)
