"""While the history cannot be written nothing is lost, and it is told."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.conftest import ROOT
from tests.store.records import attempt, finished, planned, reading
from tui_eval.domain import Outcome, Score
from tui_eval.errors import HistoryError
from tui_eval.store import fallback
from tui_eval.store.liveness import Runner
from tui_eval.store.opening import check_integrity
from tui_eval.store.records import RunState
from tui_eval.store.upkeep import delete_run
from tui_eval.store.writer import HistoryWriter

RUN_ID = "20310405-120000-aaaa"


async def opened(path: Path, told: list[str], after: float = 0.15) -> HistoryWriter:
    return await HistoryWriter.open(path, on_trouble=told.append, fallback_after=after, busy_seconds=0.02)


async def test_a_short_lock_is_waited_out(path: Path) -> None:
    told: list[str] = []
    async with await opened(path, told, after=5.0) as writer:
        run, request = await planned(writer, 2)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writer.finished(finished(1, request))
            while not told:
                await asyncio.sleep(0.01)
            assert not writer.failed
            other.execute("ROLLBACK")
        writer.finished(finished(2, request))
        await writer.flush()
        assert (writer.trouble, writer.failed, len(told)) == ("", False, 1)
        assert "locked by another program" in told[0]
        with reading(path) as history:
            assert history.requests(run)[0].counters.passed == 2
            await writer.flush()
            assert "Everything was saved afterwards" in history.log(run)[0].message


async def test_a_long_lock_sends_results_to_a_file_and_they_come_back(path: Path) -> None:
    told: list[str] = []
    async with await opened(path, told) as writer:
        run, request = await planned(writer, 3)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writer.finished(finished(1, request, Outcome.FAILED, scores=[Score("a", 0.5, False, "r", "", {"k": 1})]))
            await writer.flush()
            assert writer.failed
            place = writer.fallback_file
            assert place == path.with_name(f"history.db.unsaved-{RUN_ID}.jsonl")
            assert place.stat().st_mode & 0o777 == 0o600
            assert json.loads(place.read_text())["task"] == 1
            writer.finished(finished(2, request))
            await writer.flush()
            assert len(place.read_text().splitlines()) == 2
            other.execute("ROLLBACK")
        while writer.failed:
            writer.finished(finished(3, request))
            await writer.flush()
            await asyncio.sleep(0.01)
        assert not place.exists()
        assert len(told) == 1
    assert check_integrity(path) == []
    with reading(path) as history:
        assert [task.outcome.value for task in history.tasks(run)] == ["failed", "passed", "passed"]
        assert history.scores(1) == [Score("a", 0.5, False, "r", "", {"k": 1})]
        assert history.attempts(1, payloads=True)[0].payload == attempt().payload


async def test_a_history_locked_to_the_end_leaves_a_file_that_resume_reads(path: Path) -> None:
    told: list[str] = []
    writer = await opened(path, told)
    run, request = await planned(writer, 3)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for task in (1, 2):
            writer.finished(finished(task, request))
        await writer.set_run_state(run.id, RunState.COMPLETED)
        await writer.aclose()
        assert writer.failed
        other.execute("ROLLBACK")
    place = fallback.places(path, RUN_ID)[0]
    with place.open("a") as file:
        file.write('{"task": 3, "request": 1, "outc')  # cut off by a full disk
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE runs SET pid_started = 'machine/gone', host = 'gone', heartbeat_at = 0")
    async with await HistoryWriter.open(path) as later:
        await later.adopt(RUN_ID)
        counters = later.counters(request)
        assert (counters.passed, counters.queued, counters.attempts) == (2, 1, 2)
    assert not place.exists()
    assert check_integrity(path) == []


async def test_recovering_twice_changes_nothing(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        run, request = await planned(writer, 700)
        tasks = [finished(number + 1, request) for number in range(700)]
        place = fallback.append(path, RUN_ID, tasks, None)
        first, second = await fallback.recover(place, writer), await fallback.recover(place, writer)
        assert (first.tasks, first.skipped) == (700, 0)
        assert (second.tasks, second.skipped) == (0, 700)
        with reading(path) as history:
            assert history.requests(run)[0].counters.passed == 700
    assert check_integrity(path) == []


def test_a_fallback_file_keeps_what_is_no_json_and_hides_secrets(path: Path) -> None:
    path.parent.mkdir()
    odd = finished(1, 1, attempts=[attempt({(1, 2): math.nan})], message="s3cr3t", latency=math.nan)

    def hide(value: object) -> object:
        return json.loads(json.dumps(value).replace("s3cr3t", "***"))

    place = fallback.append(path, RUN_ID, [odd, replace(odd, task=2, attempts=[attempt("s3cr3t")])], hide)
    assert "s3cr3t" not in place.read_text()
    first, second = fallback.read(place)
    assert first is not None
    assert second is not None
    assert (first.outcome, first.message, first.latency) == (Outcome.PASSED, "***", None)
    assert first.attempts[0].payload is not None
    assert "could not be stored" in first.attempts[0].payload.answer["notes"][0]  # type: ignore[index]
    assert second.attempts[0].payload == attempt("***").payload


def test_where_nothing_can_be_written_beside_the_history_the_temporary_folder_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    history = Path("/proc/nowhere/history.db")
    place = fallback.append(history, RUN_ID, [finished(1, 1)], None)
    assert place.parent == tmp_path
    assert fallback.find(history, RUN_ID) == [place]
    # Others can write there: a file or link that waits at our name is not followed.
    place.unlink()
    (tmp_path / "victim").write_text("")
    place.symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic link"):
        fallback.append(history, RUN_ID, [finished(1, 1)], None)
    assert fallback.find(history, RUN_ID) == []
    assert (tmp_path / "victim").read_text() == ""


async def test_where_no_file_takes_them_results_stay_in_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(fallback, "places", lambda *_: [Path("/proc/nowhere/file")])
    async with await opened(path, told) as writer:
        run, request = await planned(writer, 1)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writer.finished(finished(1, request))
            await writer.flush()
            assert writer.failed
            assert writer.fallback_file is None
            assert "Nor could results be kept" in writer.trouble
            other.execute("ROLLBACK")
        await writer.flush()
        await writer.flush()
        assert not writer.failed
    with reading(path) as history:
        assert history.requests(run)[0].counters.passed == 1


async def test_a_history_that_is_moved_away_is_noticed(path: Path) -> None:
    told: list[str] = []
    async with await opened(path, told) as writer:
        _, request = await planned(writer, 1)
        path.rename(path.with_name("elsewhere.db"))
        writer.finished(finished(1, request))
        await writer.flush()
        assert writer.failed
        assert str(path) in told[0]
        assert fallback.find(path, RUN_ID) != []


async def test_a_run_that_someone_else_took_over_is_left_alone(path: Path) -> None:
    told: list[str] = []
    async with await opened(path, told) as writer:
        run, request = await planned(writer, 1)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE runs SET pid_started = 'machine/gone', host = 'gone', heartbeat_at = 0")
        async with await HistoryWriter.open(path) as other:
            await other.adopt(RUN_ID, Runner("there", 7, "m/7"))
            writer.finished(finished(1, request))
            await writer.flush()
            assert writer.failed
            assert "taken over by process 7 on there" in told[0]
            with reading(path) as history:
                assert history.requests(run)[0].counters.passed == 0


async def test_a_run_deleted_under_its_runner_is_told(path: Path) -> None:
    told: list[str] = []
    async with await opened(path, told) as writer:
        _, request = await planned(writer, 1)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE runs SET state = 'failed'")
        delete_run(path, RUN_ID)
        writer.finished(finished(1, request))
        await writer.flush()
        assert "no longer in the history" in told[0]
        assert writer.fallback_file is not None


async def test_a_result_of_no_task_is_kept_aside_and_harms_no_other(path: Path) -> None:
    told: list[str] = []
    async with await opened(path, told) as writer:
        run, request = await planned(writer, 2)
        writer.finished(finished(1, request))
        writer.finished(finished(99, request))
        writer.finished(finished(2, request))
        await writer.flush()
        assert writer.failed
        assert "1 results do not belong" in told[0]
        with reading(path) as history:
            assert history.requests(run)[0].counters.passed == 2
        assert [task.task for task in fallback.read(fallback.places(path, RUN_ID)[0]) if task] == [99]


async def test_a_history_damaged_while_the_run_goes_on_loses_nothing(path: Path) -> None:
    told: list[str] = []
    writer = await opened(path, told)
    _, request = await planned(writer, 50)
    with path.open("r+b") as file:
        file.write(b"\x00" * path.stat().st_size)
    with path.with_name("history.db-wal").open("r+b") as file:
        file.write(b"\x00" * 100)
    path.with_name("history.db-shm").write_bytes(b"\x00" * 32768)
    for number in range(50):
        writer.finished(finished(number + 1, request))
    await writer.aclose()
    if writer.failed:  # what SQLite still had in memory may have carried it through
        saved = [task for place in fallback.find(path, RUN_ID) for task in fallback.read(place)]
        assert len(saved) == 50


def test_a_full_disk_does_not_stop_the_run_and_all_is_saved_when_there_is_room(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.store.child_full_disk", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["failed True file True", "failed False file False", "passed 400"]
    assert check_integrity(path) == []
    with reading(path) as history:
        assert "disk" in history.log(history.run("last"))[0].message


async def test_trouble_at_planning_ends_it_with_a_message(path: Path) -> None:
    async with await opened(path, []) as writer:
        run, request = await planned(writer, 1)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(HistoryError, match="locked"):
                await planned(writer, 1, "another")
            assert await writer.commands(run.id) == []
            other.execute("ROLLBACK")
        writer.finished(finished(1, request))


def test_a_folder_made_unwritable_is_no_news_to_an_open_history(path: Path) -> None:
    """SQLite has its files open already; only when it needs a new one is there trouble."""

    async def run() -> bool:
        async with await opened(path, []) as writer:
            _, request = await planned(writer, 1)
            path.parent.chmod(0o500)
            writer.finished(finished(1, request))
            await writer.flush()
            return writer.failed

    try:
        assert asyncio.run(run()) is False
    finally:
        path.parent.chmod(0o700)
        shutil.rmtree(path.parent)


LINES = st.lists(
    st.binary(max_size=40)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["task", "attempts", "scores", "outcome", "x"]), inner, max_size=5)
        ),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
    max_size=6,
)


@settings(deadline=None)
@given(lines=LINES)
def test_whatever_stands_in_a_fallback_file_what_is_whole_is_read(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    place = tmp_path_factory.getbasetemp() / "any" / "history.db"
    place.parent.mkdir(exist_ok=True)
    file = fallback.places(place, RUN_ID)[0]
    file.write_bytes(b"\n".join(lines) + b"\n")
    fallback.append(place, RUN_ID, [finished(7, 1)], None)
    *others, last = fallback.read(file)
    assert last is not None
    assert last.task == 7
    assert all(task is None for task in others)
    file.write_text("[" * 100_000 + "\n")
    assert list(fallback.read(file)) == [None]
    file.unlink()
