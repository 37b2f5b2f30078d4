"""The whole run as one JSON value, written as the tasks come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TextIO

from tui_eval.analysis.summary import total_of
from tui_eval.reports.data import request_data, run_data, summary_data, task_data
from tui_eval.reports.tallies import RequestTallies
from tui_eval.reports.view import TaskView
from tui_eval.reports.writing import json_text
from tui_eval.store.records import RequestRecord, RunRecord

FORMAT = "tui_eval.run"
VERSION = 1


def write_json(stream: TextIO, run: RunRecord, requests: list[RequestRecord], tasks: Iterable[TaskView]) -> None:
    """``{format, version, run, requests, totals, tasks, summaries}``; one task a line within ``tasks``."""
    tallies = RequestTallies.of(run, requests)
    stream.write(f'{{"format": {json_text(FORMAT)}, "version": {VERSION},\n')
    stream.write(f'"run": {json_text(run_data(run))},\n')
    stream.write(f'"requests": {json_text([request_data(request) for request in requests])},\n')
    totals = total_of(request.counters for request in requests)
    stream.write(f'"totals": {json_text(asdict(totals))},\n"tasks": [')
    separator = "\n"
    for view in tasks:
        tallies.add(view)
        stream.write(separator + json_text(task_data(view)))
        separator = ",\n"
    summaries = {name: summary_data(summary) for name, summary in tallies.summaries(requests).items()}
    stream.write(f'\n],\n"summaries": {json_text(summaries)}}}\n')
