"""Tasks found by all of their text: the whole output, patterns, what must not be there, and groups of failures."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.histories import finished_task, many_tasks, run_record, write_run
from tui_eval.domain import Outcome
from tui_eval.store.reader import History, Sought
from tui_eval.store.records import NewTask, RequestRecord, RequestState, RunRecord, RunState
from tui_eval.store.writer import HistoryWriter
from tui_eval.text_query import parse

OUTPUTS = {
    "short": "Paris",
    "long": "x" * 300 + " needle-42 at the end",
    "list": ["x" * 250, {"deep": "haystack"}],
    "nothing": "y" * 400,
}


async def write(path: Path) -> RunRecord:
    """A run whose tasks, named for them, gave OUTPUTS; all but the first and last failed."""
    run = run_record()
    async with await HistoryWriter.open(path) as writer:
        await writer.create_run(run)
        request = RequestRecord(run.id, 0, "prod", RequestState.RUNNING, "http")
        await writer.add_requests([request])
        await writer.add_tasks([NewTask(request.id, place, name, {}) for place, name in enumerate(OUTPUTS)])
        await writer.flush()
        with History(path) as history:
            keys = {task.case_id: task.id for task in history.iter_tasks(run)}
        for name, output in OUTPUTS.items():
            outcome = Outcome.PASSED if name in ("short", "nothing") else Outcome.FAILED
            done = finished_task(keys[name], request.id, outcome, output=str(output), message=f"not {name}")
            done.attempts[0].payload.answer["output"] = output  # type: ignore[union-attr, index]
            writer.finished(done)
        await writer.set_run_state(run.id, RunState.COMPLETED)
        await writer.flush()
    return run


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("paris", ["short"]),
        ("NEEDLE", ["long"]),
        (r"needle-\d+", ["long"]),
        ("haystack", ["list"]),
        ("!needle", ["short", "list", "nothing"]),
        ("!x", ["short", "nothing"]),
        ("not !haystack !needle", ["short", "nothing"]),
        ('"at the end"', ["long"]),
        ("contains", []),
    ],
)
async def test_whole_outputs_are_looked_through(tmp_path: Path, typed: str, found: list[str]) -> None:
    path = tmp_path / "history.db"
    run = await write(path)
    with History(path) as history:
        for sort, descending in (("position", False), ("latency", True)):
            keys = history.task_keys(run, sort=sort, descending=descending, sought=Sought(parse(typed)))
            tasks = history.tasks_of(keys)
            assert sorted(tasks[key].case_id for key in keys) == sorted(found)


async def test_a_group_of_failures_is_its_kind_and_its_messages(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    run = await write(path)
    with History(path) as history:
        sought = Sought(error_kind="", messages={"not long", "not short"})
        keys = history.task_keys(run, outcomes=[Outcome.FAILED], sought=sought)
        assert [history.task(key).case_id for key in keys] == ["long"]
        assert not history.task_keys(run, sought=Sought(error_kind="http_status", messages={"not long"}))


async def test_a_scan_says_how_far_it_is_and_can_be_given_up(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    run = await many_tasks(path, 5_000)
    told: list[int] = []
    with History(path) as history:
        everything = history.task_keys(run, sought=Sought(parse("canberra"), looked_at=told.append))
        assert len(everything) == 5_000
        assert told[-1] == 5_000
        assert len(told) > 10
        told.clear()
        sought = Sought(parse("canberra"), looked_at=told.append, given_up=lambda: len(told) == 3)
        assert len(history.task_keys(run, sought=sought)) == told[-1] < 5_000


async def test_a_scan_of_many_short_tasks_takes_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    run = await many_tasks(path, 20_000)
    with History(path) as history:
        started = time.process_time()
        history.task_keys(run)
        keys = time.process_time() - started
        started = time.process_time()
        assert len(history.task_keys(run, sought=Sought(parse("expected !text")))) == 0
        assert time.process_time() - started < max(0.6, 30 * keys)


async def test_a_run_without_texts_gives_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    run = await write_run(path, run_record(), outcomes=())
    with History(path) as history:
        assert not history.task_keys(run, sought=Sought(parse("anything")))
