"""Who may run next: one shared number of slots, fair between requests, with limits a host.

A *lane* is one request. A free slot goes to the lane with the fewest slots among those that have someone waiting
whose host admits a call, so that a slow request can never hold the others; within a lane first come, first served.
A host admits a call when it is below its limit, its spacing (1/qps) has passed, and it did not ask us to wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

Setting = TypeVar("Setting", int, float)


@dataclass(slots=True)
class HostGate:
    """What one host allows. Times are of the event loop's clock, in seconds."""

    limit: int | None = None
    spacing: float = 0.0
    in_flight: int = 0
    next_start: float = 0.0
    closed_until: float = 0.0

    def opens_at(self, now: float) -> float | None:
        """When the next call may start: ``now`` or earlier for at once, None when it takes a call to end first."""
        if self.limit is not None and self.in_flight >= self.limit:
            return None
        return max(self.closed_until, self.next_start)

    def start(self, now: float) -> None:
        self.in_flight += 1
        if self.spacing:
            self.next_start = max(now, self.next_start) + self.spacing


@dataclass(slots=True, eq=False)
class Lane:
    """One request's share: how many of its tasks hold a slot, and who waits for one."""

    name: str
    running: int = 0
    waiting: deque[_Waiter] = field(default_factory=deque)
    turn: int = 0


@dataclass(slots=True, eq=False)
class _Waiter:
    future: asyncio.Future[None]
    host: HostGate | None


class Slots:
    """The slots of one orchestration.

    ``capacity`` (1 or more) may be changed while it runs; ``paused`` hands out nothing new. Must be used from one
    event loop.
    """

    def __init__(
        self, capacity: int, *, limits: Mapping[str, int] | None = None, qps: Mapping[str, float] | None = None
    ) -> None:
        self._capacity = capacity
        self._in_use = 0
        self._paused = False
        self._lanes: list[Lane] = []
        self._hosts: dict[str, HostGate] = {}
        self._limits = dict(limits or {})
        self._qps = dict(qps or {})
        self._host_waiters: deque[_Waiter] = deque()
        self._turn = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    @property
    def capacity(self) -> int:
        return self._capacity

    @capacity.setter
    def capacity(self, value: int) -> None:
        if value < 1:
            raise ValueError("there must be at least one slot")
        self._capacity = value
        self._grant()

    @property
    def paused(self) -> bool:
        return self._paused

    @paused.setter
    def paused(self, value: bool) -> None:
        self._paused = value
        self._grant()

    def lane(self, name: str) -> Lane:
        """A new lane; every request has one of its own."""
        lane = Lane(name)
        self._lanes.append(lane)
        return lane

    def close_host(self, host: str, until: float) -> None:
        """Start no call to ``host`` before ``until`` (event loop time): it asked for that."""
        gate = self._gate(host)
        gate.closed_until = max(gate.closed_until, until)

    async def take(self, lane: Lane, *, first: bool = False, host: str | None = None) -> Hold:
        """Wait for a slot of ``lane`` and a place at ``host``; ``first`` goes before the lane's other waiters. The
        caller must :meth:`~Hold.end` the hold, whatever happens."""
        gate = self._gate(host) if host is not None else None
        waiter = _Waiter(asyncio.get_running_loop().create_future(), gate)
        (lane.waiting.appendleft if first else lane.waiting.append)(waiter)
        self._grant()
        try:
            await waiter.future
        except asyncio.CancelledError:
            if waiter.future.done() and not waiter.future.cancelled():
                Hold(self, lane, gate).end()
            else:
                _take_off(lane.waiting, waiter)
            raise
        return Hold(self, lane, gate)

    @asynccontextmanager
    async def slot(self, lane: Lane, *, first: bool = False, host: str | None = None) -> AsyncIterator[Hold]:
        """:meth:`take` for as long as the block."""
        hold = await self.take(lane, first=first, host=host)
        try:
            yield hold
        finally:
            hold.end()

    @asynccontextmanager
    async def place_at(self, host: str) -> AsyncIterator[None]:
        """Hold a place at ``host`` only (a judge is asked by a task that has its slot already)."""
        gate = self._gate(host)
        waiter = _Waiter(asyncio.get_running_loop().create_future(), gate)
        self._host_waiters.append(waiter)
        self._grant()
        try:
            await waiter.future
        except asyncio.CancelledError:
            if waiter.future.done() and not waiter.future.cancelled():
                self._host_released(gate)
            else:
                _take_off(self._host_waiters, waiter)
            raise
        try:
            yield
        finally:
            self._host_released(gate)

    def _gate(self, host: str) -> HostGate:
        gate = self._hosts.get(host)
        if gate is None:
            rate = self._for_host(self._qps, host)
            gate = HostGate(limit=self._for_host(self._limits, host), spacing=1 / rate if rate else 0.0)
            self._hosts[host] = gate
        return gate

    @staticmethod
    def _for_host(table: Mapping[str, Setting], host: str) -> Setting | None:
        """The setting for ``host:port``, else for the host alone."""
        if host in table:
            return table[host]
        return table.get(host.rpartition(":")[0]) if not host.endswith("]") else None

    def _grant(self) -> None:
        """Hand out what can be handed out now; set a timer when only time is missing."""
        now = asyncio.get_running_loop().time()
        wake: list[float] = []
        while (waiter := self._next_admitted(self._host_waiters, now, wake)) is not None:
            self._start(waiter, now)
        while not self._paused and self._in_use < self._capacity:
            for lane in sorted(self._lanes, key=lambda lane: (lane.running, lane.turn)):
                waiter = self._next_admitted(lane.waiting, now, wake) if lane.waiting else None
                if waiter is not None:
                    break
            else:
                break
            self._turn += 1
            lane.turn = self._turn
            lane.running += 1
            self._in_use += 1
            self._start(waiter, now)
        if wake:
            self._wake_at(min(wake))

    @staticmethod
    def _start(waiter: _Waiter, now: float) -> None:
        if waiter.host is not None:
            waiter.host.start(now)
        waiter.future.set_result(None)

    @staticmethod
    def _next_admitted(waiting: deque[_Waiter], now: float, wake: list[float]) -> _Waiter | None:
        """Take the first waiter whose host admits a call now; note when the others' hosts open."""
        while waiting and waiting[0].future.cancelled():
            waiting.popleft()
        refused: set[int] = set()
        for index, waiter in enumerate(waiting):
            if waiter.future.cancelled():
                continue  # on its way out; it takes itself off the list
            if waiter.host is None:
                del waiting[index]
                return waiter
            if id(waiter.host) in refused:
                continue
            opens = waiter.host.opens_at(now)
            if opens is not None and opens <= now:
                del waiting[index]
                return waiter
            refused.add(id(waiter.host))
            if opens is not None:
                wake.append(opens)
        return None

    def _wake_at(self, when: float) -> None:
        if self._timer is not None:
            if self._timer_at <= when:
                return
            self._timer.cancel()
        self._timer_at = when
        self._timer = asyncio.get_running_loop().call_at(when, self._woken)

    def _woken(self) -> None:
        self._timer = None
        self._grant()

    def _host_released(self, gate: HostGate) -> None:
        gate.in_flight -= 1
        self._grant()

    def _slot_released(self, lane: Lane, gate: HostGate | None) -> None:
        lane.running -= 1
        self._in_use -= 1
        if gate is not None:
            gate.in_flight -= 1
        self._grant()


def _take_off(waiting: deque[_Waiter], waiter: _Waiter) -> None:
    """Remove a cancelled waiter; whoever granted slots meanwhile may have done so already."""
    if waiter in waiting:
        waiting.remove(waiter)


class Hold:
    """A slot, and a place at a host if one was asked for."""

    __slots__ = ("_gate", "_lane", "_slots")

    def __init__(self, slots: Slots, lane: Lane, gate: HostGate | None) -> None:
        self._slots = slots
        self._lane: Lane | None = lane
        self._gate = gate

    def release_host(self) -> None:
        """Give the place at the host back early; a second time does nothing."""
        gate, self._gate = self._gate, None
        if gate is not None:
            self._slots._host_released(gate)

    def end(self) -> None:
        """Give back everything; a second time does nothing."""
        lane, self._lane = self._lane, None
        if lane is not None:
            gate, self._gate = self._gate, None
            self._slots._slot_released(lane, gate)
