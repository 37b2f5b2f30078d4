"""Whole runs of the product: killed, without the platform, with a slow one. What counts is what the platform has then."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.platforms.agentloop.conftest import kill_reporters
from tests.platforms.agentloop.fake import Answer, Asked, FakePlatform, platform
from tests.platforms.agentloop.plans import plan_text
from tests.support.product import Product


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


def forbidden(asked: Asked) -> Answer | None:
    return (403, {"errorCode": "Unauthorized"}) if asked.op == "PutLogs" else None


def slow_logs(asked: Asked) -> Answer | None:
    time.sleep(2.0 if asked.op == "PutLogs" else 0)
    return None


@pytest.mark.parametrize("trouble", [down, forbidden, slow_logs])
def test_a_platform_in_trouble_costs_the_run_no_time(
    product: Product, trouble: Callable[[Asked], Answer | None]
) -> None:
    with platform(200) as fake:
        fake.agent_seconds = 0.02
        product.run("run", written(product, fake, section="report: false"), "--progress", "none")
        alone = took(product)
        fake.intercept = trouble
        ended = product.run("run", written(product, fake), "--progress", "none")
        assert "200 total" in ended.stdout
        # The machine that tests run on is shared: a tenth is measured by hand, here the order of magnitude counts.
        assert took(product) < alone * 1.5 + 0.5
        fake.intercept = None
        product.json("agentloop", "sync", "last", "--settle", "1", "--scores", "0")
        assert each_once(fake), (len(fake.details()), fake.twice())
