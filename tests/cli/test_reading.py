"""The verbs that read the history: what they say is right, whole, and harmless to the terminal."""

from __future__ import annotations

import asyncio
import csv
import importlib
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import RUN, Call, hostile_outputs, write_run
from tui_eval.cli.terminal import safe
from tui_eval.demo.live import embedded_agent
from tui_eval.store.records import RunState

OUTPUTS = hostile_outputs()
COUNTS = Counter(["passed", "failed", "error", "unscored", "cancelled"][n % 5] for n in range(len(OUTPUTS)))


def test_runs_lists_what_is_there_with_its_counts(call: Call, history: Path) -> None:
    done = call("runs", "--history", history)
    assert done.status == 0
    row = next(line for line in done.out.splitlines() if line.startswith(RUN))
    assert "completed with errors" in row
    assert f"{len(OUTPUTS)}/{len(OUTPUTS)}" in row
    (run,) = call("runs", "--history", history, "--json").json
    assert {word: run["counts"][word] for word in COUNTS} == dict(COUNTS)
    assert run["pass_rate"] == COUNTS["passed"] / (COUNTS["passed"] + COUNTS["failed"])


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["--name", "HOSTILE"], 1),
        (["--name", "other"], 0),
        (["--tag", "nightly"], 1),
        (["--tag", "night"], 0),
        (["--state", "completed"], 1),
        (["--state", "running"], 0),
        (["--since", "2027-01-01"], 1),
        (["--since", "2027-01-16"], 0),
        (["--since", "30d"], 1),
        (["--since", "today"], 1),
        (["--until", "2027-01-01"], 0),
        (["--until", "2027-01-16"], 1),
        (["--until", "yesterday"], 0),
        (["--text", "REYKJAVÍK"], 1),
        (["--text", "no text like this"], 0),
        (["--text", "!reykjavík"], 0),
        (["--text", "reykjavík", "--tag", "night"], 0),
    ],
)
def test_runs_can_be_filtered(call: Call, history: Path, filters: list[str], found: int) -> None:
    assert len(call("runs", "--history", history, "--json", *filters).json) == found


@pytest.mark.parametrize("option", ["--since", "--until"])
def test_a_day_that_is_none_is_refused_in_words(call: Call, history: Path, option: str) -> None:
    done = call("runs", "--history", history, option, "last week")
    assert (done.status, done.out) == (2, "")
    assert "last week is no day or time; write 2026-11-29, 2026-11-29T09:30, today, yesterday, or 7d" in done.err


def test_an_empty_history_says_how_the_first_run_is_made(call: Call, tmp_path: Path) -> None:
    assert "`tui-eval run PLAN` makes the first" in call("runs", "--history", tmp_path / "none.db").err


def test_the_format_of_an_export_goes_by_the_name_of_the_file(call: Call, history: Path, tmp_path: Path) -> None:
    for name, begins in (("r.csv", "run_id,"), ("r.JSON", "{"), ("r.md", "# ")):
        assert call("export", "--history", history, "--output", tmp_path / name).status == 0
        assert (tmp_path / name).read_text(encoding="utf-8-sig").startswith(begins)


@pytest.mark.parametrize("output", [[], ["--output", "results.xls"]])
def test_an_export_of_no_format_is_asked_for_one(call: Call, history: Path, output: list[str]) -> None:
    done = call("export", "--history", history, *output)
    assert (done.status, done.out) == (2, "")
    assert "say which format: --format csv, json, jsonl, md" in done.err


def test_headers_and_events_of_an_answer_have_a_line_each(call: Call, tmp_path: Path) -> None:
    with embedded_agent() as address:
        solution = {"type": "http", "url": f"{address}/sse", "body": {"input": "x"}, "chunk_extractor": "delta"}
        request = {"name": "a", "dataset": {"cases": [{"id": "one"}]}, "solution": solution}
        (tmp_path / "plan.json").write_text(json.dumps({"version": 1, "name": "p", "requests": [request]}))
        call("run", tmp_path / "plan.json", "--history", tmp_path / "h.db")
    told = call("show", "last", "--case", "one", "--history", tmp_path / "h.db").out
    assert re.search(r"^ {4}headers:\n {6}Content-Type: text/event-stream$", told, re.MULTILINE)
    assert re.search(r'^ {4}events: \d+\n {4} +0\.\d{3} s  message  \{"delta":', told, re.MULTILINE)
    assert "null" not in told.partition("usage:")[2]


def test_a_search_for_no_text_is_refused(call: Call, history: Path) -> None:
    done = call("runs", "--history", history, "--text", " ")
    assert (done.status, done.out) == (2, "")
    assert "--text is empty" in done.err


def test_no_history_is_no_error_for_a_list_and_a_clear_one_for_a_run(call: Call, tmp_path: Path) -> None:
    nowhere = tmp_path / "none.db"
    assert call("runs", "--history", nowhere).status == 0
    assert call("runs", "--history", nowhere, "--json").json == []
    done = call("show", "--history", nowhere)
    assert (done.status, done.out) == (2, "")
    assert "no history" in done.err
    assert not nowhere.exists()


@pytest.mark.parametrize("verb", ["runs", "show", "watch"])
def test_a_file_that_is_no_history_is_refused_and_left_alone(call: Call, tmp_path: Path, verb: str) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(b"not a database" * 100)
    done = call(verb, "--history", path)
    assert (done.status, done.out) == (3, "")
    assert str(path) in done.err
    assert path.read_bytes() == b"not a database" * 100
    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.db"]


def test_show_gives_counts_rates_with_intervals_and_failures_grouped(call: Call, history: Path) -> None:
    done = call("show", "--history", history)
    assert done.status == 0
    assert f"{COUNTS['passed'] / (COUNTS['passed'] + COUNTS['failed']):.1%} (" in done.out
    (agent, empty) = call("show", RUN[:10], "--history", history, "--json").json["requests"]
    assert {word: agent["counts"][word] for word in COUNTS} == dict(COUNTS)
    assert agent["pass_rate"]["count"] == COUNTS["passed"]
    assert 0 < agent["pass_rate"]["low"] < agent["pass_rate"]["rate"] < agent["pass_rate"]["high"] < 1
    assert sum(group["count"] for group in agent["failures"]) == COUNTS["failed"] + COUNTS["error"] + COUNTS["unscored"]
    assert empty["pass_rate"]["rate"] is None


def test_nothing_decided_shows_a_dash_and_no_percentage(call: Call, history: Path) -> None:
    row = next(line for line in call("show", "--history", history).out.splitlines() if line.startswith("empty"))
    assert "%" not in row
    assert "nan" not in row.lower()


def test_show_lists_tasks_by_outcome(call: Call, history: Path) -> None:
    done = call("show", "--history", history, "--outcome", "failed,error")
    assert len([line for line in done.out.splitlines() if line.startswith(("✗ failed", "! error"))]) == (
        COUNTS["failed"] + COUNTS["error"]
    )
    tasks = call("show", "--history", history, "--outcome", "failed", "--json").json
    assert {task["outcome"] for task in tasks} == {"failed"}
    assert all("id" not in task for task in tasks)


def test_a_case_is_shown_with_what_was_sent_received_and_judged(call: Call, history: Path) -> None:
    done = call("show", "--history", history, "--case", "case-1")
    assert done.status == 0
    for part in ("case-1", "✗ failed", OUTPUTS[1], "POST", "exact", f"reason {OUTPUTS[1]}"):
        assert part in done.out
    (task,) = call("show", "--history", history, "--case", "case-1", "--json").json
    assert task["input"] == {"text": OUTPUTS[1]}
    assert task["attempt_list"][0]["payload"]["answer"]["output"] == OUTPUTS[1]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--case", "case-1x"], "did you mean `case-1"),
        (["--request", "agnt"], "did you mean `agent`"),
        (["--outcome", "passd"], "there are passed"),
        (["no-such-run"], "no-such-run"),
    ],
)
def test_what_is_not_there_is_refused_with_a_hint(call: Call, history: Path, arguments: list[str], hint: str) -> None:
    done = call("show", *arguments, "--history", history)
    assert (done.status, done.out) == (2, "")
    assert hint in done.err


@pytest.mark.parametrize("number", range(len(OUTPUTS)))
def test_every_text_from_outside_is_shown_character_for_character(call: Call, history: Path, number: int) -> None:
    done = call("show", "--history", history, "--case", f"case-{number}")
    assert "\x1b" not in done.out
    assert "\x9b" not in done.out
    assert "\u202e" not in done.out
    for line in safe(OUTPUTS[number]).split("\n"):
        assert line in done.out


def test_no_verb_lets_content_command_the_terminal(call: Call, history: Path) -> None:
    for arguments in (
        ["runs"],
        ["show"],
        ["show", "--outcome", "passed,failed,error,unscored,cancelled,left"],
        ["watch"],
        ["show", "--json"],
        ["runs", "--json"],
        ["export", "--format", "md"],
    ):
        done = call(*arguments, "--history", history)
        assert done.status == 0, done.err
        assert "\x1b" not in done.out + done.err
        assert "\x9b" not in done.out + done.err


@pytest.mark.parametrize("name", ["json", "jsonl", "csv", "md"])
def test_an_export_is_a_private_file_that_is_not_replaced_unasked(
    call: Call, history: Path, tmp_path: Path, name: str
) -> None:
    target = tmp_path / f"out.{name}"
    assert call("export", "--history", history, "--format", name, "--output", target).status == 0
    assert target.stat().st_mode & 0o777 == 0o600
    first = target.read_bytes()
    assert first == call("export", "--history", history, "--format", name, "--output", "-").out.encode()
    target.write_bytes(b"mine")
    again = call("export", "--history", history, "--format", name, "--output", target)
    assert again.status == 2
    assert "--force" in again.err
    assert target.read_bytes() == b"mine"
    assert call("export", "--history", history, "--format", name, "--output", target, "--force").status == 0
    assert target.read_bytes() == first
    assert sorted(entry.suffix for entry in tmp_path.iterdir() if entry.name.startswith(".")) == []


def test_exports_hold_every_task_and_every_character(call: Call, history: Path) -> None:
    lines = call("export", "--history", history, "--format", "jsonl").out.splitlines()
    tasks = [json.loads(line) for line in lines]
    assert Counter(task["outcome"] for task in tasks) == COUNTS
    answered = {n for n in range(len(OUTPUTS)) if n % 5 in (0, 1, 3)}
    by_case = {task["case_id"]: task for task in tasks}
    for number in answered:
        assert by_case[f"case-{number}"]["output"] == OUTPUTS[number]
    rows = list(csv.DictReader(io.StringIO(call("export", "--history", history, "--format", "csv").out)))
    assert Counter(row["outcome"] for row in rows) == COUNTS


def test_an_unknown_format_or_an_impossible_place_is_refused(call: Call, history: Path, tmp_path: Path) -> None:
    assert "there are" in call("export", "--history", history, "--format", "pdf").err
    for place in (tmp_path, tmp_path / "no" / "folder.json"):
        done = call("export", "--history", history, "--format", "json", "--output", place)
        assert (done.status, done.out) == (2, "")


def test_an_export_that_cannot_be_written_leaves_nothing_behind(call: Call, history: Path) -> None:
    done = call("export", "--history", history, "--format", "json", "--output", "/dev/full")
    assert done.status == 74
    assert Path("/dev/full").is_char_device()
    assert "cannot be written" in done.err


def test_head_may_close_standard_output_at_any_time(history: Path) -> None:
    for arguments in (["export", "--format", "json"], ["show"], ["runs", "--json"]):
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "wb") as gone:
            done = subprocess.run(
                [sys.executable, "-m", "tui_eval", *arguments, "--history", str(history)],
                stdout=gone,
                stderr=subprocess.PIPE,
                timeout=60,
            )
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_without_utf8_still_gets_whole_json(history: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tui_eval",
            "show",
            "--json",
            "--history",
            str(history),
            "--case",
            f"case-{len(OUTPUTS) - 1}",
        ],
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.stdout.isascii()
    assert json.loads(done.stdout)[0]["input"]["text"] == OUTPUTS[-1]


def test_watch_ends_with_the_run_and_can_give_its_verdict(call: Call, history: Path) -> None:
    done = call("watch", "--history", history)
    assert done.status == 0
    assert f"{len(OUTPUTS)}/{len(OUTPUTS)} tasks (100 %)" in done.out
    assert call("watch", "--history", history, "--exit-code").status == 1


def test_watch_follows_a_run_that_another_process_finishes(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    asyncio.run(write_run(path, end=False))

    def finish() -> None:
        time.sleep(0.5)
        asyncio.run(write_run(tmp_path / "other.db"))

        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE runs SET state = 'completed', finished_at = 1.8e9 + 1")
        connection.close()

    thread = threading.Thread(target=finish)
    thread.start()
    done = call("watch", "--history", path, "--json", "--interval", "0.1")
    thread.join()
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert lines[0]["state"] == "running"
    assert lines[-1]["state"] == "completed"
    assert done.status == 0


def test_watch_says_when_the_runner_is_gone(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    code = (
        "import asyncio, pathlib, sys\n"
        "from tests.cli.conftest import write_run\n"
        "asyncio.run(write_run(pathlib.Path(sys.argv[1]), end=False))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60, cwd=Path(__file__).parents[2])
    done = call("watch", "--history", path)
    assert done.status == 1
    assert f"tui-eval resume {RUN}" in done.err
    assert call("runs", "--history", path, "--json").json[0]["state"] == RunState.INTERRUPTED.value
    assert f"tui-eval resume {RUN}" in call("doctor", "--history", path).out


@pytest.mark.parametrize("name", ["json", "jsonl", "csv", "md"])
def test_an_export_has_everything_that_a_damaged_history_still_has(
    call: Call, history: Path, tmp_path: Path, name: str
) -> None:
    rubbish = b"{ not json" if name == "json" else b"\xff\x00\xff"
    with closing(sqlite3.connect(history)) as connection:
        connection.execute("UPDATE payloads SET data = ? WHERE id = (SELECT min(id) FROM payloads)", (rubbish,))
        connection.commit()
    target = tmp_path / "export"
    done = call("export", "--history", history, "--format", name, "--output", target)
    assert done.status == 3
    assert str(history) in done.err
    assert "1 of the tasks could not be read" in done.err
    text = target.read_text(encoding="utf-8")
    if name == "jsonl":
        tasks = [json.loads(line) for line in text.splitlines()]
        assert len(tasks) == len(OUTPUTS)
        assert sum(task["output"] is not None for task in tasks) >= sum(task["answered"] for task in tasks) - 1
    assert text


def test_an_export_has_the_results_of_a_case_that_is_gone(call: Call, history: Path) -> None:
    with closing(sqlite3.connect(history)) as connection:
        connection.execute("DELETE FROM cases WHERE id = (SELECT min(case_key) FROM tasks)")
        connection.commit()
    done = call("export", "--history", history, "--format", "jsonl")
    assert done.status == 3
    assert "1 of the tasks could not be read" in done.err
    tasks = [json.loads(line) for line in done.out.splitlines()]
    assert len(tasks) == len(OUTPUTS)
    assert [bool(task["input"]) for task in tasks].count(False) == 1
    assert all(task["attempts"] for task in tasks if task["answered"])


def test_doctor_finds_a_healthy_history_well_and_a_damaged_one_not(call: Call, history: Path, tmp_path: Path) -> None:
    done = call("doctor", "--history", history)
    assert done.status == 0, done.out
    for word in ("python", "sqlite", "terminal", "history", str(history)):
        assert word in done.out
    assert call("doctor", "--history", history, "--json").json["well"] is True
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"garbage" * 1000)
    done = call("doctor", "--history", damaged)
    assert done.status == 3
    assert str(damaged) in done.out


def test_doctor_without_a_history_makes_none(call: Call, tmp_path: Path) -> None:
    nowhere = tmp_path / "folder" / "none.db"
    assert call("doctor", "--history", nowhere).status == 0
    assert not nowhere.parent.exists()


def test_an_export_says_how_far_it_is_when_asked(
    call: Call, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("tui_eval.cli.export"), "PROGRESS_SECONDS", 0.0)
    ended = call("export", "--history", history, "--format", "csv", "--output", tmp_path / "x.csv", "--progress")
    lines = [line for line in ended.err.splitlines() if line.endswith("tasks")]
    assert lines == [f"{place} of {len(OUTPUTS)} tasks" for place in range(len(OUTPUTS))]
    quiet = call("export", "--history", history, "--format", "csv", "--output", tmp_path / "y.csv")
    assert "tasks" not in quiet.err
