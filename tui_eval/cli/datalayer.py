"""``tui-eval datalayer``: what goes with evalsets beside running them. Nothing of it is imported before it is used."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import click

from tui_eval.cli.evalsets import EvalsetOptions, evalset_options, is_evalset, plan_from
from tui_eval.cli.history import opened, place_of
from tui_eval.cli.options import Real, SectionedCommand, examples, history_option, json_option, set_option
from tui_eval.cli.output_file import check_free, new_file
from tui_eval.cli.terminal import one_line, out, out_json, out_table, tell
from tui_eval.errors import UsageError

PATIENCE_SECONDS = 60.0


@click.group()
def datalayer() -> None:
    """Plans, grading and reports of Datalayer evalsets, and what is reported to the platform.

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
    short_help="Grade outputs that are there already.",
    epilog=examples("""
        tui-eval datalayer evaluate customers.evalset.json --outputs answers.json
        tui-eval datalayer evaluate customers.evalset.json --outputs answers.json --grading compat --output metrics.json
    """),
)
@click.argument("evalset", type=click.Path(path_type=Path))
@click.option(
    "--outputs",
    required=True,
    type=click.Path(path_type=Path),
    help="JSON: a list in the order of the cases, or a mapping by their names; texts, or objects with a `text`.",
)
@click.option("--statuses", type=click.Path(path_type=Path), help="JSON list; `failed` is an error of its case.")
@click.option("--grading", type=click.Choice(["strict", "compat"]), default="strict", show_default=True)
@click.option("--output", type=click.Path(path_type=Path), help="Also write the metrics as JSON to this file.")
@click.option("--force", is_flag=True, help="Replace the file of --output.")
@set_option
@json_option
def evaluate(
    evalset: Path,
    outputs: Path,
    statuses: Path | None,
    grading: str,
    output: Path | None,
    force: bool,
    overrides: tuple[str, ...],
    as_json: bool,
) -> int:
    """Grade outputs by the evaluators of EVALSET: no agent is asked, nothing is kept.

    The judge of `llm_judge` is set as in a plan: --set defaults.evaluators.0.judge='{base_url: …, model: …}'. Exit
    status 0 when the pass rate that the evalset asks for is reached; where it asks for none, when every case passed.
    """
    from tui_eval.platforms.datalayer.offline import graded, metrics_of
    from tui_eval.platforms.datalayer.outputs import read_outputs, read_statuses
    from tui_eval.spec.evalset import load_evalset

    if output is not None:
        check_free(output, force)
    given = read_outputs(outputs)
    said = given.statuses if statuses is None else read_statuses(statuses)
    loaded = load_evalset(evalset, require_cases=True)
    views = asyncio.run(graded(loaded, given.outputs, statuses=said, grading=grading, overrides=overrides))
    metrics = metrics_of(loaded, views, grading)
    if output is not None:
        with new_file(output) as stream:
            json.dump(metrics, stream, ensure_ascii=False, indent=2)
    if as_json:
        out_json(metrics)
    else:
        _print_metrics(metrics)
    gates = [one["passed"] for one in metrics["evaluator_results"] if one["scope"] == "report"]
    reached = all(gates) if gates else metrics["passed"] == metrics["total_cases"]
    return 0 if reached else 1


def _print_metrics(metrics: dict[str, Any]) -> None:
    out_table(
        ["case", "outcome", "score", "why"],
        [
            [
                one_line(str(case["name"]), 40),
                case["outcome"],
                "-" if case["score"] is None else f"{case['score']:.3g}",
                one_line(str(case["explanation"] or ""), 80),
            ]
            for case in metrics["case_results"]
        ],
    )
    rate, failed = metrics["pass_rate"], metrics["failed"] - metrics["errors"]
    out(
        f"{metrics['total_cases']} cases: {metrics['passed']} passed, {failed} failed, {metrics['errors']} without an "
        f"answer, {metrics['unscored']} unscored; pass rate {'-' if rate is None else f'{rate:.1%}'}"
    )
    for one in metrics["evaluator_results"]:
        if one["scope"] == "report":
            out(f"{one['summary']}: {'reached' if one['passed'] else 'not reached'}")


@datalayer.command(
    short_help="Write the outputs of a run, to be graded again.",
    epilog=examples("tui-eval datalayer outputs last --into ./outputs"),
)
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("--into", type=click.Path(path_type=Path), default=Path(), help="Folder to write to. Default: this one.")
@history_option
@json_option
def outputs(run_id: str, into: Path, history: Path | None, as_json: bool) -> int:
    """Write the outputs of RUN as JSON, a file for each agentspec: for `tui-eval datalayer evaluate`, or for Datalayer's
    own `agent-runtimes evals evaluate` (as its --outputs and its --statuses)."""
    from tui_eval.platforms.datalayer.outputs import write_outputs

    written = [str(path) for path in write_outputs(place_of(history), run_id, into)]
    if as_json:
        out_json(written)
    else:
        for path in written:
            out(path)
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
