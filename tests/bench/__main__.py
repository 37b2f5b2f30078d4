"""``python -m tests.bench [--quick]``: the product beside a bare loop on the same transport, in turn.

Ends with status 1 when a target is missed. Absolute times depend on the machine; the ratios are what counts.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench.first_request import cpu_to_first_request
from tests.bench.measure import agent, bare_loop, product

CONCURRENCY = 64


def cpu_ratio(folder: Path, url: str, rounds: int, tasks: int) -> float:
    """CPU a task of the product over that of the bare loop, starts left out: what a longer run costs more."""
    few = tasks // 10
    ratios = []
    for _ in range(rounds):
        whole = product(folder, f"{url}/json?ms=20", tasks, CONCURRENCY).figures.cpu
        start = product(folder, f"{url}/json?ms=20", few, CONCURRENCY).figures.cpu
        bare_whole = bare_loop(f"{url}/json?ms=20", tasks, CONCURRENCY).cpu
        bare_start = bare_loop(f"{url}/json?ms=20", few, CONCURRENCY).cpu
        ours = (whole - start) / (tasks - few)
        bare = (bare_whole - bare_start) / (tasks - few)
        print(f"  CPU a task: {ours * 1e3:.2f} ms, bare loop {bare * 1e3:.2f} ms, ratio {ours / bare:.2f}", flush=True)
        ratios.append(ours / bare)
    return statistics.median(ratios)


def throughput(folder: Path, url: str, rounds: int, tasks: int) -> float:
    """Share of the ideal rate (concurrency over latency) from the run's start to its end."""
    shares = []
    for _ in range(rounds):
        ideal = tasks * 0.2 / CONCURRENCY
        ours = product(folder, f"{url}/json?ms=200", tasks, CONCURRENCY).seconds
        bare = bare_loop(f"{url}/json?ms=200", tasks, CONCURRENCY).wall
        print(
            f"  {tasks} tasks of 200 ms: {ours:.2f} s of ideally {ideal:.2f} s; bare loop with start {bare:.2f} s",
            flush=True,
        )
        shares.append(ideal / ours)
    return statistics.median(shares)


def memory_ratio(folder: Path, url: str) -> float:
    """Peak memory at 20,000 tasks over that at 2,000."""
    few = product(folder, f"{url}/json", 2_000, CONCURRENCY).figures.peak_mb
    many = product(folder, f"{url}/json", 20_000, CONCURRENCY).figures.peak_mb
    print(f"  peak memory: {few:.0f} MB at 2,000 tasks, {many:.0f} MB at 20,000", flush=True)
    return many / few


def first_request(rounds: int) -> float:
    seconds = [cpu_to_first_request() for _ in range(rounds)]
    print("  CPU to the first request: " + ", ".join(f"{value:.2f} s" for value in seconds), flush=True)
    return statistics.median(seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="Fewer rounds, smaller runs.")
    parser.add_argument("--only", choices=["cpu", "throughput", "memory", "start"], help="One measurement.")
    options = parser.parse_args()
    rounds, tasks = (3, 2_000) if options.quick else (5, 6_000)
    turns = 7  # a neighbour on the machine spoils one turn or two, not the median of seven
    missed = 0
    with tempfile.TemporaryDirectory() as temporary, agent() as url:
        folder = Path(temporary)
        measurements: dict[str, tuple[str, Callable[[], float], Callable[[float], bool]]] = {
            "start": (
                "CPU from start to the first request, at most 0.9 s",
                lambda: first_request(5),
                lambda x: x <= 0.9,
            ),
            "cpu": (
                "CPU a task over the bare loop's at 64 x 20 ms, at most 1.6",
                lambda: cpu_ratio(folder, url, turns, tasks),
                lambda x: x <= 1.6,
            ),
            "throughput": (
                "share of the ideal throughput at 64 x 200 ms, at least 0.85",
                lambda: throughput(folder, url, rounds, 64 * 30),
                lambda x: x >= 0.85,
            ),
            "memory": (
                "peak memory at 20,000 tasks over that at 2,000, at most 1.3",
                lambda: memory_ratio(folder, url),
                lambda x: x <= 1.3,
            ),
        }
        for key, (text, measure, good) in measurements.items():
            if options.only not in (None, key):
                continue
            print(text)
            value = measure()
            print(f"{'ok    ' if good(value) else 'MISSED'} {value:.2f}  {text}", flush=True)
            missed += not good(value)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
