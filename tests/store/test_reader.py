"""Reading the history: pages, single tasks, figures, changes, next to a live writer."""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.store.records import attempt, finished, new_tasks, planned, reading, request_record, run_record
from tui_eval.domain import Outcome
from tui_eval.errors import HistoryError, UsageError
from tui_eval.store.liveness import this_runner
from tui_eval.store.opening import open_for_writing
from tui_eval.store.queue import PAGE_BYTES, READ_BYTES
from tui_eval.store.reader import History
from tui_eval.store.records import RunRecord, RunState, TaskRecord
from tui_eval.store.task_pages import SORTS, keyset
from tui_eval.store.writer import HistoryWriter

CYCLE = [Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.UNSCORED]


async def filled(path: Path, tasks: int = 40) -> RunRecord:
    """A run with two requests; of the second every task but the last two is finished, outcomes in turn."""
    async with await HistoryWriter.open(path) as writer:
        run, first = await planned(writer, 2)
        second = request_record(run.id, 1, "candidate")
        await writer.add_requests([second])
        await writer.add_tasks(new_tasks(second.id, tasks))
        with reading(path) as history:
            queued = history.queued(second.id)
        for number, one in enumerate(queued[:-2]):
            writer.finished(
                finished(
                    one.id,
                    second.id,
                    CYCLE[number % 4],
                    latency=None if number % 5 == 0 else (number * 7 % 11) / 10,
                    message="" if number % 4 == 0 else f"expected {number % 3}",
                    error_kind="http_status" if number % 4 == 2 else "",
                    attempts=[attempt(number, error_kind="http_status" if number % 4 == 2 else "")],
                )
            )
        await writer.flush()
        assert first != second.id
    return run


def paged(history: History, run: RunRecord, sort: str, descending: bool, limit: int) -> list[TaskRecord]:
    found: list[TaskRecord] = []
    after = None
    while page := history.tasks(run, sort=sort, descending=descending, limit=limit, after=after):
        found += page
        after = keyset(page[-1], sort)
    return found


@pytest.mark.parametrize("sort", SORTS)
async def test_pages_show_every_task_once_and_in_order(path: Path, sort: str) -> None:
    run = await filled(path)
    with reading(path) as history:
        for descending in (False, True):
            found = paged(history, run, sort, descending, 7)
            assert len({task.id for task in found}) == len(found) == 42
            assert found == history.tasks(run, sort=sort, descending=descending, limit=100)
            if sort != "position":
                values = [getattr(task, sort) for task in found]
                known = [value for value in values if value is not None]
                assert known == sorted(known, reverse=descending)
                assert values[: len(known)] == known  # what has no value comes last


async def test_tasks_can_be_chosen(path: Path) -> None:
    run = await filled(path)
    with reading(path) as history:
        requests = history.requests(run)
        assert [one.name for one in requests] == ["prod", "candidate"]
        assert [task.case_id for task in history.tasks(run, request="prod")] == ["c0", "c1"]
        assert history.tasks(run, request=requests[0].id) == history.tasks(run, request="prod")
        assert history.tasks(run, request="unknown") == []
        failed = history.tasks(run, outcomes=[Outcome.FAILED])
        assert {task.outcome for task in failed} == {Outcome.FAILED}
        assert len(failed) == requests[1].counters.failed
        assert history.tasks(run, outcomes=[]) == []
        both = history.tasks(run, outcomes=[Outcome.QUEUED, Outcome.RUNNING, Outcome.ERROR])
        assert {task.outcome for task in both} == {Outcome.QUEUED, Outcome.ERROR}
        assert {task.message for task in history.tasks(run, text="EXPECTED 2")} == {"expected 2"}
        assert {task.error_kind for task in history.tasks(run, text="P_s")} == {"http_status"}
        assert history.tasks(run, text="%") == history.tasks(run, text="p_e") == history.tasks(run, text="\\") == []
        assert list(history.iter_tasks(run)) == history.tasks(run, limit=100)
        with pytest.raises(UsageError, match="latency"):
            history.tasks(run, sort="id; DROP TABLE tasks")


async def test_one_task_is_found_by_what_a_user_calls_it(path: Path) -> None:
    run = await filled(path)
    with reading(path) as history:
        task = history.find_task(run, "candidate", "c3")
        assert task is not None
        assert history.task(task.id) == task
        assert history.case(task.case_key) == {"question": "What is 3?", "n": 3}
        assert history.find_task(run, "candidate", "c3", 1) is None
        with pytest.raises(HistoryError, match="not in the history"):
            history.task(9999)
        with pytest.raises(HistoryError, match="not in the history"):
            history.case(9999)
        assert history.attempts(9999) == history.scores(9999) == []
        assert history.payload(9999) is history.answer_of(9999) is None


async def test_only_attempts_that_gave_an_answer_count_as_answers(path: Path) -> None:
    run = await filled(path)
    with reading(path) as history:
        request = history.requests(run)[1]
        answered = history.answered(request)
        for task in history.iter_tasks(run, request=request.id):
            expected = task.outcome.final and task.outcome is not Outcome.ERROR
            assert (task.id in answered) is (history.answer_of(task.id) is not None) is expected


async def test_queued_tasks_come_in_pages(path: Path) -> None:
    run = await filled(path)
    with reading(path) as history:
        request = history.requests(run)[1].id
        (one,) = history.queued(request, limit=1)
        (two,) = history.queued(request, one.position)
        assert [one.case_id, two.case_id] == ["c38", "c39"]
        assert two.case_input == {"question": "What is 39?", "n": 39}
        assert history.queued(request, two.position) == []


async def test_failures_are_counted_by_their_exact_words(path: Path) -> None:
    run = await filled(path)
    with reading(path) as history:
        rows = history.failures(run)
        tasks = [task for task in history.iter_tasks(run) if task.outcome in CYCLE[1:]]
        assert sum(row.count for row in rows) == len(tasks)
        assert [row.count for row in rows] == sorted((row.count for row in rows), reverse=True)
        for row in rows:
            assert history.task(row.task).message == row.message
            assert history.task(row.task).case_id == row.case_id


async def test_figures_are_streamed_for_every_task(path: Path) -> None:
    run = await filled(path)
    with reading(path) as history:
        values = list(history.task_values(run))
        assert [(one.case_id, one.latency, one.outcome) for one in values] == [
            (task.case_id, task.latency, task.outcome) for task in history.iter_tasks(run)
        ]
        assert history.size_of(run) > 42 * 300


async def test_bulk_reading_gives_what_single_reading_gives(path: Path) -> None:
    run = await filled(path, 700)
    with reading(path) as history:
        keys = [task.id for task in history.iter_tasks(run)]
        attempts, scores = history.attempts_of(keys, payloads=True), history.scores_of(keys)
        for key in keys[::50]:
            assert attempts.get(key, []) == history.attempts(key, payloads=True)
            assert scores.get(key, []) == history.scores(key)
        assert history.attempts_of([]) == {}
        assert len(history.cases_of(task.case_key for task in history.iter_tasks(run))) == 700


async def many_runs(path: Path, count: int) -> None:
    me = this_runner()
    rows = [
        (
            f"20310405-{number:06}-abcd",
            f"Plan {number % 3}",
            "running" if number % 10 == 0 else "completed",
            1000.0 + number // 2,  # two of each time
            '["ci"]' if number % 4 == 0 else "[]",
            me.host,
            me.pid,
            me.pid_started if number % 20 == 0 else me.pid_started + "0",
        )
        for number in range(count)
    ]
    with closing(open_for_writing(path)) as connection:
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO runs (run_id, name, state, created_at, tags, host, pid, pid_started, origin, folder, program, "
            "plan) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'launch', '/', '1', '{\"big\": \"" + "x" * 2000 + "\"}')",
            rows,
        )
        connection.execute(
            "INSERT INTO requests (run, position, name, state, solution_type, total, passed) "
            "SELECT id, position, 'r' || position, 'completed', 'http', 10, position FROM runs, "
            "(SELECT 1 AS position UNION SELECT 2)"
        )
        connection.execute("COMMIT")


async def test_runs_come_newest_first_in_pages_with_their_counters(path: Path) -> None:
    await many_runs(path, 60)
    with reading(path) as history:
        everything = history.runs(limit=100)
        assert [one.run.id for one in everything] == list(range(60, 0, -1))
        assert (everything[0].counters.total, everything[0].counters.passed) == (20, 3)
        paged, before = [], None
        while page := history.runs(limit=7, before=before):
            paged += page
            before = (page[-1].run.created_at, page[-1].run.id)
        assert paged == everything


async def test_runs_can_be_chosen(path: Path) -> None:
    await many_runs(path, 60)
    with reading(path) as history:
        assert len(history.runs(limit=100, name="plan 1")) == 20
        assert history.runs(name="plan%") == []
        assert len(history.runs(limit=100, tag="ci")) == 15
        assert history.runs(tag="c") == []
        assert len(history.runs(limit=100, state=RunState.COMPLETED)) == 54
        # Of the six that are stored as running, three have no runner any more.
        assert [one.state for one in history.runs(state=RunState.RUNNING)] == [RunState.RUNNING] * 3
        assert len(history.runs(limit=2, state=RunState.INTERRUPTED)) == 2
        assert len(history.runs(state=RunState.INTERRUPTED)) == 3
        assert [one.run.created_at for one in history.runs(since=1001, until=1002)] == [1001, 1001]
        assert history.runs(limit=0) == []


async def test_a_list_of_runs_is_cheap_however_many_there_are(path: Path) -> None:
    await many_runs(path, 10_000)
    with reading(path) as history:
        begin = time.process_time()
        for _ in range(10):
            assert len(history.runs(limit=50)) == 50
        assert (time.process_time() - begin) / 10 < 0.05


async def test_a_run_is_found_by_a_beginning_of_its_id(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        for run_id in ("20310405-1200-aaaa", "20310405-1200-bbbb", "mine_1", "mine%1"):
            await writer.create_run(run_record(run_id))
    with reading(path) as history:
        assert history.run("mine_1").plan["name"] == "support-bot"
        assert history.run("mine_").run_id == "mine_1"
        assert history.run("mine%").run_id == "mine%1"
        assert history.run("20310405-1200-b").run_id == "20310405-1200-bbbb"
        assert history.run("last").run_id == "mine%1"
        with pytest.raises(UsageError, match="several runs: mine%1, mine_1"):
            history.run("mine")
        with pytest.raises(UsageError, match="did you mean 20310405-1200-aaaa"):
            history.run("20310405-1200-aaab")
        for nonsense in ("", "zzz", "'; --", "\x00"):
            with pytest.raises(UsageError, match="no run"):
                history.run(nonsense)


def test_where_there_is_no_history_it_is_empty(path: Path) -> None:
    with reading(path) as history:
        assert history.runs() == []
        with pytest.raises(UsageError, match="no run in the history yet"):
            history.run("last")
        with pytest.raises(UsageError, match="tui-eval runs"):
            history.run("2031")
        assert history.tasks(1) == []
    assert not path.parent.exists()


async def test_a_viewer_notices_every_change_and_a_new_file(path: Path) -> None:
    with reading(path) as history:
        assert history.changed()
        assert not history.changed()
        async with await HistoryWriter.open(path) as writer:
            assert history.changed()
            assert not history.changed()
            await planned(writer, 1)
            assert history.changed()
            assert len(history.runs()) == 1
            assert not history.changed()
        for file in sorted(path.parent.glob("history.db*"), reverse=True):  # the logs before the file they belong to
            file.rename(file.with_name(f"moved-{file.name}"))
        assert history.changed()
        assert history.runs() == []


async def test_an_export_sees_one_moment(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        run, request = await planned(writer, 2)
        with reading(path) as history, history.snapshot():
            assert history.requests(run)[0].counters.passed == 0
            writer.finished(finished(1, request))
            await writer.flush()
            assert history.requests(run)[0].counters.passed == 0
            assert [task.outcome for task in history.iter_tasks(run)] == [Outcome.QUEUED] * 2


async def test_a_reader_can_write_nothing(path: Path) -> None:
    await filled(path)
    with reading(path) as history, pytest.raises(sqlite3.OperationalError, match="readonly"):
        history._file.sqlite.execute("DELETE FROM runs")


async def test_a_page_of_queued_tasks_is_bounded_by_what_their_cases_weigh(path: Path) -> None:
    # Hex of random bytes is stored at about half its length: of these, two are as much as one page may hold.
    texts = [random.Random(number).randbytes(PAGE_BYTES // 2).hex() for number in range(4)] + ["é\x00\U0001f600"] * 3
    async with await HistoryWriter.open(path) as writer:
        _, request = await planned(writer, 0)
        tasks = new_tasks(request, len(texts))
        await writer.add_tasks([replace(task, case_input={"q": text}) for task, text in zip(tasks, texts, strict=True)])
    with reading(path) as history:
        seen: list[str] = []
        pages = []
        while page := history.queued(request, len(seen) - 1):
            pages.append(len(page))
            seen += [one.case_input["q"] for one in page]
        assert seen == texts
        assert pages[0] in (2, 3)
        assert len(pages) in (2, 3), "small cases come many at once"


async def test_a_page_of_queued_tasks_is_bounded_by_what_compressed_cases_become(path: Path) -> None:
    texts = [f"{number}{'x' * (READ_BYTES // 2)}" for number in range(4)]
    async with await HistoryWriter.open(path) as writer:
        _, request = await planned(writer, 0)
        tasks = new_tasks(request, len(texts))
        await writer.add_tasks([replace(task, case_input={"q": text}) for task, text in zip(tasks, texts, strict=True)])
    with reading(path) as history:
        first = history.queued(request)
        second = history.queued(request, first[-1].position)
    assert [one.case_input["q"] for one in first + second] == texts
    assert (len(first), len(second)) == (2, 2)


async def test_the_repeats_of_a_heavy_case_are_one_page_and_share_its_columns(path: Path) -> None:
    heavy = {"q": random.Random(0).randbytes(PAGE_BYTES // 2).hex()}
    async with await HistoryWriter.open(path) as writer:
        _, request = await planned(writer, 0)
        tasks = new_tasks(request, 50)
        await writer.add_tasks(
            [replace(task, case_id="c", repeat=number, case_input=heavy) for number, task in enumerate(tasks)]
        )
    with reading(path) as history:
        page = history.queued(request)
    assert [one.repeat for one in page] == list(range(50))
    assert page[-1].case_input == heavy
    assert {id(one.case_input) for one in page} == {id(page[0].case_input)}


async def test_a_page_reads_the_texts_of_its_own_cases_only(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        _, request = await planned(writer, 0)
        tasks = new_tasks(request, 60)
        texts = [random.Random(number).randbytes(PAGE_BYTES // 8).hex() for number in range(60)]
        await writer.add_tasks([replace(task, case_input={"q": text}) for task, text in zip(tasks, texts, strict=True)])
    with reading(path) as history:
        began = time.process_time()
        ten = history.queued(request, limit=10)
        of_ten = time.process_time() - began
        began = time.process_time()
        sixty = history.queued(request, limit=60)
        assert time.process_time() - began < 2 * of_ten + 0.05, "the others are not read to be left out"
    assert [one.case_id for one in sixty] == [one.case_id for one in ten]


@pytest.mark.parametrize("data", [b'{"q": "\xff"}', b'{"q":', b""])
async def test_a_queued_task_whose_case_is_damaged_is_told_in_words_and_not_in_sql(path: Path, data: bytes) -> None:
    async with await HistoryWriter.open(path) as writer:
        _, request = await planned(writer, 3)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE cases SET data = ? WHERE id = 2", (data,))
        connection.commit()
    with reading(path) as history, pytest.raises(HistoryError, match="the history is damaged") as caught:
        history.queued(request)
    assert "json_group_array" not in str(caught.value)


async def test_a_queued_task_whose_case_is_gone_is_an_error_and_not_passed_over(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        _, request = await planned(writer, 3)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM cases WHERE id = 2")
        connection.commit()
    with reading(path) as history, pytest.raises(HistoryError, match="the case of `c1` is not in the history"):
        history.queued(request)
