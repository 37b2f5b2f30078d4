"""A run whose tasks are still being written: what is asked of it, and how it is finished later."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.player import answer, play
from tests.support.product import Product
from tui_eval.engine import planning, planning_watch
from tui_eval.engine.execution import Ended, Listener, execute_job
from tui_eval.errors import UsageError
from tui_eval.jobs import Job
from tui_eval.store.command_box import give, wait_taken
from tui_eval.store.records import NewTask, RunState
from tui_eval.store.writer import HistoryWriter

CASES = 60


def plan_of(url: str) -> dict[str, Any]:
    return {
        "version": 1,
        "name": "planning",
        "task_concurrency": 8,
        "requests": [
            {
                "name": name,
                "dataset": {"cases": [{"id": f"c{number}", "q": "x"} for number in range(CASES)]},
                "solution": {"type": "http", "url": f"{url}/", "body": "{{ q }}", "output_extractor": "text"},
                "evaluators": [{"id": "contains", "expected": "yes"}],
            }
            for name in ("one", "two")
        ],
    }


@pytest.fixture
def asks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Commands that a viewer gives once the first tasks are written; those that were given are taken out."""
    waiting: list[tuple[str, dict[str, Any]]] = []
    add_tasks = HistoryWriter.add_tasks

    async def add_and_ask(writer: HistoryWriter, tasks: Sequence[NewTask]) -> None:
        await add_tasks(writer, tasks)
        while waiting:
            kind, arguments = waiting.pop(0)
            give(writer.path, "it", kind, arguments, "ada@here")

    monkeypatch.setattr(HistoryWriter, "add_tasks", add_and_ask)
    monkeypatch.setattr(planning, "BATCH", 10)
    monkeypatch.setattr(planning_watch, "LOOK_SECONDS", 0)
    return waiting


class Heard(Listener):
    def __init__(self) -> None:
        self.words: list[str] = []

    def begun(self, run: Any, requests: Any) -> None:
        self.words.append("begun")

    def ended(self) -> None:
        self.words.append("ended")


async def test_a_run_that_is_cancelled_while_it_is_planned_calls_nobody_and_is_finished_by_a_resume(
    product: Product, asks: list[tuple[str, dict[str, Any]]]
) -> None:
    asks += [("pause", {}), ("cancel_run", {})]
    async with play({"paths": {"/": answer('{"text": "yes"}')}}) as server:
        heard = Heard()
        ended = await execute_job(
            Job("launch", str(product.history), "it", plan=plan_of(server.base_url)), listener=heard
        )
        assert ended.run.state is RunState.CANCELLED
        assert ended.exit_status == 1
        assert heard.words == ["begun", "ended"]
        assert not server.requests
        assert Counter(product.outcomes("it").values()) == {"cancelled": 10}
        told = product.run("show", "it").stdout
        assert "cancelled by ada@here while its tasks were being written, 10 of them" in told
        assert "tui-eval resume it" in told
        said = [row[0] for row in product.query("SELECT answer FROM commands ORDER BY id")]
        assert said == ["the run is being stopped", "cancelling the run"]
        again = await execute_job(Job("resume", str(product.history), "it"))
        assert again.run.state is RunState.COMPLETED
        assert len(server.requests) == 2 * CASES
        assert Counter(product.outcomes("it").values()) == {"passed": 2 * CASES}


async def test_an_interrupt_ends_the_check_of_a_large_dataset_where_it_is(product: Product, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("".join(f'{{"id": "c{n}", "q": "{"x" * 500}"}}\n' for n in range(5_000)))
    plan = plan_of("http://127.0.0.1:9")
    plan["requests"] = [{**plan["requests"][0], "dataset": {"path": "a.jsonl"}}]
    heard: list[tuple[str, int, int]] = []

    class Interrupting(Listener):
        def preparing(self, what: str, done: int, total: int) -> None:
            heard.append((what, done, total))
            task = asyncio.current_task()
            assert task is not None
            task.cancel()  # as asyncio.run does at Ctrl-C

    job = Job("launch", str(product.history), "it", plan=plan, folder=str(tmp_path))
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(execute_job(job, listener=Interrupting()))
    ((what, done, total),) = heard
    assert (what, total) == ("checking a.jsonl", (tmp_path / "a.jsonl").stat().st_size)
    assert 0 < done < total


async def test_a_resume_can_be_cancelled_while_it_writes_the_rest(
    product: Product, asks: list[tuple[str, dict[str, Any]]]
) -> None:
    async with play({"paths": {"/": answer('{"text": "yes"}')}}) as server:
        for written in (10, 20):
            asks.append(("cancel_run", {}))
            job = Job(
                "launch" if written == 10 else "resume", str(product.history), "it", plan=plan_of(server.base_url)
            )
            assert (await execute_job(job)).run.state is RunState.CANCELLED
            assert len(product.outcomes("it")) == written
        ended = await execute_job(Job("resume", str(product.history), "it"))
        assert (ended.run.state, len(server.requests)) == (RunState.COMPLETED, 2 * CASES)


async def test_a_rerun_that_is_cancelled_while_it_is_planned_is_asked_for_again(
    product: Product, asks: list[tuple[str, dict[str, Any]]]
) -> None:
    async with play({"paths": {"/": answer('{"text": "no"}')}}) as server:
        await execute_job(Job("launch", str(product.history), "first", plan=plan_of(server.base_url)))
        asks.append(("cancel_run", {}))
        selection = {"failed": True}
        job = Job("rerun", str(product.history), "it", parent="first", selection=selection, stored_cases=True)
        ended: Ended = await execute_job(job)
        assert (ended.run.state, len(server.requests)) == (RunState.CANCELLED, 2 * CASES)
        assert "the same re-run again" in ended.run.warnings[-1]
        with pytest.raises(UsageError, match="run the same re-run again"):
            await execute_job(Job("resume", str(product.history), "it"))


async def test_what_else_is_asked_while_it_is_planned_is_done_when_it_runs(
    product: Product, asks: list[tuple[str, dict[str, Any]]]
) -> None:
    asks.append(("set_concurrency", {"value": 3}))
    async with play({"paths": {"/": answer('{"text": "yes"}')}}) as server:
        ended = await execute_job(Job("launch", str(product.history), "it", plan=plan_of(server.base_url)))
    assert ended.run.state is RunState.COMPLETED
    assert product.query("SELECT task_concurrency FROM runs") == [(3,)]
    assert product.query("SELECT answer FROM commands") == [("task_concurrency is 3",)]


@pytest.mark.long
def test_a_cancel_is_obeyed_within_a_second_while_a_large_dataset_is_planned(product: Product, tmp_path: Path) -> None:
    with (tmp_path / "rows.jsonl").open("w") as rows:
        rows.writelines(f'{{"id": "c{number}", "q": "what is {number}?"}}\n' for number in range(300_000))
    plan = plan_of("http://127.0.0.1:9")
    plan["requests"] = [{**plan["requests"][0], "dataset": {"path": str(tmp_path / "rows.jsonl")}}]
    job = Job("launch", str(product.history), "it", plan=plan)

    async def cancelled() -> float:
        running = asyncio.create_task(asyncio.to_thread(asyncio.run, execute_job(job)))
        await asyncio.to_thread(product.wait_for, "SELECT 1 FROM requests WHERE total > 20000", seconds=240)
        started = time.monotonic()
        command = give(product.history, "it", "cancel_run", {}, "me")
        said = await asyncio.to_thread(wait_taken, product.history, command, 60)
        took = time.monotonic() - started
        assert said == "cancelling the run"
        assert (await running).run.state is RunState.CANCELLED
        return took

    assert asyncio.run(cancelled()) < 1.0
