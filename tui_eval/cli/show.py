"""``tui-eval show``: what a run came to, which tasks failed, and one case in full."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_eval.cli.history import duration, opened
from tui_eval.cli.options import examples, history_option, json_option
from tui_eval.cli.run_fields import run_fields
from tui_eval.cli.terminal import one_line, out, out_json, out_table, outcome_word
from tui_eval.domain import Outcome
from tui_eval.errors import UsageError

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.records import RunRecord, TaskRecord


_COMPARED_CASES = 10_000
"""Cases among which the nearest one to an unknown id is looked for: a second or less."""


def outcomes_in(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[Outcome, ...] | None:
    """``failed,error`` as outcomes; ``left`` stands for queued and running."""
    if value is None:
        return None
    found: list[Outcome] = []
    for word in value.split(","):
        name = word.strip().lower()
        if name == "left":
            found += [Outcome.QUEUED, Outcome.RUNNING]
        elif name in list(Outcome):
            found.append(Outcome(name))
        else:
            known = ", ".join([*Outcome, "left"])
            raise click.BadParameter(f"`{word.strip()}` is no outcome; there are {known}", ctx=context, param=parameter)
    return tuple(found)


@click.command(
    epilog=examples("""
        tui-eval show                                   # the last run
        tui-eval show last --outcome failed,error       # one line a task
        tui-eval show 20261129-14 --case order-17       # sent, received, judged
        tui-eval show last --log
    """)
)
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("--request", "request_name", metavar="NAME", help="Only this request.")
@click.option(
    "--outcome",
    "outcomes",
    callback=outcomes_in,
    metavar="LIST",
    help="List the tasks with these outcomes: passed,failed,error,unscored,cancelled,left.",
)
@click.option("--case", "case_id", metavar="ID", help="Show this case in full: what was sent, received and judged.")
@click.option("--log", "with_log", is_flag=True, help="Show what the runner noted, and who asked it for what, when.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=100, show_default=True, metavar="N", help="List at most N tasks."
)
@history_option
@json_option
def show(
    run_id: str,
    request_name: str | None,
    outcomes: tuple[Outcome, ...] | None,
    case_id: str | None,
    with_log: bool,
    limit: int,
    history: Path | None,
    as_json: bool,
) -> None:
    """Show RUN: counts, pass rates with their intervals, and failures grouped.

    RUN is an id, the beginning of one, or `last`. With --outcome: one line a task; with --case: one case in full.
    """
    with opened(history) as stored:
        run = stored.run(run_id)
        request = request_of(stored, run, request_name)
        if with_log:
            from tui_eval.cli.run_log import show_log

            show_log(stored, run, as_json)
        elif case_id is not None:
            _show_case(stored, run, request, outcomes, case_id, as_json)
        elif outcomes is not None:
            _show_tasks(stored, run, request, outcomes, limit, as_json)
        elif as_json:
            out_json(run_json(stored, run, request_name))
        else:
            from tui_eval.cli.summary import print_summary

            print_summary(stored, run, only=request_name)
            _print_end(stored, run)


def _print_end(stored: History, run: RunRecord) -> None:
    """How much of the history the run takes, and how to go on with it when nothing does."""
    from tui_eval.display import readable_size
    from tui_eval.store.liveness import state_now
    from tui_eval.store.records import RunState

    out()
    out(f"{readable_size(stored.size_of(run))} of the history")
    if state_now(run) is RunState.INTERRUPTED:
        out(f"nothing works on this run any more; finish it with: tui-eval resume {one_line(run.run_id)}")


def request_of(stored: History, run: RunRecord, name: str | None) -> int | None:
    """The key of a run's request by name, None for no name. Raises UsageError when there is no such request."""
    from tui_eval.spec.nearest import suggestion

    if name is None:
        return None
    keys = {request.name: request.id for request in stored.requests(run)}
    if name not in keys:
        hint = suggestion(name, keys, label="it has")
        raise UsageError(f"run {run.run_id} has no request `{name}`" + (f"; {hint}" if hint else ""))
    return keys[name]


def run_json(stored: History, run: RunRecord, only: str | None = None) -> dict[str, Any]:
    """A run's summary as JSON data: counts, rates with intervals, evaluators and failures, by request."""
    from tui_eval.analysis.failures import group_failures
    from tui_eval.cli.summary import FAILURES, summarise_run

    requests = []
    for one in summarise_run(stored, run):
        if only is not None and one.request.name != only:
            continue
        failures = group_failures(stored.iter_tasks(run, request=one.request.id, outcomes=FAILURES))
        summary = asdict(one.summary)
        counters = summary.pop("counters")
        requests.append(
            {
                "name": one.request.name,
                "state": one.request.state.value,
                "error": one.request.error,
                "solution": one.request.solution_type,
                "dataset": one.request.dataset,
                "counts": {**counters, "finished": one.request.counters.finished},
                **summary,
                "failures": [
                    {
                        "outcome": group.outcome.value,
                        "error_kind": group.error_kind,
                        "message": group.label,
                        "count": group.count,
                        "cases": group.case_ids,
                    }
                    for group in failures
                ],
            }
        )
    return {
        **run_fields(run),
        "warnings": run.warnings,
        "pinned": run.pinned,
        "size": stored.size_of(run),
        "requests": requests,
    }


def _show_tasks(
    stored: History,
    run: RunRecord,
    request: int | None,
    outcomes: tuple[Outcome, ...],
    limit: int,
    as_json: bool,
) -> None:
    names = {request.id: request.name for request in stored.requests(run)}
    tasks = stored.tasks(run, request=request, outcomes=outcomes, limit=limit)
    more = 0
    if len(tasks) == limit:
        more = len(stored.task_keys(run, request=request, outcomes=outcomes)) - limit
    if as_json:
        from tui_eval.cli.case_detail import task_json

        out_json([task_json(task, names[task.request]) for task in tasks])
        return
    rows = [
        [
            outcome_word(task.outcome),
            one_line(names[task.request], 24),
            one_line(task.case_id, 32) + (f" #{task.repeat + 1}" if task.repeat else ""),
            str(task.attempts),
            duration(task.latency),
            "-" if task.score is None else f"{task.score:.3g}",
            one_line(task.message or task.output, 80),
        ]
        for task in tasks
    ]
    out_table(["outcome", "request", "case", "attempts", "took", "score", "why, or the output"], rows, right=(3, 4, 5))
    out(f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}" + (f", {more} more (--limit)" if more else ""))


def _show_case(
    stored: History,
    run: RunRecord,
    request: int | None,
    outcomes: tuple[Outcome, ...] | None,
    case_id: str,
    as_json: bool,
) -> None:
    from tui_eval.cli.case_detail import case_json, print_case

    tasks = list(_tasks_of_case(stored, run, request, outcomes, case_id))
    if not tasks:
        from tui_eval.spec.nearest import suggestion

        values = stored.task_values(run)
        known = (value.case_id for value in values if value.repeat == 0 and request in (None, value.request))
        hint = suggestion(case_id, islice(known, _COMPARED_CASES))
        raise UsageError(f"run {run.run_id} has no task for the case `{case_id}`" + (f"; {hint}" if hint else ""))
    names = {request.id: request.name for request in stored.requests(run)}
    if as_json:
        out_json([case_json(stored, task, names[task.request]) for task in tasks])
        return
    for task in tasks:
        print_case(stored, task, names[task.request])


def _tasks_of_case(
    stored: History, run: RunRecord, request: int | None, outcomes: tuple[Outcome, ...] | None, case_id: str
) -> Iterator[TaskRecord]:
    for task in stored.iter_tasks(run, request=request, outcomes=outcomes, text=case_id):
        if task.case_id == case_id:
            yield task
