"""One task a row, comma-separated (RFC 4180), safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any, TextIO

from tui_eval.domain import Score
from tui_eval.reports.data import score_data
from tui_eval.reports.view import TaskView, evaluator_names
from tui_eval.reports.writing import finite, iso, json_text, output_text, visible
from tui_eval.store.records import RequestRecord, RunRecord

FORMULA_STARTS = frozenset("=+-@\t\r\n＝＋－＠")
"""A cell that begins with one of these may be run as a formula (OWASP, "CSV Injection"); such a text gets a ``'`` in
front. Numbers that tui_eval itself writes do not."""

FIRST = ("run_id", "request", "case_id", "repeat", "outcome", "reused_from", "score")
LAST = (
    *("other_scores", "error_kind", "message", "output", "input", "latency_seconds", "attempts", "input_tokens"),
    *("output_tokens", "cost", "trace_id", "started_at", "finished_at"),
)


def write_csv(stream: TextIO, run: RunRecord, requests: list[RequestRecord], tasks: Iterable[TaskView]) -> None:
    """Columns: :data:`FIRST`, then ``score.<name>``, ``passed.<name>`` and ``reason.<name>`` of each evaluator of the
    plan, then :data:`LAST`. ``input`` is JSON; ``output`` is the text form; ``other_scores`` holds scores of
    evaluators that the plan does not name, as JSON."""
    names = evaluator_names(run, [request.name for request in requests])
    writer = csv.writer(stream, lineterminator="\r\n")
    columns = [f"{part}.{name}" for name in names for part in ("score", "passed", "reason")]
    writer.writerow([cell(column) for column in (*FIRST, *columns, *LAST)])
    for view in tasks:
        writer.writerow([cell(value) for value in _row(view, run.run_id, names)])


def _row(view: TaskView, run_id: str, names: list[str]) -> list[Any]:
    task = view.task
    row: list[Any] = [run_id, view.request, task.case_id, task.repeat, task.outcome.value, task.reused_from, task.score]
    scores = {score.evaluator: score for score in view.scores}
    for name in names:
        score = scores.pop(name, None)
        row += (None, None, None) if score is None else (score.value, score.passed, _reason(score))
    others = [score_data(score) for score in scores.values()]
    return [
        *row,
        json_text(others) if others else None,
        task.error_kind,
        task.message,
        output_text(view.output) if view.answered else None,
        json_text(view.input),
        task.latency,
        task.attempts,
        task.input_tokens,
        task.output_tokens,
        task.cost,
        task.trace_id,
        iso(task.started_at),
        iso(task.finished_at),
    ]


def _reason(score: Score) -> str:
    return f"error: {score.error}" if score.error else score.reason


def cell(value: Any) -> str:
    """One value as a cell: nothing in it can be run by a spreadsheet, command a terminal or be no text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if finite(value) is None else repr(value)
    if isinstance(value, int):
        return str(value)
    text = str(value)
    guard = "'" if text and text[0] in FORMULA_STARTS else ""
    return guard + visible(text)
