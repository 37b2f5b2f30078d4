"""Runs found by what is in their outputs: through the index beside the history, without it, and while it is wrong."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.histories import finished_task, run_record
from tui_eval.domain import Outcome
from tui_eval.store import search_index
from tui_eval.store.reader import History
from tui_eval.store.records import NewTask, RequestRecord, RequestState, RunRecord, RunState
from tui_eval.store.run_search import RunSearch
from tui_eval.store.search_index import index_path, update
from tui_eval.store.upkeep import delete_run
from tui_eval.store.writer import HistoryWriter
from tui_eval.text_query import words

RUNS = {
    "capitals": ["Paris is the capital", "Rome", "x" * 500 + " tail-17"],
    "sums": ["42", "the sum is 99"],
    "chinese": ["中国的首都是北京", "Straße"],
}


async def write(path: Path, name: str, outputs: list[str], state: RunState | None = RunState.COMPLETED) -> RunRecord:
    run = run_record(name)
    async with await HistoryWriter.open(path) as writer:
        await writer.create_run(run)
        request = RequestRecord(run.id, 0, "prod", RequestState.RUNNING, "http")
        await writer.add_requests([request])
        await writer.add_tasks([NewTask(request.id, place, f"case {place}", {}) for place in range(len(outputs))])
        await writer.flush()
        with History(path) as history:
            keys = {task.position: task.id for task in history.iter_tasks(run)}
        for place, output in enumerate(outputs):
            writer.finished(finished_task(keys[place], request.id, Outcome.PASSED, output=output, message=""))
        if state is not None:
            await writer.set_run_state(run.id, state)
        await writer.flush()
    return run


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    for name, outputs in RUNS.items():
        await write(tmp_path / "history.db", name, outputs)
    return tmp_path / "history.db"


def found(path: Path, typed: str) -> tuple[list[str], int]:
    """``(names of the runs, how many had to be looked through without the index)``."""
    with History(path) as history:
        search = RunSearch(words(typed))
        search.refresh(history)
        names = [each.run.name for each in history.runs() if search.matches(history, each.run)]
        return sorted(names), search.looked_at


def change(path: Path, sql: str, key: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(sql, (key,))
        connection.commit()


QUERIES = [
    ("paris", ["capitals"]),
    ("PARIS capital", ["capitals"]),
    ("paris rome", []),
    ("tail-17", ["capitals"]),
    (r"tail-\d+", ["capitals"]),
    ("首都是", ["chinese"]),
    ("strasse", ["chinese"]),
    ("99", ["sums"]),
    ("!paris", ["chinese", "sums"]),
    ("!paris !strasse", ["sums"]),
    ("sum !99", []),
    ('"is the"', ["capitals"]),
    ("nowhere", []),
]


@pytest.mark.parametrize(("typed", "names"), QUERIES)
async def test_the_index_changes_the_time_but_never_the_answer(path: Path, typed: str, names: list[str]) -> None:
    assert found(path, typed) == (names, found(path, typed)[1])
    with History(path) as history:
        assert update(history)
    assert found(path, typed)[0] == names


async def test_runs_in_the_index_are_not_looked_through_in_vain(path: Path) -> None:
    assert found(path, "nowhere") == ([], 3)
    with History(path) as history:
        update(history)
    assert found(path, "nowhere") == ([], 0)
    assert found(path, "paris") == (["capitals"], 0)
    assert stat.S_IMODE(index_path(path).stat().st_mode) == 0o600


async def test_new_changed_and_deleted_runs_are_seen_at_once_and_indexed_next_time(path: Path) -> None:
    told: list[tuple[int, int]] = []
    with History(path) as history:
        update(history, progress=lambda done, total: told.append((done, total)))
        assert told[-1] == (3, 3)
        told.clear()
        update(history, progress=lambda done, total: told.append((done, total)))
        assert told == [(0, 0)]
    new = await write(path, "later", ["Paris again"])
    assert found(path, "paris") == (["capitals", "later"], 1)
    live = await write(path, "live", ["Paris at last"], state=None)
    with History(path) as history:
        update(history)
    assert found(path, "paris") == (["capitals", "later", "live"], 1)
    delete_run(path, new.run_id)
    assert found(path, "paris again") == ([], 1)
    change(path, "UPDATE runs SET state = 'completed' WHERE id = ?", live.id)
    with History(path) as history:
        update(history)
        index = search_index.SearchIndex(path)
        assert new.run_id not in index.runs()
        assert live.run_id in index.runs()
        index.close()
    assert found(path, "paris") == (["capitals", "live"], 0)


async def test_an_index_with_much_that_is_gone_is_made_anew(path: Path) -> None:
    with History(path) as history:
        update(history)
        for overview in history.runs():
            if overview.run.name != "sums":
                delete_run(path, overview.run.run_id)
        update(history)
    assert found(path, "sum") == (["sums"], 0)
    with closing(sqlite3.connect(index_path(path))) as connection:
        assert connection.execute("SELECT texts FROM made").fetchone() == (len(RUNS["sums"]),)


@pytest.mark.parametrize("content", [b"", b"no database at all, whatever its name says" * 100])
async def test_a_broken_index_is_made_again(path: Path, content: bytes) -> None:
    index_path(path).write_bytes(content)
    assert found(path, "paris")[0] == ["capitals"]
    with History(path) as history:
        assert update(history)
    assert found(path, "paris") == (["capitals"], 0)


async def test_an_update_that_was_given_up_or_killed_is_finished_by_the_next(path: Path) -> None:
    with History(path) as history:
        update(history, given_up=lambda: True)
        with closing(sqlite3.connect(index_path(path))) as connection:  # as a killed one leaves it
            connection.execute("INSERT INTO runs (run_id, stamp) SELECT 'x', ''")
            connection.execute("INSERT INTO tasks VALUES (999, 1, 1)")
            connection.commit()
        assert found(path, "paris")[0] == ["capitals"]
        assert update(history)
    assert found(path, "paris") == (["capitals"], 0)


async def test_only_one_program_makes_it_and_it_may_be_a_process_of_its_own(path: Path) -> None:
    with History(path) as history:
        with search_index._alone(index_path(path)):
            assert not update(history)
        done = subprocess.run([sys.executable, "-m", "tui_eval.store.search_index", str(path)], timeout=60)
        assert done.returncode == 0
    assert found(path, "paris") == (["capitals"], 0)


async def test_a_folder_that_cannot_be_written_only_costs_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(search_index, "_open_for_writing", refused)
    with History(path) as history:
        assert not update(history)
    assert found(path, "paris") == (["capitals"], 3)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1, max_size=12), st.text(max_size=5))
@example("00\0", "")
@example("one", "\0")
@example("İST", "ß")
def test_whatever_a_text_is_it_is_found(tmp_path_factory: pytest.TempPathFactory, text: str, before: str) -> None:
    import asyncio

    folder = tmp_path_factory.mktemp("index")
    stored = text.encode("utf-8", "backslashreplace").decode().replace('"', "'")
    asyncio.run(write(folder / "history.db", "one", [before + stored]))
    with History(folder / "history.db") as history:
        update(history)
    if stored.strip():
        assert found(folder / "history.db", f'"{stored.strip()}"')[0] == ["one"]


async def test_a_resumed_run_is_read_anew(path: Path) -> None:
    with History(path) as history:
        update(history)
        run = history.run("last")
    change(path, "UPDATE runs SET finished_at = created_at + 99 WHERE id = ?", run.id)
    assert found(path, "nowhere") == ([], 1)
