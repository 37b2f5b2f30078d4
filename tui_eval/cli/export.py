"""``tui-eval export``: a run as a file, or on standard output."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import click

from tui_eval.cli.history import opened, place_of
from tui_eval.cli.options import examples, history_option
from tui_eval.cli.output_file import check_free, new_file, standard_output
from tui_eval.cli.terminal import is_terminal, tell
from tui_eval.cli.waiting import Waiting
from tui_eval.errors import HistoryError, UsageError

T = TypeVar("T")

NAMED = 10
"""Most tasks that a message names."""
PROGRESS_SECONDS = 0.5
"""Between two lines that say how far it is."""


@click.command(
    epilog=examples("""
        tui-eval export last --output results.csv        # the format goes by the name
        tui-eval export last --format md > report.md
        tui-eval export 20261129-14 --format jsonl | jq -r 'select(.outcome == "failed") | .case_id'
    """)
)
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option(
    "--format", "name", metavar="FORMAT", help="json, jsonl, csv, md, or an installed one. Default: by FILE's name."
)
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("-"), metavar="FILE", help="Default: standard output (-)."
)
@click.option("--force", is_flag=True, help="Replace FILE when it is there.")
@click.option("--progress", is_flag=True, help="Say how many tasks are written, on standard error, twice a second.")
@history_option
def export(run_id: str, name: str | None, output: Path, force: bool, progress: bool, history: Path | None) -> None:
    """Write RUN as JSON (one value), JSON lines (one task a line), CSV or Markdown.

    RUN is an id, the beginning of one, or `last`. A file is readable by its owner only, and it is there as a whole or
    not at all. The text is UTF-8.
    """
    from tui_eval.reports import report_formats
    from tui_eval.reports.stored import task_views
    from tui_eval.spec.nearest import suggestion

    formats = report_formats()
    if name is None:
        name = output.suffix.removeprefix(".").lower()
        if name not in formats:
            raise UsageError(f"say which format: --format {', '.join(sorted(formats))}; or name a file, as results.csv")
    if name not in formats:
        raise UsageError(f"there is no format `{name}`; {suggestion(name, formats, label='there are')}")
    write = formats[name].load()
    to_stdout = str(output) == "-"
    if not to_stdout:
        check_free(output, force)
    unreadable: list[str] = []
    with opened(history) as stored:
        run = stored.run(run_id)
        with stored.snapshot(), standard_output() if to_stdout else new_file(output) as stream:
            requests = stored.requests(run)
            views = task_views(stored, run, requests, unreadable=unreadable)
            total = sum(request.counters.total for request in requests)
            if progress:
                write(stream, run, requests, _told(views, total))
            elif to_stdout and is_terminal(sys.stdout):
                write(stream, run, requests, views)  # the tasks themselves are what one sees
            else:
                with Waiting(f"writing run {run.run_id}") as waiting:
                    write(stream, run, requests, waiting.counted(views, total))
    if not to_stdout:
        tell(f"run {run.run_id} is written to {output}")
    if unreadable:
        names = ", ".join(unreadable[:NAMED]) + (", …" if len(unreadable) > NAMED else "")
        raise HistoryError(
            f"{place_of(history)}: the history is damaged: {len(unreadable)} of the tasks could not be read, or not all that belongs to "
            f"them ({names}); everything else is in the export"
        )


def _told(views: Iterable[T], total: int) -> Iterator[T]:
    """The same, saying on standard error how many have been handed on."""
    due = time.monotonic() + PROGRESS_SECONDS
    for count, view in enumerate(views):
        if time.monotonic() >= due:
            tell(f"{count} of {total} tasks")
            due = time.monotonic() + PROGRESS_SECONDS
        yield view
