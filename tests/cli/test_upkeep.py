"""The verbs that keep a history small and safe, and those that change a run."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import RUN, Call, write_run
from tui_eval.store.opening import check_integrity

OLD, NEW = "20260101-120000-0001", "20270201-120000-0002"


@pytest.fixture
def three(history: Path) -> Path:
    """A history with three runs, one of them from long ago."""
    for run_id in (OLD, NEW):
        asyncio.run(write_run(history, run_id))
    with closing(sqlite3.connect(history)) as connection, connection:
        for run_id, at in ((OLD, 1.7e9), (RUN, 1.75e9), (NEW, 1.76e9)):
            connection.execute(
                "UPDATE runs SET created_at = ?, started_at = ?, finished_at = ? WHERE run_id = ?", (at, at, at, run_id)
            )
    return history


def ids(call: Call, history: Path) -> list[str]:
    return [run["run_id"] for run in call("runs", "--json", "--history", history).json]


def test_prune_lists_and_deletes_only_when_told(call: Call, three: Path) -> None:
    listed = call("prune", "--keep", "1", "--history", three)
    assert listed.status == 0
    assert OLD in listed.out
    assert "would be deleted: 2 runs" in listed.out
    assert ids(call, three) == [NEW, RUN, OLD]
    data = call("prune", "--keep", "1", "--json", "--history", three).json
    assert [run["run_id"] for run in data["runs"]] == [OLD, RUN]
    assert (data["deleted"], data["missing_bytes"]) == (False, 0)
    deleted = call("prune", "--keep", "1", "--yes", "--history", three)
    assert "deleted: 2 runs" in deleted.out
    assert ids(call, three) == [NEW]
    assert call("prune", "--keep", "1", "--yes", "--history", three).out == "no run is to be deleted\n"
    assert check_integrity(three) == []


@pytest.mark.parametrize(
    ("rules", "gone"),
    [
        (["--older-than", "1h"], [OLD, RUN, NEW]),
        (["--older-than", "9999w"], []),
        (["--tag", "nightly"], [OLD, RUN, NEW]),
        (["--tag", "weekly"], []),
        (["--state", "failed"], []),
        (["--max-size", "1kB", "--keep", "1"], [OLD, RUN]),
        (["--max-size", "1 GiB"], []),
        (["--max-size", "0"], [OLD, RUN, NEW]),
    ],
)
def test_prune_takes_what_all_rules_name(call: Call, three: Path, rules: list[str], gone: list[str]) -> None:
    data = call("prune", *rules, "--json", "--history", three).json
    assert [run["run_id"] for run in data["runs"]] == gone


def test_a_pinned_run_stays_and_it_is_said(call: Call, three: Path) -> None:
    assert call("set", OLD, "--pin", "--history", three).status == 0
    pruned = call("prune", "--keep", "0", "--yes", "--history", three)
    assert f"{OLD} stays: it is pinned" in pruned.err
    assert ids(call, three) == [OLD]
    call("set", OLD, "--unpin", "--history", three)
    call("prune", "--keep", "0", "--yes", "--history", three)
    assert ids(call, three) == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "--older-than"),
        (["--older-than", "soon"], "12h, 30d or 4w"),
        (["--older-than", "-1d"], "12h, 30d or 4w"),
        (["--max-size", "big"], "500MB or 2GiB"),
        (["--max-size", "1i"], "500MB or 2GiB"),
        (["--keep", "-1"], "--keep"),
        (["--state", "running"], "--state"),
    ],
)
def test_rules_that_mean_nothing_are_refused(call: Call, three: Path, arguments: list[str], word: str) -> None:
    ended = call("prune", *arguments, "--yes", "--history", three)
    assert ended.status == 2
    assert word in ended.err
    assert len(ids(call, three)) == 3


def test_a_backup_is_made_once_and_is_a_history(call: Call, three: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    made = call("backup", target, "--json", "--history", three)
    assert made.json == {"path": str(target), "size": target.stat().st_size}
    assert ids(call, target) == [NEW, RUN, OLD]
    again = call("backup", target, "--history", three)
    assert again.status == 2
    assert "there already" in again.err


def test_vacuum_says_what_it_gave_back(call: Call, three: Path) -> None:
    call("prune", "--keep", "1", "--yes", "--history", three)
    data = call("vacuum", "--json", "--history", three).json
    assert data["after"] <= data["before"]
    assert "now" in call("vacuum", "--history", three).out


@pytest.mark.parametrize("verb", [["prune", "--keep", "1"], ["backup", "new.db"], ["vacuum"]])
def test_where_there_is_no_history_there_is_nothing_to_keep_up(call: Call, tmp_path: Path, verb: list[str]) -> None:
    ended = call(*verb, "--history", tmp_path / "none.db")
    assert ended.status == 2
    assert "no history" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_what_describes_a_run_can_be_changed(call: Call, history: Path) -> None:
    asked = ("--tag", "a", "--tag", "b", "--untag", "nightly", "--note", "x\x1b[1m")
    assert call("set", "last", *asked, "--history", history).status == 0
    shown = call("show", "last", "--json", "--history", history).json
    assert (shown["tags"], shown["note"], shown["pinned"]) == (["a", "b"], "x\x1b[1m", False)
    nothing = call("set", "last", "--history", history)
    assert nothing.status == 2
    assert "--pin" in nothing.err
    ended = call("set", "last", "--task-concurrency", "4", "--history", history)
    assert ended.status == 2
    assert "completed" in ended.err


def test_sizes_are_shown_with_runs(call: Call, three: Path) -> None:
    listed = call("runs", "--size", "--history", three)
    assert " kB " in listed.out
    sizes = [run["size"] for run in call("runs", "--size", "--json", "--history", three).json]
    assert len(sizes) == 3
    assert min(sizes) > 1000
    assert "of the history" in call("show", "last", "--history", three).out


def test_the_log_of_a_run_is_shown_character_for_character(call: Call, history: Path) -> None:
    with closing(sqlite3.connect(history)) as connection, connection:
        connection.execute("INSERT INTO log (run, at, level, message) VALUES (1, 0, 'warning', 'odd \x1b]0;x\x07')")
        connection.execute(
            "INSERT INTO commands (run, kind, given_by, given_at) VALUES (1, 'pause\x1b[1m', 'me\x1b[1m', 0)"
        )
    shown = call("show", "last", "--log", "--history", history)
    assert "\x1b" not in shown.out
    assert "warning: odd \\x1b]0;x\\x07" in shown.out
    assert "the runner has not answered" in shown.out
