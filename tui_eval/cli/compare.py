"""``tui-eval compare``: what became better, what became worse, between two runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui_eval.cli.history import opened
from tui_eval.cli.options import examples, history_option, json_option
from tui_eval.cli.output_file import check_free, new_file, standard_output
from tui_eval.cli.terminal import one_line, out, out_json, out_table, outcome_word, tell
from tui_eval.errors import UsageError

if TYPE_CHECKING:
    from tui_eval.analysis.changes import Change
    from tui_eval.reports.comparison import RunComparison, Side
    from tui_eval.store.reader import History
    from tui_eval.store.records import TaskRecord

_EARLIER = 200
"""Most runs that are looked through for the one before."""


@click.command(
    epilog=examples("""
        tui-eval compare                        # the last run with the one before it
        tui-eval compare 20261129-14 last
        tui-eval compare 20261129-14 last --format md --output changes.md
    """)
)
@click.argument("left", default="")
@click.argument("right", default="last")
@click.option("--format", "name", type=click.Choice(["md", "csv"]), help="Write a document instead.")
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("-"), metavar="FILE", help="Default: standard output (-)."
)
@click.option("--force", is_flag=True, help="Replace FILE when it is there.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="List at most N tasks."
)
@history_option
@json_option
def compare(
    left: str,
    right: str,
    name: str | None,
    output: Path,
    force: bool,
    limit: int,
    history: Path | None,
    as_json: bool,
) -> None:
    """Compare run LEFT (before) with run RIGHT (after; default: last).

    Without LEFT it is the run that RIGHT took up, else the run of the same plan before it.

    Tasks belong together by request, case id and repeat. Each difference is in one group: worse (passed, now failed),
    better (failed, now passed), other (another outcome, such as an error), output, new, removed.
    """
    from tui_eval.cli.waiting import Waiting
    from tui_eval.reports.comparison import WRITERS, compare_stored, comparison_data

    to_stdout = str(output) == "-"
    if as_json and name:
        raise UsageError("--json and --format exclude each other")
    if not to_stdout and not name:
        raise UsageError("--output needs --format md or --format csv")
    if not to_stdout:
        check_free(output, force)
    what = "comparing the tasks of both runs"
    with opened(history) as stored, Waiting(what) as waiting:
        found = compare_stored(stored, left or _before(stored, right), right, partial(waiting.at, what))
    if name:
        with standard_output() if to_stdout else new_file(output) as stream:
            WRITERS[name](stream, found)
        if not to_stdout:
            tell(f"the comparison is written to {output}")
    elif as_json:
        out_json(comparison_data(found))
    else:
        _print(found, limit)


def _before(stored: History, right: str) -> str:
    """The run that ``right`` is compared with when none is named. Raises UsageError when there is none."""
    run = stored.run(right)
    if run.parent_run_id is not None:
        return run.parent_run_id
    earlier = stored.runs(limit=_EARLIER, before=(run.created_at, run.id), name=run.name)
    found = next((one.run.run_id for one in earlier if one.run.name == run.name), None)
    if found is None:
        raise UsageError(
            f"there is no run of {run.name} before {run.run_id}; name two: tui-eval compare LEFT RIGHT "
            f"(`tui-eval runs` lists them)"
        )
    return found


def _print(found: RunComparison, limit: int) -> None:
    out_table(["", "run", "plan", "passed", "of", "rate"], [_side("before", found.left), _side("after", found.right)])
    out()
    for note in found.notes:
        tell(f"note: {note}")
    counts = {**{group.value: count for group, count in found.counts.items()}, "unchanged": found.unchanged}
    out("  ".join(f"{count} {word}" for word, count in counts.items()))
    if found.changes:
        out()
        rows = [_row(change) for change in found.changes[:limit]]
        out_table(["", "request", "case", "before", "after", "output now, or why"], rows)
        more = len(found.changes) - limit
        if more > 0:
            out(f"{more} more (--limit, or --format csv)")


def _side(word: str, side: Side) -> list[str]:
    counters = side.total
    rate = "-" if counters.pass_rate is None else f"{counters.pass_rate:.1%}"
    name = one_line(side.run.name, 30)
    return [word, side.run.run_id, name, str(counters.passed), str(counters.decided), rate]


def _row(change: Change) -> list[str]:
    task = change.task
    repeat = f" #{task.repeat + 1}" if task.repeat else ""
    return [
        change.group.value,
        one_line(change.request, 24),
        one_line(task.case_id, 32) + repeat,
        _outcome(change.before),
        _outcome(change.after),
        one_line(task.message or task.output, 60),
    ]


def _outcome(task: TaskRecord | None) -> str:
    return "-" if task is None else outcome_word(task.outcome)
