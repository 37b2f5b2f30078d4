"""Runs that take up earlier ones: resume (the same run) and re-run (a new one)."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.store.records import attempt, finished, new_tasks, planned, reading, request_record, run_record
from tui_eval.domain import Outcome, Score
from tui_eval.errors import HistoryError, UsageError
from tui_eval.store.liveness import this_runner
from tui_eval.store.opening import check_integrity
from tui_eval.store.records import Activity, RunState
from tui_eval.store.upkeep import delete_run
from tui_eval.store.writer import HistoryWriter, TakeOver

RUN_ID = "20310405-120000-aaaa"


def lose_the_runner(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE runs SET pid_started = pid_started || '0'")


async def test_a_run_whose_runner_is_gone_is_taken_up_where_it_stood(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        run, request = await planned(writer, 4)
        writer.finished(finished(1, request))
        writer.finished(finished(2, request, Outcome.CANCELLED, attempts=[attempt(None, error_kind="cancelled")]))
        writer.activity(run.id, [Activity(3, "calling", 1.0, 1)])
        writer.in_flight(request, 1, 0)
        await writer.flush()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE requests SET passed = 77, attempts = 5")  # the tasks know better
        lose_the_runner(path)
    async with await HistoryWriter.open(path) as writer:
        run = await writer.adopt(RUN_ID)
        assert (run.state, run.pid) == (RunState.RUNNING, this_runner().pid)
        counters = writer.counters(request)
        assert (counters.passed, counters.cancelled, counters.running, counters.attempts) == (1, 1, 0, 2)
        assert await writer.requeue(run.id) == 1
        with reading(path) as history:
            assert history.activity(run) == []
            queued = history.queued(request)
            assert [(one.id, one.attempts) for one in queued] == [(2, 1), (3, 0), (4, 0)]
        writer.finished(finished(2, request, attempts=[attempt("now", 2)]))
        await writer.flush()
        with reading(path) as history:
            assert [one.number for one in history.attempts(2)] == [1, 2]
            assert history.task(2).attempts == 2
            assert history.requests(run)[0].counters == writer.counters(request)
    assert check_integrity(path) == []


async def test_a_run_with_a_living_runner_is_not_taken_up(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer, await HistoryWriter.open(path) as other:
        await planned(writer, 1)
        with pytest.raises(HistoryError, match=f"being executed by process {this_runner().pid}"):
            await other.adopt(RUN_ID)
        with pytest.raises(UsageError, match="no run"):
            await other.adopt("unknown")


async def test_a_stale_heartbeat_does_not_give_a_living_runner_away(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer, await HistoryWriter.open(path) as other:
        await planned(writer, 1)
        writer.heartbeat(1.0)
        await writer.flush()
        with pytest.raises(HistoryError, match="being executed"):
            await other.adopt(RUN_ID)


async def test_of_two_that_take_a_run_up_at_once_one_gets_it(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        await planned(writer, 1)
    lose_the_runner(path)
    writers = [await HistoryWriter.open(path) for _ in range(4)]
    results = await asyncio.gather(*(writer.adopt(RUN_ID) for writer in writers), return_exceptions=True)
    for writer in writers:
        await writer.aclose()
    assert sum(not isinstance(result, BaseException) for result in results) == 1


async def test_commands_to_a_lost_runner_are_answered(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        run, _ = await planned(writer, 1)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("INSERT INTO commands (run, kind, given_at) VALUES (1, 'pause', 1.0)")
    lose_the_runner(path)
    async with await HistoryWriter.open(path) as writer:
        await writer.adopt(RUN_ID)
        assert await writer.commands(run.id) == []
    with reading(path) as history:
        assert history.commands(run)[0].answer == "the runner was gone"


async def rerun(path: Path, items: list[TakeOver], **changes: Any) -> tuple[int, int]:
    """A second run that takes ``items`` over; its key and its request's."""
    async with await HistoryWriter.open(path) as writer:
        run = run_record("20310406-120000-bbbb", origin="rerun", parent_run_id=RUN_ID, **changes)
        await writer.create_run(run)
        request = request_record(run.id)
        await writer.add_requests([request])
        await writer.take_over(run.id, request.id, items)
        with reading(path) as history:
            assert writer.counters(request.id) == history.requests(run.id)[0].counters
        return run.id, request.id


async def first_run(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        run, request = await planned(writer, 4)
        writer.finished(finished(1, request))
        writer.finished(
            finished(2, request, Outcome.FAILED, attempts=[attempt(None, 1, error_kind="e"), attempt("b", 2)])
        )
        unscored = [Score("judge", None, None, "", "outage")]
        bad = attempt(None, 1, error_kind="http_status")
        writer.finished(finished(3, request, Outcome.UNSCORED, attempts=[bad, attempt("c", 2)], scores=unscored))
        writer.finished(finished(4, request, Outcome.ERROR, attempts=[attempt(None, error_kind="x")], scores=[]))
        await writer.set_run_state(run.id, RunState.COMPLETED)


async def test_a_reused_task_keeps_everything_even_when_the_old_run_is_deleted(path: Path) -> None:
    await first_run(path)
    with reading(path) as history:
        old = [(history.attempts(task, True), history.scores(task)) for task in (1, 2, 4)]
        before = history.tasks(1)
    run, request = await rerun(path, [TakeOver(task, position) for position, task in enumerate((1, 2, 4))])
    with reading(path) as history:
        assert history.tasks(1) == before
    delete_run(path, RUN_ID)
    assert check_integrity(path) == []
    with reading(path) as history:
        tasks = history.tasks(run)
        assert [task.outcome.value for task in tasks] == ["passed", "failed", "error"]
        assert {task.reused_from for task in tasks} == {RUN_ID}
        assert [task.fingerprint for task in tasks] == ["f0", "f1", "f3"]
        for task, (attempts, scores) in zip(tasks, old, strict=True):
            found = history.attempts(task.id, True)
            assert [(one.number, one.error_kind, one.payload) for one in found] == [
                (one.number, one.error_kind, one.payload) for one in attempts
            ]
            assert history.scores(task.id) == scores
            assert history.case(task.case_key)["n"] == int(task.case_id[1:])
        counters = history.requests(run)[0].counters
        assert (counters.total, counters.reused, counters.attempts, counters.latency_count) == (3, 3, 0, 0)
        assert history.children(RUN_ID)[0].id == run
        assert history.requests(run)[0].id == request


async def test_a_task_reused_twice_names_the_run_whose_calls_they_were(path: Path) -> None:
    await first_run(path)
    await rerun(path, [TakeOver(1, 0)])
    async with await HistoryWriter.open(path) as writer:
        third = run_record("third")
        await writer.create_run(third)
        request = request_record(third.id)
        await writer.add_requests([request])
        await writer.take_over(third.id, request.id, [TakeOver(5, 0), TakeOver(2, 1, reused_from="named")])
    with reading(path) as history:
        assert [task.reused_from for task in history.tasks(third)] == [RUN_ID, "named"]


async def test_an_answer_can_be_judged_again_without_calling_the_agent(path: Path) -> None:
    await first_run(path)
    changed = {"question": "What is 2?", "n": 2, "answer": "two"}
    item = TakeOver(3, 0, "score", keep_outcome=False, case_input=changed, line=9, evaluation_fingerprint="new")
    run, request = await rerun(path, [item])
    with reading(path) as history:
        (queued,) = history.queued(request)
        assert queued.case_input == changed
        assert queued.answer is not None
        assert queued.answer.answer == {"output": "c"}
        task = history.task(queued.id)
        assert task is not None
        assert queued.latency == 0.25
        assert (task.work, task.line, task.evaluation_fingerprint, task.fingerprint) == ("score", 9, "new", "f2")
        assert (task.reused_from, task.latency, task.attempts, task.score) == (None, 0.25, 1, None)
        assert history.scores(task.id) == []
        assert history.requests(run)[0].counters.queued == 1
    async with await HistoryWriter.open(path) as writer:
        lose_the_runner(path)
        await writer.adopt("20310406-120000-bbbb")
        writer.finished(finished(task.id, request, attempts=[], output="", trace_id="", cost=None, latency=0.25))
        await writer.flush()
        counters = writer.counters(request)
        assert (counters.passed, counters.attempts, counters.input_tokens, counters.latency_count) == (1, 0, 0, 0)
    with reading(path) as history:
        done = history.task(task.id)
        assert (done.outcome, done.output, done.latency, done.attempts) == (Outcome.PASSED, "hello", 0.25, 1)
        assert history.requests(run)[0].counters == counters
        assert [one.payload for one in history.attempts(task.id, True)] == [attempt("c").payload]
    assert check_integrity(path) == []


async def test_what_cannot_be_taken_over_is_told_and_nothing_is_written(path: Path) -> None:
    await first_run(path)
    for item, word in (
        (TakeOver(99, 0), "no longer"),
        (TakeOver(4, 0, "score", keep_outcome=False), "no stored answer"),
    ):
        with pytest.raises(HistoryError, match=word):
            await rerun(path, [TakeOver(1, 1), item])
        with reading(path) as history:
            (run,) = history.children(RUN_ID)
            assert history.tasks(run) == []
        delete_run_of_a_lost_runner(path, run.run_id)
    assert check_integrity(path) == []


def delete_run_of_a_lost_runner(path: Path, run_id: str) -> None:
    lose_the_runner(path)
    delete_run(path, run_id)


async def test_many_tasks_are_taken_over_in_order(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        run, request = await planned(writer, 2500)
        for number in range(2500):
            writer.finished(finished(number + 1, request))
        await writer.set_run_state(run.id, RunState.COMPLETED)
    run_key, _ = await rerun(path, [TakeOver(number + 1, number) for number in range(2500)])
    with reading(path) as history:
        assert [task.case_id for task in history.iter_tasks(run_key)] == [f"c{number}" for number in range(2500)]
        assert history.requests(run_key)[0].counters.reused == 2500
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM payloads").fetchone() == (2500,)  # shared, not copied
    assert new_tasks(1, 1)[0].case_id == "c0"
