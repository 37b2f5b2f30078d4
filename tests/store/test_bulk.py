"""Many rows in one statement arrive as single ones would."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.records import finished, planned
from tui_eval.store import batch
from tui_eval.store.bulk import execute_rows
from tui_eval.store.writer import HistoryWriter

VALUES = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text(), st.binary())


@given(st.lists(st.tuples(VALUES, VALUES), max_size=200))
def test_every_row_arrives_once_in_order_and_as_it_was(rows: list[tuple[object, object]]) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, one, two)")
        try:
            changed = execute_rows(connection, "INSERT INTO things (one, two) VALUES ?", rows)
        except UnicodeEncodeError:  # half a surrogate pair, as with any statement
            return
        assert changed == len(rows)
        assert connection.execute("SELECT one, two FROM things ORDER BY id").fetchall() == rows


def test_a_row_that_breaks_a_rule_raises_as_a_single_one_does() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY)")
        with pytest.raises(sqlite3.IntegrityError):
            execute_rows(connection, "INSERT INTO things VALUES ?", [(n,) for n in range(70)] + [(3,)])


@pytest.mark.parametrize("analysed", [False, True])
async def test_finished_tasks_are_found_by_their_key_however_many_there_are(path: Path, analysed: bool) -> None:
    """The other way round, SQLite would look at every task of the history for each batch."""
    async with await HistoryWriter.open(path) as writer:
        _, request = await planned(writer, 200)
        writer.finished(finished(1, request))
        await writer.flush()
    with closing(sqlite3.connect(path)) as connection:
        if analysed:
            connection.execute("ANALYZE")
        for rows in (1, 4, 64):
            sql = batch._FINISH.replace("VALUES ?", "VALUES " + ", ".join(["(" + ", ".join("?" * 14) + ")"] * rows))
            steps = connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * (14 * rows)).fetchall()
            assert any("SEARCH tasks USING INTEGER PRIMARY KEY" in step[3] for step in steps), steps
