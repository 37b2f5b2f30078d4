"""``tui-eval datalayer``: what goes with evalsets beside running them. Nothing of it is imported before it is used."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import click

from tui_eval.cli.evalsets import EvalsetOptions, evalset_options, is_evalset, plan_from
from tui_eval.cli.history import opened, place_of
from tui_eval.cli.options import Real, SectionedCommand, examples, history_option, json_option
from tui_eval.cli.terminal import one_line, out, out_json, tell
from tui_eval.errors import UsageError

PATIENCE_SECONDS = 60.0


@click.group()
def datalayer() -> None:
    """Plans and reports of Datalayer evalsets, and what is reported to the platform.

    An evalset itself is run with `tui-eval run X.evalset.json --agentspec NAME`. The API key of the platform comes from
    DATALAYER_API_KEY; local runs need none.
    """


@datalayer.command(
    cls=SectionedCommand,
    short_help="Print the plan that is made of an evalset.",
    epilog=examples("tui-eval datalayer plan customers.evalset.json > customers.yaml"),
)
@click.argument("evalset", type=click.Path(path_type=Path))
@evalset_options
def plan(evalset: Path, **options: Any) -> int:
    """Print the plan that is made of EVALSET, to be written to a file and changed. Without --agentspec it has those that
    the evalset suggests."""
    from tui_eval.spec.compose import plan_text

    if not is_evalset(evalset):
        raise UsageError(f"{evalset} is not a Datalayer evalset (a JSON or YAML file with `name` and `cases`)")
    made = plan_from(evalset, EvalsetOptions(**options), suggested=True)
    assert isinstance(made, dict)
    out(plan_text(made, f"Made of {evalset.name}, which stays the dataset.").rstrip("\n"))
    return 0


@datalayer.command(
    short_help="Write the report of a run as Markdown and CSV.",
    epilog=examples("tui-eval datalayer report last --into ./reports"),
)
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("--into", type=click.Path(path_type=Path), default=Path(), help="Folder to write to. Default: this one.")
@history_option
@json_option
def report(run_id: str, into: Path, history: Path | None, as_json: bool) -> int:
    """Write the report of RUN as Markdown and CSV: prompts, answers, explanations, latencies, pass rates."""
    from tui_eval.platforms.datalayer.report import create_report

    with opened(history) as stored:
        found = stored.run(run_id)
    written = create_report(place_of(history), found.run_id, into)
    paths = {"report_markdown_path": str(written.markdown_path), "report_csv_path": str(written.csv_path)}
    if as_json:
        out_json(paths)
    else:
        for path in paths.values():
            out(path)
    return 0


@datalayer.command(short_help="Report what is left of a run to the platform.")
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option(
    "--timeout-seconds",
    type=Real(0),
    default=PATIENCE_SECONDS,
    show_default=True,
    metavar="S",
    help="Seconds to keep trying while the platform fails.",
)
@history_option
@json_option
def sync(run_id: str, timeout_seconds: float, history: Path | None, as_json: bool) -> int:
    """Report what is left of RUN to the platform. What has arrived is never sent twice.

    Exit status 0 when everything is there, 1 when something is left.
    """
    from tui_eval.platforms.agentloop.locks import reporting_lock
    from tui_eval.platforms.datalayer.reporting import RunReporter, report_all, reported
    from tui_eval.store.liveness import state_now

    place = place_of(history)
    with opened(history) as stored:
        found = stored.run(run_id)
    if state_now(found).live:
        raise UsageError(f"run {found.run_id} is live: its own runner reports it")
    with reporting_lock(place, f"{found.run_id}.datalayer") as ours:
        if not ours:
            raise UsageError(f"another process is reporting run {found.run_id}")
        left = asyncio.run(report_all(RunReporter(place, found.run_id, os.environ), timeout_seconds))
    told = reported(place, found.id)
    if as_json:
        names = ("evalset_id", "evalset_name", "experiment_ids", "run_ids", "view_url")
        out_json({**{name: getattr(told, name) for name in names}, "left": left})
    else:
        if not told.run_ids and not left:
            tell(f"there is nothing to report: run {found.run_id} does not report to Datalayer (`datalayer.report`)")
            return 0
        out(f"{one_line(found.run_id)}: {len(told.run_ids)} run records of {len(told.experiment_ids)} experiments")
        if told.view_url:
            out(one_line(told.view_url))
    if left:
        tell(f"not everything is reported: {left}")
    return 1 if left else 0
