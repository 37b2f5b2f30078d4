"""One task a line, as JSON. No line holds a character that any reader takes for the end of a line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from tui_eval.reports.data import task_data
from tui_eval.reports.view import TaskView
from tui_eval.reports.writing import json_text
from tui_eval.store.records import RequestRecord, RunRecord


def write_jsonl(stream: TextIO, run: RunRecord, requests: list[RequestRecord], tasks: Iterable[TaskView]) -> None:
    """Each line is a task as :func:`~tui_eval.reports.data.task_data` gives it, with the run's id in front."""
    for view in tasks:
        stream.write(json_text({"run_id": run.run_id, **task_data(view)}) + "\n")
