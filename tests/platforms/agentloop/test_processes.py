"""Whole runs of the product: killed, without the platform, with a slow one. What counts is what the platform has then."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.platforms.agentloop.conftest import kill_reporters
from tests.platforms.agentloop.fake import Answer, Asked, FakePlatform, platform
from tests.platforms.agentloop.plans import plan_text
from tests.support.product import Product

PAIRS, PAIRS_AT_MOST = 3, 13


def wait_for(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.02)


def each_once(fake: FakePlatform) -> bool:
    return fake.twice() == [] and sorted(log["dataset.id"] for log in fake.details()) == [
        row["id"] for row in fake.rows
    ]


def written(product: Product, fake: FakePlatform, **options: Any) -> str:
    return str(product.write_plan(plan_text(fake, **options)))


def test_a_run_reports_by_itself_and_show_says_so(product: Product, fake: FakePlatform) -> None:
    fake.judges = True
    ended = product.run("run", written(product, fake), "--progress", "none")
    assert "agentloop: agent: record rec-0000" in ended.stdout
    wait_for(lambda: fake.ops("GetEvaluationTask"))
    synced = product.json("agentloop", "sync", "last")
    assert (synced[0]["reported"], synced[0]["status"], synced[0]["evaluation"]["scored"]) == (4, "completed", 4)
    assert each_once(fake)
    shown = product.run("show", "last")
    assert "4 of 4 results reported, completed; platform's scores of 4" in shown.stdout
    trace = fake.details()[0]["traceId"]
    assert product.query("SELECT count(*) FROM tasks WHERE trace_id = ?", trace) == [(1,)]


def test_a_runner_killed_while_it_reports_loses_nothing_and_repeats_nothing(product: Product) -> None:
    with platform(60) as fake:
        fake.agent_seconds = 0.02

        def slow(asked: Asked) -> Answer | None:
            time.sleep(0.3 if asked.op == "PutLogs" else 0)
            return None

        fake.after = slow
        plan = written(product, fake, concurrency=2)
        with product.start("run", plan, "--progress", "none") as runner:
            wait_for(lambda: fake.ops("PutLogs"))
            kill_reporters(product)
            os.kill(runner.pid, signal.SIGKILL)
        run_id = product.query("SELECT run_id FROM runs")[0][0]
        product.run("resume", run_id, "--progress", "none")
        synced = product.json("agentloop", "sync", run_id, "--settle", "1", "--scores", "0")
        assert each_once(fake), (len(fake.details()), fake.twice())
        assert synced[0]["status"] == "completed"
        assert list(fake.records) == ["rec-0000"]


def test_sync_closes_the_record_of_a_run_that_nobody_resumes(product: Product) -> None:
    with platform(200) as fake:
        fake.agent_seconds = 0.05
        with product.start("run", written(product, fake, concurrency=2), "--progress", "none") as runner:
            wait_for(lambda: len(fake.ops("agent")) > 6)
            os.kill(runner.pid, signal.SIGKILL)
        synced = product.json("agentloop", "sync", "last", "--settle", "1", "--scores", "0")
        assert synced[0]["status"] == "cancelled"
        assert fake.status_of("rec-0000") == "cancelled"
        assert synced[0]["reported"] == len(fake.details()) > 0
        assert fake.twice() == []


def took(product: Product) -> float:
    """Seconds from the first task's start to the run's end."""
    ((seconds,),) = product.query(
        "SELECT finished_at - (SELECT min(started_at) FROM tasks WHERE tasks.run = runs.id) FROM runs ORDER BY id DESC LIMIT 1"
    )
    return float(seconds)


def down(asked: Asked) -> Answer | None:
    return (0, None) if asked.op in ("PutLogs", "UpdateExperimentRun", "CreateExperimentRun") else None


def broken(asked: Asked) -> Answer | None:
    return (500, {"errorCode": "InternalServerError"}) if asked.op in ("PutLogs", "UpdateExperimentRun") else None


def forbidden(asked: Asked) -> Answer | None:
    return (403, {"errorCode": "Unauthorized"}) if asked.op == "PutLogs" else None


def slow_logs(asked: Asked) -> Answer | None:
    time.sleep(5.0 if asked.op == "PutLogs" else 0)
    return None


@pytest.mark.parametrize("trouble", [down, broken, forbidden, slow_logs])
def test_no_call_of_a_platform_in_trouble_lies_on_the_way_of_a_task(
    product: Product, trouble: Callable[[Asked], Answer | None]
) -> None:
    """While tasks run, it is another process that calls the platform: whatever that one meets, they do not wait for it."""
    callers: list[str] = []
    first_call = threading.Event()
    with platform(60) as fake:

        def noted(asked: Asked) -> Answer | None:
            begun = len(fake.ops("agent"))
            if asked.op == "agent":
                if begun > 20:  # the rest of the run has the reporter at its side
                    first_call.wait(60)
                return None
            if 0 < begun < 60:
                callers.append(command_from(asked.port))
                first_call.set()
            return trouble(asked)

        fake.intercept = noted
        ended = product.run("run", written(product, fake), "--progress", "none")
        assert "60 total" in ended.stdout
        assert callers
        assert all("agentloop.reporter" in command for command in callers), callers
        fake.intercept = None
        product.json("agentloop", "sync", "last", "--settle", "1", "--scores", "0")
        assert each_once(fake), (len(fake.details()), fake.twice())


def command_from(port: int) -> str:
    """The command of the process whose connection comes from this port of 127.0.0.1."""
    table = Path("/proc/net/tcp").read_text().splitlines()
    inode = next(line.split()[9] for line in table if f" 0100007F:{port:04X} 0100007F:" in line)
    for process in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            folder = Path("/proc", process)
            if any(os.readlink(folder / "fd" / name) == f"socket:[{inode}]" for name in os.listdir(folder / "fd")):
                return (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return "a process that is gone"


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("trouble", [broken, forbidden, slow_logs])
def test_a_platform_in_trouble_costs_the_run_no_time(
    product: Product, trouble: Callable[[Asked], Answer | None]
) -> None:
    """200 tasks of an agent of 20 ms take what they take without a platform, within a tenth.

    Pairs, one after the other, and the median of their ratios: what else the machine does meets both runs of a pair. As
    many pairs as it takes until the median is small enough; a tenth that is really lost stays above it for all of them.
    """
    ratios: list[float] = []
    with platform(200) as fake:
        fake.agent_seconds = 0.02
        while len(ratios) < PAIRS or (median(ratios) > 1.1 and len(ratios) < PAIRS_AT_MOST):
            fake.intercept = None
            product.run("run", written(product, fake, section="report: false", concurrency=1), "--progress", "none")
            alone = took(product)
            fake.intercept = trouble
            product.run("run", written(product, fake, concurrency=1), "--progress", "none")
            ratios.append(took(product) / alone)
            kill_reporters(product)
        assert median(ratios) <= 1.1, ratios
        fake.intercept = None
        # What a killed reporter had sent arrives as late as the log is slow: only then can the platform be asked for it.
        product.json("agentloop", "sync", "--settle", "7", "--scores", "0")
        for record in fake.records:
            reported = sorted(log["dataset.id"] for log in fake.details(record))
            assert reported == [row["id"] for row in fake.rows]
        assert fake.twice() == []
