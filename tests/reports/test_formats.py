"""Exports keep every text and let none of them be more than a text."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.analysis.records import counters, request, run, task
from tests.reports.views import PLAN, recorded_outputs, views, written
from tui_eval.domain import Outcome, Score
from tui_eval.reports import FORMATS, Format, report_formats
from tui_eval.reports.csv import FORMULA_STARTS
from tui_eval.reports.markdown import cell, code
from tui_eval.reports.view import TaskView
from tui_eval.reports.writing import json_text, visible
from tui_eval.store.records import AttemptPayload, AttemptRecord, RunState

TEXTS = st.text(alphabet=st.characters()) | st.text(alphabet="=+-@\t\r\n|`\\<>[]*_ ,\"'\x1b\ud800a")
FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]|\r(?!\n)")


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_holds_a_raw_control_character(name: str) -> None:
    assert not FORBIDDEN.search(written(name, views()))


def test_json_and_json_lines_give_every_text_back_unchanged() -> None:
    outputs = [*recorded_outputs(), {"a": [1, None]}, 0, False, None, [], 1.5, 10**30]
    whole = json.loads(written("json", views(outputs)))
    lines = written("jsonl", views(outputs)).splitlines()
    assert [one["output"] for one in whole["tasks"]] == outputs
    assert [json.loads(line)["output"] for line in lines] == outputs
    assert whole["tasks"][0]["scores"][0]["reason"] == outputs[0]
    assert json.loads(lines[0])["run_id"] == whole["run"]["run_id"]


def test_json_holds_the_run_its_counts_and_its_summaries() -> None:
    whole = json.loads(written("json", views()))
    count = len(whole["tasks"])
    assert (whole["format"], whole["version"]) == ("tui_eval.run", 1)
    assert whole["run"]["finished_at"] == "2027-01-15T08:00:09.250Z"
    assert whole["run"]["plan"]["requests"][0]["solution"]["headers"]["authorization"] == "Bearer ${SUPPORT_TOKEN}"
    assert whole["totals"]["failed"] == whole["requests"][0]["counters"]["failed"] == count
    summary = whole["summaries"]["prod"]
    assert summary["decided_text"] == f"0 of {count} decided, {count} total"
    assert [(one["name"], one["undecided"]) for one in summary["evaluators"]] == [("exact", 0), ("quality", count)]
    assert summary["mean"]["mean"] is None


def test_an_output_that_is_null_differs_from_no_output() -> None:
    null = TaskView("prod", task("a", Outcome.PASSED), output=None)
    none = TaskView("prod", task("b", Outcome.ERROR, error_kind="timed_out", message="timed out after 60 s"))
    tasks = json.loads(written("json", [null, none]))["tasks"]
    assert [(one["output"], one["answered"]) for one in tasks] == [(None, True), (None, False)]
    assert [row["output"] for row in rows(written("csv", [null, none]))] == ["null", ""]


def test_what_json_cannot_hold_never_reaches_it() -> None:
    strange = [float("nan"), float("inf"), 10**5000, {1: float("-inf")}, {"deep": _deep(5000)}]
    for name in ("json", "jsonl", "csv"):
        text = written(name, views(strange))
        assert not re.search(r"\b(?:NaN|Infinity)\b", text)
    values = [one["output"] for one in json.loads(written("json", views(strange)))["tasks"]]
    assert values[:2] == [None, None]
    assert values[3] == {"1": None}
    record = task(score=float("nan"), latency=float("inf"))
    assert json.loads(written("json", [TaskView("prod", record)]))["tasks"][0]["score"] is None
    assert rows(written("csv", [TaskView("prod", record)]))[0]["score"] == ""


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_an_empty_run_is_still_a_whole_document() -> None:
    assert json.loads(written("json", []))["tasks"] == []
    assert written("jsonl", []) == ""
    assert len(written("csv", []).splitlines()) == 1
    assert written("md", []).startswith("# support-bot\n")


def test_csv_has_stable_columns_with_some_for_each_evaluator_of_the_plan() -> None:
    odd = TaskView("prod", task("b"), scores=[Score("other", 1.0, True)])
    table = rows(written("csv", [*views(["x"]), odd]))
    assert list(table[0]) == [
        *("run_id", "request", "case_id", "repeat", "outcome", "reused_from", "score"),
        *("score.exact", "passed.exact", "reason.exact", "score.quality", "passed.quality", "reason.quality"),
        *("other_scores", "error_kind", "message", "output", "input", "latency_seconds", "attempts", "input_tokens"),
        *("output_tokens", "cost", "trace_id", "started_at", "finished_at"),
    ]
    assert (table[0]["score.exact"], table[0]["passed.exact"], table[0]["reason.exact"]) == ("0.0", "false", "x")
    assert (table[0]["score.quality"], table[0]["passed.quality"], table[0]["reason.quality"]) == ("", "", "error: x")
    assert table[1]["score.exact"] == ""
    assert json.loads(table[1]["other_scores"])[0]["evaluator"] == "other"


def test_no_csv_cell_is_a_formula_and_numbers_stay_numbers() -> None:
    reader = csv.reader(io.StringIO(written("csv", views()), newline=""), strict=True)
    for row in reader:
        assert not any(text and text[0] in FORMULA_STARTS for text in row)
    negative = TaskView("prod", task(score=-0.25), output="-0.25", scores=[Score("exact", -0.25, True)])
    row = rows(written("csv", [negative]))[0]
    assert (row["score"], row["score.exact"], row["output"]) == ("-0.25", "-0.25", "'-0.25")


@given(TEXTS)
def test_a_csv_output_comes_back_as_the_visible_text(text: str) -> None:
    row = rows(written("csv", views([text])))[0]
    guard = "'" if text and text[0] in FORMULA_STARTS else ""
    assert row["output"] == guard + visible(text)
    assert not FORBIDDEN.search(row["output"])


def test_csv_lines_end_as_rfc_4180_says() -> None:
    assert written("csv", views(["x"])).count("\r\n") == 2


def test_markdown_that_is_rendered_holds_no_foreign_markup() -> None:
    text = written("md", views(), run(PLAN, name="<b>[run](http://x)</b>", note="`|`", warnings=["2 lines | skipped"]))
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    tags = set(re.findall(r"<(/?[a-zA-Z!][^\s>]*)", html))
    own = ["h1", "h2", "ul", "li", "p", "strong", "code", "table", "thead", "tbody", "tr", "th", "td"]
    assert {tag.lstrip("/") for tag in tags} <= set(own)
    assert "&lt;b&gt;[run](http://x)&lt;/b&gt;" in html
    for table in re.findall(r"<table>.*?</table>", html, re.DOTALL):
        widths = {len(re.findall(r"<t[hd]", row)) for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)}
        assert len(widths) == 1


def test_markdown_shows_recorded_texts_character_for_character() -> None:
    text = written("md", views())
    for output in recorded_outputs()[:11]:
        assert output in text


@given(TEXTS)
def test_a_code_span_renders_to_its_text(text: str) -> None:
    html = MarkdownIt("commonmark").render(f"- before {code(text)} after")
    shown = visible(text, one_line=True) if text else ""
    found = re.search(r"<code>(.*)</code>", html, re.DOTALL)
    if not text:
        assert "(empty)" in html
    else:
        assert found is not None
        assert _unescaped(found[1]) == shown


@given(TEXTS, TEXTS)
def test_a_table_cell_renders_to_its_text(one: str, other: str) -> None:
    source = f"| a | b |\n| --- | --- |\n| {cell(one)} | {cell(other)} |\n"
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(source)
    cells = re.findall(r"<td>(.*?)</td>", html, re.DOTALL)
    assert len(cells) == 2
    for text, found in zip((one, other), cells, strict=True):
        assert _unescaped(found).strip() == (visible(text, one_line=True).strip() or "(empty)")


def _unescaped(html: str) -> str:
    return html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


def test_markdown_counts_like_the_run_and_groups_failures() -> None:
    failed = [
        TaskView("prod", task(f"c{n}", Outcome.ERROR, error_kind="http_status", message="HTTP 502")) for n in range(37)
    ]
    passed = [TaskView("prod", task("p", score=1.0), scores=[Score("exact", 1.0, True)])]
    text = written("md", [*failed, *passed])
    assert "- Passed 1 of 1 decided, 38 total" in text
    assert "- **37 ×** `HTTP 502` (error, `http_status`); cases `c0`, `c1`, `c2`, `c3`, `c4`, …" in text
    assert "| prod | completed | 38 | 1 | 0 | 37 |" in text
    assert "\\[20.7%, 100.0%\\]" in text


def test_markdown_says_what_ended_a_run_and_a_request() -> None:
    of_run = run(PLAN, state=RunState.PARTIAL_FAILURE, parent_run_id="earlier", origin="rerun", tags=["nightly"])
    text = written("md", [], of_run, error="the dataset is gone")
    assert "**partial failure**" in text
    assert "- Rerun of `earlier`" in text
    assert "- The request: `the dataset is gone`" in text


def test_attempts_show_what_was_sent_only_when_it_was_read() -> None:
    payload = AttemptPayload({"url": "http://x/?key=${KEY}"}, {"output": "ok"})
    view = TaskView("prod", task(), attempts=[AttemptRecord(1, 0.0, 1.0), AttemptRecord(2, 0.0, 1.0, payload=payload)])
    first, second = json.loads(written("jsonl", [view]))["attempts"]
    assert "sent" not in first
    assert second["sent"] == {"url": "http://x/?key=${KEY}"}


def test_which_machine_ran_it_is_not_exported() -> None:
    of_run = run(PLAN, host="workstation-of-someone", pid=4711, pid_started="99999", folder="/home/someone/plans")
    for name in FORMATS:
        text = written(name, views(["x"]), of_run)
        assert "workstation-of-someone" not in text
        assert "4711" not in text
        assert "/home/someone" not in text


@pytest.mark.parametrize("name", FORMATS)
def test_memory_does_not_grow_with_the_tasks(name: str) -> None:
    def many() -> Iterator[TaskView]:
        for number in range(2000):
            yield TaskView("prod", task(f"c{number}", output="x"), {"q": "y" * 2000}, "z" * 2000)

    class Nowhere(io.StringIO):
        def write(self, text: str) -> int:
            return len(text)

    write = FORMATS[name].load()
    requests = [request(counters=counters(Outcome.PASSED))]
    tracemalloc.start()
    write(Nowhere(), run(PLAN), requests, many())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | TEXTS, st.lists, max_leaves=8))
def test_any_value_is_one_line_of_json(value: Any) -> None:
    text = json_text(value)
    assert len(text.splitlines()) == 1
    json.loads(text, parse_constant=pytest.fail)


def test_plans_of_any_shape_are_reported() -> None:
    for plan in ({}, {"requests": None}, {"requests": ["x", {"name": "prod", "evaluators": "none", "execution": 1}]}):
        assert "prod" in written("md", views(["x"]), run(plan))
        assert rows(written("csv", views(["x"]), run(plan)))[0]["other_scores"]


def test_formats_are_found_by_name_and_loaded_only_when_used() -> None:
    assert set(report_formats()) >= {"json", "jsonl", "csv", "md"}
    assert isinstance(report_formats()["csv"], Format)
    program = (
        "import sys, tui_eval.reports as r; r.FORMATS; print([m for m in sys.modules if m.startswith('tui_eval.')])"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "['tui_eval.reports']"
