"""Which runs may go: by age, number, size, tag, name and state, and never what must stay."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.files import ended
from tests.store.records import attempt, finished, planned, reading
from tui_eval.errors import UsageError
from tui_eval.store import fallback
from tui_eval.store.pruning import Rules, choose
from tui_eval.store.records import RunState
from tui_eval.store.upkeep import delete_run, set_pinned, set_tags
from tui_eval.store.writer import HistoryWriter

DAY = 86400.0


async def history_of(path: Path, ages: dict[str, float]) -> None:
    """Runs by id, made and ended so many days ago."""
    for run_id in ages:
        await ended(path, run_id, 2)
    age(path, ages)


def age(path: Path, ages: dict[str, float]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for run_id, days in ages.items():
            then = time.time() - days * DAY
            connection.execute(
                "UPDATE runs SET created_at = ?, started_at = ?, finished_at = ? WHERE run_id = ?",
                (then, then, then, run_id),
            )


def going(path: Path, **rules: object) -> list[str]:
    with reading(path) as history:
        return [sized.overview.run.run_id for sized in choose(history, Rules(**rules)).going]  # type: ignore[arg-type]


async def test_rules_name_runs_together(path: Path) -> None:
    await history_of(path, {"a": 40, "b": 30, "c": 20, "d": 10, "e": 0})
    for run_id in ("b", "d"):
        set_tags(path, run_id, ["nightly"])
    older = time.time() - 15 * DAY
    assert going(path, older_than=older) == ["a", "b", "c"]
    assert going(path, older_than=older, keep=1) == ["a", "b"]
    assert going(path, tag="nightly") == ["b", "d"]
    assert going(path, tag="nightly", older_than=older) == ["b"]
    assert going(path, keep=2) == ["a", "b", "c"]
    assert going(path, keep=9) == going(path, tag="none") == going(path, name="other") == []
    assert going(path, name="SUPPORT", keep=4) == ["a"]
    assert going(path, state=RunState.CANCELLED) == []
    assert going(path, keep=0) == ["a", "b", "c", "d", "e"]


async def test_a_size_lets_no_more_go_than_it_takes(path: Path) -> None:
    await history_of(path, {"a": 3, "b": 2, "c": 1})
    with reading(path) as history:
        size = history.size_of(history.run("a"))
        assert going(path, max_bytes=3 * size) == []
        assert going(path, max_bytes=3 * size - 1) == ["a"]
        assert going(path, max_bytes=size) == ["a", "b"]
        assert going(path, max_bytes=0) == ["a", "b", "c"]
        set_pinned(path, "a", True)
        pruning = choose(history, Rules(max_bytes=0))
    assert [sized.overview.run.run_id for sized in pruning.going] == ["b", "c"]
    assert pruning.missing == size


async def test_what_must_stay_stays_and_it_is_said_why(path: Path) -> None:
    await history_of(path, {"pinned": 4, "unsaved": 3, "free": 2})
    set_pinned(path, "pinned", True)
    fallback.append(path, "unsaved", [finished(1, 1, attempts=[attempt()])], None)
    async with await HistoryWriter.open(path) as writer:
        await planned(writer, 1, "live")
        age(path, {"live": 9})
        with reading(path) as history:
            pruning = choose(history, Rules(keep=0))
        assert [sized.overview.run.run_id for sized in pruning.going] == ["free"]
        why = {overview.run.run_id: reason for overview, reason in pruning.staying}
        for run_id, word in (("pinned", "unpin"), ("unsaved", "not in the history yet"), ("live", "running")):
            assert word in why.pop(run_id)
            with pytest.raises(UsageError, match=word):
                delete_run(path, run_id)
        assert why == {}


async def test_no_rule_names_no_run(path: Path) -> None:
    await history_of(path, {"a": 1})
    with pytest.raises(UsageError, match="--older-than"):
        going(path)


@settings(max_examples=20, deadline=None)
@given(
    keep=st.none() | st.integers(0, 6),
    days=st.none() | st.integers(0, 8),
    most=st.none() | st.integers(0, 4000),
)
def test_the_newest_are_the_last_to_go(
    tmp_path_factory: pytest.TempPathFactory, keep: int | None, days: int | None, most: int | None
) -> None:
    """Whatever the rules: what goes is older than everything they name that stays."""
    path = tmp_path_factory.getbasetemp() / "pruned" / "history.db"
    if not path.exists():
        asyncio.run(history_of(path, {f"r{days}": days for days in range(6)}))
    rules = Rules(older_than=None if days is None else time.time() - days * DAY, keep=keep, max_bytes=most)
    if rules.empty:
        return
    with reading(path) as history:
        gone = [sized.overview.run for sized in choose(history, rules).going]
    assert [run.run_id for run in gone] == [f"r{number}" for number in range(5, 5 - len(gone), -1)]
