"""All requests of a run side by side, under one number of slots; every failure stays where it happened.

What is asked from outside (cancel, pause, stop, a limit) goes through the methods of :class:`Orchestration`; what
happens inside is told to an :class:`Observer`.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from tui_eval.domain import Outcome
from tui_eval.engine.data import Progress, TaskDescription, TaskResult
from tui_eval.engine.executor import Executor
from tui_eval.engine.slots import Slots
from tui_eval.engine.task import begin
from tui_eval.errors import innermost
from tui_eval.store.records import RequestState, RunState

Page = Callable[[int], Awaitable[list[TaskDescription]]]
"""Gives the next tasks of a request after a position (-1: from the start), an empty list at the end."""


class Observer(Protocol):
    """Who hears what happens. Called from the event loop; must return at once."""

    def task_finished(self, task: TaskDescription, result: TaskResult) -> None: ...

    def request_changed(self, request: int, state: RequestState, error: str) -> None: ...

    def rest_cancelled(self, request: int, message: str) -> None:
        """Every task of the request that has no final outcome is cancelled."""
        ...

    def log(self, level: str, message: str, request: str) -> None: ...


@dataclass(frozen=True, slots=True)
class _End:
    """Why a request was ended early."""

    state: RequestState
    message: str


@dataclass(slots=True, eq=False)
class Feed:
    """One request as the orchestration sees it: where its tasks come from, and its own time limit in seconds.

    ``open`` makes the request ready (and may fail: then this request fails, no other); ``close`` undoes it. ``fed`` is
    the position of the last task that was taken up, ``unwanted`` has those after it that were cancelled, and why.
    """

    key: int
    name: str
    page: Page
    open: Callable[[], Awaitable[None]]
    close: Callable[[], Awaitable[None]]
    timeout: float | None = None
    end: _End | None = None
    fed: int = -1
    unwanted: dict[int, str] = field(default_factory=dict)
    live: dict[int, _Live] = field(default_factory=dict)
    moved: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True, eq=False)
class _Live:
    """A task in flight. ``reason`` is set when it was asked to end for a reason that is recorded."""

    progress: Progress
    handle: asyncio.Task[None] | None = None
    reason: str = ""


class Orchestration:
    """Runs the tasks of several feeds; see the module's text.

    ``timeout`` limits the whole in seconds. ``grace`` is what in-flight tasks get when it is stopped.
    """

    def __init__(
        self,
        feeds: list[Feed],
        executor: Executor,
        slots: Slots,
        observer: Observer,
        *,
        timeout: float | None = None,
        grace: float = 10.0,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._feeds = feeds
        self._executor = executor
        self._slots = slots
        self._observer = observer
        self._timeout = timeout
        self._grace = grace
        self._wall = wall
        self._stopping = False
        self._state: RunState | None = None

    async def run(self) -> RunState:
        """Run until every task has its end, or until stopped, cancelled or timed out. Returns the run's final state."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._timeout, self._expire) if self._timeout is not None else None
        try:
            async with asyncio.TaskGroup() as group:
                states = [group.create_task(self._run_request(feed)) for feed in self._feeds]
        finally:
            if timer is not None:
                timer.cancel()
        if self._stopping:
            return RunState.INTERRUPTED
        if self._state is not None:
            return self._state
        completed = all(state.result() is RequestState.COMPLETED for state in states)
        return RunState.COMPLETED if completed else RunState.PARTIAL_FAILURE

    # What can be asked of a live run

    def stop(self, grace: float | None = None) -> None:
        """Start nothing new, give tasks in flight ``grace`` seconds (default: the plan's), leave the rest for later.

        Asked again with a smaller grace, that one counts.
        """
        self._stopping = True
        for feed in self._feeds:
            for live in feed.live.values():
                if live.progress.phase in ("queued", "waiting") and live.handle is not None:
                    live.handle.cancel()
            feed.moved.set()
        asyncio.get_running_loop().call_later(self._grace if grace is None else grace, self._end_all_live)

    def cancel_run(self, message: str, *, drain: bool = False) -> None:
        """End every request; with ``drain`` tasks in flight are finished first."""
        self._state = self._state or RunState.CANCELLED
        for feed in self._feeds:
            self._end_feed(feed, _End(RequestState.CANCELLED, message), drain=drain)

    def cancel_request(self, name: str, message: str, *, drain: bool = False) -> bool:
        """End one request; False when there is none of that name that still runs."""
        for feed in self._feeds:
            if feed.name == name and feed.end is None:
                self._end_feed(feed, _End(RequestState.CANCELLED, message), drain=drain)
                return True
        return False

    def cancel_task(self, task: int, message: str) -> bool:
        """End one task that is in flight; False when it is not."""
        for feed in self._feeds:
            live = feed.live.get(task)
            if live is not None:
                self._end_live(live, message)
                return True
        return False

    def cancel_queued(self, request: int, task: int, position: int, message: str) -> bool:
        """Never start a task that still waits for its turn; False when it has been taken up, or its request has ended."""
        for feed in self._feeds:
            if feed.key == request and feed.end is None and position > feed.fed:
                feed.unwanted[task] = message
                return True
        return False

    @property
    def ending(self) -> bool:
        """Whether the whole was asked to end: it is stopped, cancelled, or out of time."""
        return self._stopping or self._state is not None

    def in_flight(self) -> list[tuple[int, Progress]]:
        """Key and progress of every task that is doing something (not those that wait for their first slot)."""
        return [
            (key, live.progress)
            for feed in self._feeds
            for key, live in feed.live.items()
            if live.progress.phase != "queued"
        ]

    def counts(self, feed: Feed) -> tuple[int, int]:
        """How many tasks of a feed are running, and how many of them wait between attempts."""
        phases = [live.progress.phase for live in feed.live.values()]
        waiting = phases.count("waiting")
        return len(phases) - phases.count("queued"), waiting

    # Inside

    async def _run_request(self, feed: Feed) -> RequestState:
        self._observer.request_changed(feed.key, RequestState.RUNNING, "")
        timer = None
        if feed.timeout is not None:
            message = f"request limit reached (request_timeout_seconds: {feed.timeout:g})"
            end = _End(RequestState.TIMED_OUT, message)
            timer = asyncio.get_running_loop().call_later(feed.timeout, self._end_feed, feed, end)
        state, error = RequestState.COMPLETED, ""
        try:
            await feed.open()
            await self._feed_tasks(feed)
        except Exception as problem:
            cause = innermost(problem)
            state, error = RequestState.FAILED, f"{type(cause).__name__}: {cause}"
            self._observer.log("error", f"request failed: {error}\n{_trace(problem)}", feed.name)
        finally:
            if timer is not None:
                timer.cancel()
            await self._close(feed)
        if feed.end is not None and state is RequestState.COMPLETED and not self._stopping:
            state, error = feed.end.state, feed.end.message
            self._observer.rest_cancelled(feed.key, feed.end.message)
        if self._stopping and state is RequestState.COMPLETED:
            state = RequestState.PENDING
        self._observer.request_changed(feed.key, state, error)
        return state

    async def _close(self, feed: Feed) -> None:
        """Close a request's parts; trouble in it is told, not raised: the results are there."""
        try:
            await feed.close()
        except Exception as problem:
            self._observer.log("warning", f"closing the request: {problem}\n{_trace(problem)}", feed.name)

    async def _feed_tasks(self, feed: Feed) -> None:
        """Keep enough tasks of the request alive to use the slots, never all of them at once."""
        after = -1
        async with asyncio.TaskGroup() as group:
            while not self._closed(feed) and (page := await feed.page(after)):
                for task in page:
                    after = task.position
                    while not self._closed(feed) and len(feed.live) >= 2 * self._slots.capacity + 16:
                        feed.moved.clear()
                        await feed.moved.wait()
                    if self._closed(feed):
                        return
                    feed.fed = task.position
                    self._start(group, feed, task)

    def _closed(self, feed: Feed) -> bool:
        return self._stopping or feed.end is not None

    def _start(self, group: asyncio.TaskGroup, feed: Feed, task: TaskDescription) -> None:
        live = _Live(begin(task, self._wall))
        if (reason := feed.unwanted.pop(task.task, None)) is not None:
            result = live.progress.result
            result.outcome, result.message, result.finished_at = Outcome.CANCELLED, reason, self._wall()
            self._observer.task_finished(task, result)
            return
        feed.live[task.task] = live
        live.handle = group.create_task(self._run_one(feed, task, live))
        live.handle.add_done_callback(lambda handle: self._ended(feed, task, live, handle))

    async def _run_one(self, feed: Feed, task: TaskDescription, live: _Live) -> None:
        try:
            await self._executor.run(task, live.progress)
        except Exception as problem:
            result = live.progress.result
            result.outcome, result.error_kind = Outcome.ERROR, "internal"
            result.message = f"fault in the engine: {type(problem).__name__}: {problem}"
            result.finished_at = self._wall()
            self._observer.log("error", f"{task.case_id}: {result.message}\n{_trace(problem)}", feed.name)

    def _ended(self, feed: Feed, task: TaskDescription, live: _Live, handle: asyncio.Task[None]) -> None:
        """The one place where a task leaves, also one that was cancelled before it began."""
        del feed.live[task.task]
        feed.moved.set()
        result = live.progress.result
        if handle.cancelled():
            if not live.reason:
                return  # stopped: it stays unfinished and is run again on resume
            result.outcome, result.message, result.finished_at = Outcome.CANCELLED, live.reason, self._wall()
        self._observer.task_finished(task, result)

    def _end_live(self, live: _Live, message: str) -> None:
        live.reason = live.reason or message
        if live.handle is not None:
            live.handle.cancel()

    def _end_feed(self, feed: Feed, end: _End, drain: bool = False) -> None:
        feed.end = feed.end or end
        for live in list(feed.live.values()):
            if not drain or live.progress.phase == "queued":
                self._end_live(live, end.message)
        feed.moved.set()

    def _end_all_live(self) -> None:
        for feed in self._feeds:
            for live in list(feed.live.values()):
                if live.handle is not None:
                    live.handle.cancel()

    def _expire(self) -> None:
        self._state = RunState.TIMED_OUT
        end = _End(RequestState.TIMED_OUT, f"orchestration limit reached (timeout_seconds: {self._timeout:g})")
        for feed in self._feeds:
            self._end_feed(feed, end)


def _trace(problem: BaseException) -> str:
    """A traceback without the values of local variables: those may hold secrets."""
    return "".join(traceback.format_exception(problem))
