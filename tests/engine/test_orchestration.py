"""Requests side by side: each failure stays where it happened, and every way of ending leaves a true record."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tui_eval.domain import Outcome
from tui_eval.engine.data import Progress, TaskDescription, TaskResult
from tui_eval.engine.orchestration import Feed, Orchestration
from tui_eval.engine.slots import Slots
from tui_eval.store.records import RequestState, RunState

Work = Callable[[TaskDescription, Progress], Awaitable[None]]


@dataclass
class Record:
    """An observer that keeps what it hears."""

    finished: list[tuple[str, TaskResult]] = field(default_factory=list)
    states: dict[int, list[RequestState]] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    rest: dict[int, str] = field(default_factory=dict)
    logged: list[str] = field(default_factory=list)

    def task_finished(self, task: TaskDescription, result: TaskResult) -> None:
        self.finished.append((task.request, result))

    def request_changed(self, request: int, state: RequestState, error: str) -> None:
        self.states.setdefault(request, []).append(state)
        self.errors[request] = error

    def rest_cancelled(self, request: int, message: str) -> None:
        self.rest[request] = message

    def log(self, level: str, message: str, request: str) -> None:
        self.logged.append(message)

    def outcomes(self, request: str) -> list[Outcome]:
        return [result.outcome for name, result in self.finished if name == request]


@dataclass
class Stage:
    """An orchestration of invented requests: ``work`` says what a task of each request does."""

    work: dict[str, Work]
    counts: dict[str, int]
    capacity: int = 4
    timeouts: dict[str, float] = field(default_factory=dict)
    timeout: float | None = None
    broken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.record = Record()
        self.slots = Slots(self.capacity)
        self.lanes = {name: self.slots.lane(name) for name in self.counts}
        self.feeds = [self._feed(key, name) for key, name in enumerate(self.counts, 1)]
        self.orchestration = Orchestration(self.feeds, self, self.slots, self.record, timeout=self.timeout, grace=0.05)

    async def run(self, task: TaskDescription, progress: Progress) -> TaskResult:
        async with self.slots.slot(self.lanes[task.request]):
            progress.phase = "calling"
            await self.work[task.request](task, progress)
        progress.result.outcome = Outcome.PASSED
        return progress.result

    def _feed(self, key: int, name: str) -> Feed:
        async def page(after: int) -> list[TaskDescription]:
            last = min(after + 1 + 10, self.counts[name])
            return [
                TaskDescription(key * 1000 + position, name, key, f"c{position}", {}, position=position)
                for position in range(after + 1, last)
            ]

        async def ready() -> None:
            if name in self.broken:
                raise OSError("no such certificate: ca.pem")

        async def done() -> None:
            return None

        return Feed(key, name, page, ready, done, timeout=self.timeouts.get(name))


async def quick(task: TaskDescription, progress: Progress) -> None:
    await asyncio.sleep(0)


async def hang(task: TaskDescription, progress: Progress) -> None:
    await asyncio.Event().wait()


async def test_every_task_of_every_request_is_run_once() -> None:
    stage = Stage({"a": quick, "b": quick}, {"a": 57, "b": 31})
    assert await stage.orchestration.run() is RunState.COMPLETED
    assert len(stage.record.outcomes("a")) == 57
    assert len({result.task for _, result in stage.record.finished}) == 88
    assert stage.record.states[1] == [RequestState.RUNNING, RequestState.COMPLETED]


async def test_a_request_that_cannot_be_made_ready_fails_alone() -> None:
    stage = Stage({"a": quick, "b": quick}, {"a": 5, "b": 5}, broken={"a"})
    assert await stage.orchestration.run() is RunState.PARTIAL_FAILURE
    assert stage.record.states[1][-1] is RequestState.FAILED
    assert "ca.pem" in stage.record.errors[1]
    assert stage.record.outcomes("b") == [Outcome.PASSED] * 5


async def test_a_fault_in_one_task_costs_that_task_only() -> None:
    async def sometimes(task: TaskDescription, progress: Progress) -> None:
        if task.position == 3:
            raise RuntimeError("bug")

    stage = Stage({"a": sometimes}, {"a": 6})
    assert await stage.orchestration.run() is RunState.COMPLETED
    outcomes = stage.record.outcomes("a")
    assert outcomes.count(Outcome.PASSED) == 5
    assert outcomes.count(Outcome.ERROR) == 1
    assert any("RuntimeError: bug" in line for line in stage.record.logged)


async def test_a_request_that_hangs_does_not_hold_the_others() -> None:
    stage = Stage({"slow": hang, "quick": quick}, {"slow": 40, "quick": 40}, capacity=4)
    running = asyncio.create_task(stage.orchestration.run())
    async with asyncio.timeout(2):
        while len(stage.record.outcomes("quick")) < 40:
            await asyncio.sleep(0.005)
            for key, _ in stage.orchestration.in_flight()[:3]:
                stage.orchestration.cancel_task(key, "freed for the test") if key < 2000 else None
    stage.orchestration.cancel_run("enough")
    assert await running is RunState.CANCELLED


async def test_a_cancelled_task_is_recorded_and_the_rest_goes_on() -> None:
    async def first_hangs(task: TaskDescription, progress: Progress) -> None:
        if task.position == 0:
            await hang(task, progress)

    stage = Stage({"a": first_hangs}, {"a": 8})
    running = asyncio.create_task(stage.orchestration.run())
    await asyncio.sleep(0.05)
    assert len(stage.record.finished) == 7
    assert stage.orchestration.cancel_task(1000, "cancelled by me")
    assert await running is RunState.COMPLETED
    (cancelled,) = [result for _, result in stage.record.finished if result.outcome is Outcome.CANCELLED]
    assert cancelled.task == 1000
    assert cancelled.message == "cancelled by me"


async def test_a_request_over_its_limit_is_ended_and_the_others_complete() -> None:
    stage = Stage({"slow": hang, "quick": quick}, {"slow": 30, "quick": 30}, capacity=8, timeouts={"slow": 0.05})
    async with asyncio.timeout(2):
        assert await stage.orchestration.run() is RunState.PARTIAL_FAILURE
    assert stage.record.states[1][-1] is RequestState.TIMED_OUT
    assert "request_timeout_seconds: 0.05" in stage.record.rest[1]
    assert stage.record.outcomes("quick") == [Outcome.PASSED] * 30


async def test_a_run_over_its_limit_is_timed_out() -> None:
    stage = Stage({"a": hang}, {"a": 30}, timeout=0.05)
    async with asyncio.timeout(2):
        assert await stage.orchestration.run() is RunState.TIMED_OUT
    assert set(stage.record.outcomes("a")) == {Outcome.CANCELLED}
    assert "timeout_seconds: 0.05" in stage.record.rest[1]


async def test_a_stopped_run_gives_its_tasks_the_grace_and_leaves_the_rest_unfinished() -> None:
    async def soon(task: TaskDescription, progress: Progress) -> None:
        await asyncio.sleep(0.02)

    stage = Stage({"a": soon}, {"a": 100}, capacity=5)
    running = asyncio.create_task(stage.orchestration.run())
    await asyncio.sleep(0.01)
    stage.orchestration.stop()
    assert await running is RunState.INTERRUPTED
    assert stage.record.outcomes("a") == [Outcome.PASSED] * 5
    assert stage.record.rest == {}
    assert stage.record.states[1][-1] is RequestState.PENDING


async def test_a_stopped_run_does_not_wait_longer_than_the_grace() -> None:
    stage = Stage({"a": hang}, {"a": 100})
    running = asyncio.create_task(stage.orchestration.run())
    await asyncio.sleep(0.01)
    stage.orchestration.stop()
    async with asyncio.timeout(1):
        assert await running is RunState.INTERRUPTED
    assert stage.record.finished == [], "what was cut off is not recorded, so that resume runs it again"


async def test_draining_finishes_what_is_in_flight_and_cancels_the_rest() -> None:
    async def soon(task: TaskDescription, progress: Progress) -> None:
        await asyncio.sleep(0.02)

    stage = Stage({"a": soon}, {"a": 20}, capacity=4)
    running = asyncio.create_task(stage.orchestration.run())
    await asyncio.sleep(0.01)
    stage.orchestration.cancel_run("enough", drain=True)
    assert await running is RunState.CANCELLED
    outcomes = stage.record.outcomes("a")
    assert outcomes.count(Outcome.PASSED) == 4
    assert stage.record.rest == {1: "enough"}


async def test_only_a_bounded_number_of_tasks_is_alive_at_once() -> None:
    stage = Stage({"a": hang}, {"a": 900}, capacity=4)
    running = asyncio.create_task(stage.orchestration.run())
    await asyncio.sleep(0.02)
    assert len(stage.feeds[0].live) <= 2 * 4 + 16
    stage.orchestration.cancel_run("enough")
    await running
