"""``tui-eval compare``: differences for people, scripts, documents and spreadsheets."""

from __future__ import annotations

import asyncio
import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.support.detailed import Told, write_told
from tests.support.histories import run_record
from tui_eval.domain import Outcome

HOSTILE = "=cmd|'/c calc'!A1 \x1b[31m|`[x](y)"


@pytest.fixture
def history(tmp_path: Path) -> Path:
    path = tmp_path / "history.db"

    async def write() -> None:
        before = [Told(HOSTILE, Outcome.PASSED, output=HOSTILE), Told("same", Outcome.PASSED)]
        after = [Told(HOSTILE, Outcome.FAILED, output="other", message=HOSTILE), Told("same", Outcome.PASSED)]
        await write_told(path, before, run_record("before", 1.0, "20260101-000000-aaaa"))
        await write_told(path, after, run_record("after", 2.0, "20260102-000000-bbbb"))

    asyncio.run(write())
    return path


def test_without_a_name_it_is_the_run_of_the_same_plan_before(call: Call, history: Path) -> None:
    told = [Told("same", Outcome.FAILED)]
    asyncio.run(write_told(history, told, run_record("before", 3.0, "20260103-000000-cccc")))
    named = call("compare", "20260101", "last", "--history", history)
    assert named.out
    assert call("compare", "--history", history).out == named.out


def test_without_a_name_it_is_the_run_that_was_taken_up(call: Call, history: Path) -> None:
    child = replace(run_record("after", 3.0, "20260103-000000-cccc"), parent_run_id="20260101-000000-aaaa")
    asyncio.run(write_told(history, [Told("same", Outcome.FAILED)], child))
    assert "before  20260101-000000-aaaa" in call("compare", "--history", history).out


def test_a_run_with_none_before_it_needs_a_name(call: Call, history: Path) -> None:
    ended = call("compare", "", "20260101", "--history", history)
    assert (ended.status, ended.out) == (2, "")
    assert "there is no run of" in ended.err
    assert "tui-eval compare LEFT RIGHT" in ended.err


def test_people_see_counts_and_what_became_worse(call: Call, history: Path) -> None:
    ended = call("compare", "20260101", "last", "--history", history)
    assert ended.status == 0
    assert "1 worse  0 better  0 other  0 output  0 new  0 removed  1 unchanged" in ended.out
    assert "✓ passed  ✗ failed" in ended.out
    assert "\x1b" not in ended.out


def test_the_later_run_is_the_last_one_unless_named(call: Call, history: Path) -> None:
    found = call("compare", "20260101", "--json", "--history", history).json
    assert (found["left"]["run_id"], found["right"]["run_id"]) == ("20260101-000000-aaaa", "20260102-000000-bbbb")
    assert found["counts"]["worse"] == 1
    assert found["unchanged"] == 1
    (change,) = found["changes"]
    assert (change["case_id"], change["left"]["outcome"], change["right"]["outcome"]) == (HOSTILE, "passed", "failed")


def test_a_spreadsheet_runs_nothing(call: Call, history: Path) -> None:
    ended = call("compare", "20260101", "last", "--format", "csv", "--history", history)
    (row,) = csv.DictReader(io.StringIO(ended.out))
    assert row["group"] == "worse"
    assert row["case_id"].startswith("'=")
    assert row["output.before"].startswith("'=")
    assert "\x1b" not in ended.out


def test_markdown_is_written_to_a_file_that_is_never_replaced_unasked(
    call: Call, history: Path, tmp_path: Path
) -> None:
    target = tmp_path / "changes.md"
    words = ("compare", "20260101", "last", "--format", "md", "--output", target, "--history", history)
    assert call(*words).status == 0
    text = target.read_text(encoding="utf-8")
    assert "## Worse: passed before, failed now" in text
    assert "\\[x\\](y)" not in text.replace("\\(", "(").replace("\\)", ")") or "\\[x\\]" in text
    assert call(*words).status == 2
    assert call(*words, "--force").status == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("compare", "nothing", "last"), "nothing"),
        (("compare", "last", "last", "--json", "--format", "md"), "exclude"),
        (("compare", "last", "last", "--output", "x.md"), "--format"),
    ],
)
def test_what_cannot_be_compared_is_a_fault_of_usage(
    call: Call, history: Path, words: tuple[str, ...], told: str
) -> None:
    ended = call(*words, "--history", history)
    assert ended.status == 2
    assert told in ended.err
    assert ended.out == ""


def test_a_run_compared_with_itself_has_no_difference(call: Call, history: Path) -> None:
    ended = call("compare", "last", "last", "--history", history)
    assert "2 unchanged" in ended.out
    assert ended.status == 0
