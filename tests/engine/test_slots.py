"""Slots are shared fairly, hosts keep their limits, and nothing is lost when a waiter is cancelled."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import pairwise

from tui_eval.engine.slots import Slots


async def test_no_more_tasks_run_than_there_are_slots() -> None:
    slots = Slots(3)
    lane = slots.lane("a")
    running = peak = 0

    async def work() -> None:
        nonlocal running, peak
        async with slots.slot(lane):
            running += 1
            peak = max(peak, running)
            await asyncio.sleep(0.001)
            running -= 1

    await asyncio.gather(*(work() for _ in range(20)))
    assert peak == 3
    assert lane.running == 0


async def test_a_request_that_came_first_does_not_hold_the_others() -> None:
    slots = Slots(4)
    slow, quick = slots.lane("slow"), slots.lane("quick")
    release = asyncio.Event()
    done: Counter[str] = Counter()

    async def hang() -> None:
        async with slots.slot(slow):
            await release.wait()

    async def hop() -> None:
        async with slots.slot(quick):
            await asyncio.sleep(0)
            done["quick"] += 1

    hanging = [asyncio.create_task(hang()) for _ in range(50)]
    await asyncio.sleep(0)
    quick_ones = [asyncio.create_task(hop()) for _ in range(30)]
    await asyncio.sleep(0.01)
    assert slow.running == 4, "with nobody else waiting the first lane may use every slot"
    hanging[0].cancel()
    async with asyncio.timeout(1):
        await asyncio.gather(*quick_ones)
    assert done["quick"] == 30
    release.set()
    await asyncio.gather(*hanging, return_exceptions=True)


async def test_a_host_never_has_more_calls_than_its_limit() -> None:
    slots = Slots(10, limits={"a.example": 2})
    lane = slots.lane("x")
    in_flight: Counter[str] = Counter()
    peak: Counter[str] = Counter()

    async def call(host: str) -> None:
        async with slots.slot(lane, host=host):
            in_flight[host] += 1
            peak[host] = max(peak[host], in_flight[host])
            await asyncio.sleep(0.001)
            in_flight[host] -= 1

    await asyncio.gather(*(call(host) for host in ["a.example", "b.example"] * 12))
    assert peak["a.example"] == 2
    assert peak["b.example"] > 2, "a limit of one host must not hold another"


async def test_a_limit_for_a_host_counts_for_its_ports_too() -> None:
    slots = Slots(10, limits={"127.0.0.1": 1})
    lane = slots.lane("x")
    async with slots.slot(lane, host="127.0.0.1:8080"):
        waiter = asyncio.create_task(_hold(slots, lane, "127.0.0.1:8080"))
        await asyncio.sleep(0.01)
        assert not waiter.done()
    await waiter


async def test_calls_to_a_host_start_no_closer_than_its_rate() -> None:
    slots = Slots(10, qps={"h": 100})
    lane = slots.lane("x")
    starts: list[float] = []

    async def call() -> None:
        async with slots.slot(lane, host="h"):
            starts.append(asyncio.get_running_loop().time())

    await asyncio.gather(*(call() for _ in range(6)))
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert min(gaps) > 0.005
    assert starts[-1] - starts[0] >= 0.045


async def test_a_host_that_asked_to_wait_gets_no_call_before_then_and_others_do() -> None:
    slots = Slots(2)
    lane = slots.lane("x")
    loop = asyncio.get_running_loop()
    opens = loop.time() + 0.05
    slots.close_host("busy", opens)
    waiting = asyncio.create_task(_hold(slots, lane, "busy"))
    async with asyncio.timeout(0.04):
        await _hold(slots, lane, "free")
    await waiting
    assert loop.time() >= opens


async def test_a_cancelled_waiter_takes_no_slot_with_it() -> None:
    slots = Slots(1)
    lane = slots.lane("x")
    async with slots.slot(lane, host="h"):
        waiters = [asyncio.create_task(_hold(slots, lane, "h")) for _ in range(3)]
        await asyncio.sleep(0)
        waiters[0].cancel()
        await asyncio.sleep(0)
    waiters[1].cancel()  # it was granted the slot in this very step, and had no chance to use it
    async with asyncio.timeout(1):
        await waiters[2]
    assert lane.running == 0
    assert not lane.waiting


async def test_pausing_starts_nothing_new_and_resuming_goes_on() -> None:
    slots = Slots(2)
    lane = slots.lane("x")
    slots.paused = True
    waiter = asyncio.create_task(_hold(slots, lane, None))
    await asyncio.sleep(0.01)
    assert not waiter.done()
    slots.paused = False
    async with asyncio.timeout(1):
        await waiter


async def test_more_slots_are_used_at_once_when_they_are_given() -> None:
    slots = Slots(1)
    lane = slots.lane("x")
    release = asyncio.Event()

    async def hold() -> None:
        async with slots.slot(lane):
            await release.wait()

    holders = [asyncio.create_task(hold()) for _ in range(5)]
    await asyncio.sleep(0.01)
    assert lane.running == 1
    slots.capacity = 4
    await asyncio.sleep(0.01)
    assert lane.running == 4
    release.set()
    await asyncio.gather(*holders)


async def test_a_judge_on_the_agents_own_host_cannot_block_itself() -> None:
    slots = Slots(2, limits={"h": 1})
    lane = slots.lane("x")

    async def call_then_judge() -> None:
        async with slots.slot(lane, host="h") as place:
            await asyncio.sleep(0)
            place.release_host()
            async with slots.place_at("h"):
                await asyncio.sleep(0)

    async with asyncio.timeout(2):
        await asyncio.gather(*(call_then_judge() for _ in range(20)))


async def _hold(slots: Slots, lane, host: str | None) -> None:  # type: ignore[no-untyped-def]
    async with slots.slot(lane, host=host):
        await asyncio.sleep(0)


async def test_cancelling_all_waiters_at_once_breaks_nobody() -> None:
    slots = Slots(2)
    lane = slots.lane("x")

    async def hang() -> None:
        async with slots.slot(lane, host="h"):
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(hang()) for _ in range(20)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(end, asyncio.CancelledError) for end in ends)
    assert lane.running == 0
    assert not lane.waiting
