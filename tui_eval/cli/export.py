"""``tui-eval export``: a run as a file, or on standard output."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui_eval.cli.history import opened
from tui_eval.cli.options import history_option
from tui_eval.cli.output_file import check_free, new_file, standard_output
from tui_eval.cli.terminal import tell
from tui_eval.domain import JsonValue
from tui_eval.errors import UsageError

if TYPE_CHECKING:
    from tui_eval.reports.view import TaskView
    from tui_eval.store.reader import History
    from tui_eval.store.records import AttemptRecord, RequestRecord, RunRecord


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("--format", "name", required=True, metavar="FORMAT", help="json, jsonl, csv, md, or an installed one.")
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("-"), metavar="FILE", help="Default: standard output (-)."
)
@click.option("--force", is_flag=True, help="Replace FILE when it is there.")
@history_option
def export(run_id: str, name: str, output: Path, force: bool, history: Path | None) -> None:
    """Write RUN as JSON (one value), JSON lines (one task a line), CSV or Markdown.

    RUN is an id, the beginning of one, or `last`. A file is readable by its owner only, and it is there as a whole or
    not at all. The text is UTF-8.
    """
    from tui_eval.reports import report_formats
    from tui_eval.spec.nearest import suggestion

    formats = report_formats()
    if name not in formats:
        raise UsageError(f"there is no format `{name}`; {suggestion(name, formats, label='there are')}")
    write = formats[name].load()
    to_stdout = str(output) == "-"
    if not to_stdout:
        check_free(output, force)
    with opened(history) as stored:
        run = stored.run(run_id)
        with stored.snapshot(), standard_output() if to_stdout else new_file(output) as stream:
            requests = stored.requests(run)
            write(stream, run, requests, task_views(stored, run, requests))
    if not to_stdout:
        tell(f"run {run.run_id} is written to {output}")


def task_views(stored: History, run: RunRecord, requests: list[RequestRecord]) -> Iterator[TaskView]:
    """Every task of a run with all that belongs to it, in the order of the plan, a few hundred in memory at a time."""
    from tui_eval.cli.summary import batches
    from tui_eval.reports.view import TaskView

    for request in requests:
        for tasks in batches(stored.iter_tasks(run, request=request.id)):
            keys = [task.id for task in tasks]
            cases = stored.cases_of(task.case_key for task in tasks)
            scores = stored.scores_of(keys)
            attempts = stored.attempts_of(keys, payloads=True)
            for task in tasks:
                made = attempts.get(task.id, [])
                yield TaskView(
                    request.name, task, cases[task.case_key], last_output(made), scores.get(task.id, []), made
                )


def last_output(attempts: list[AttemptRecord]) -> JsonValue:
    """The whole output of the last attempt that gave an answer, None when none did."""
    for attempt in reversed(attempts):
        if not attempt.error_kind and attempt.payload is not None and attempt.payload.answer is not None:
            return attempt.payload.answer.get("output")
    return None
