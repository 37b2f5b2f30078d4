"""``tui-eval run``, ``rerun`` and ``resume``: what makes a runner work, here or in a session of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tui_eval.cli.agentcompass import compass_options, overrides_of, refuse_flags, taken_out, with_limits
from tui_eval.cli.evalsets import EvalsetOptions, check_file, evalset_options, pass_rate_asked_for, plan_from
from tui_eval.cli.history import opened, place_of
from tui_eval.cli.options import (
    Real,
    SectionedCommand,
    examples,
    history_option,
    json_option,
    plan_argument,
    set_option,
    share_in,
)
from tui_eval.cli.terminal import StdoutClosed, is_terminal, out, out_json, tell
from tui_eval.errors import SpecError, UsageError

if TYPE_CHECKING:
    from tui_eval.engine.execution import Ended
    from tui_eval.runner import Job

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def execution_options(command: Decorated) -> Decorated:
    """What ``run``, ``rerun`` and ``resume`` have in common: where it is executed, what is said, how it is judged."""
    for option in reversed(
        (
            click.option(
                "--detach", is_flag=True, help="Execute in a session of its own; print the run id and return."
            ),
            click.option(
                "--progress",
                type=click.Choice(["auto", "plain", "none"]),
                default="auto",
                show_default=True,
                help="Lines on standard error while it runs; `auto` writes fewer where that is not a terminal.",
            ),
            click.option(
                "--min-pass-rate",
                callback=share_in,
                metavar="RATE",
                help="Exit status 0 when at least this share of the decided tasks passed: 0.9 or 90%.",
            ),
            click.option(
                "--allow-errors",
                metavar="N|N%",
                help="Exit status 0 although up to so many tasks got no verdict (error, unscored): 3 or 5%.",
            ),
            history_option,
            json_option,
        )
    ):
        command = option(command)
    return command


def describing_options(command: Decorated) -> Decorated:
    """What a new run can be given: ``--run-id``, ``--tag``, ``--note``, ``--results-dir``."""
    for option in reversed(
        (
            click.option("--run-id", metavar="ID", help="Id of the new run. Default: time and a random part."),
            click.option("--tag", "tags", multiple=True, metavar="TEXT", help="Tag of the run (repeatable)."),
            click.option("--note", default="", metavar="TEXT", help="A note kept with the run."),
            click.option(
                "--results-dir",
                type=click.Path(path_type=Path),
                metavar="FOLDER",
                help="Also write a line for every task and a summary below FOLDER.",
            ),
        )
    ):
        command = option(command)
    return command


@click.command(
    cls=SectionedCommand,
    epilog=examples("""
        tui-eval run plan.yaml
        tui-eval run plan.yaml --set requests.prod.solution.url=http://localhost:9000/ --tag local
        tui-eval run plan.yaml --min-pass-rate 90% --allow-errors 5% --json   # in CI
        tui-eval run plan.yaml --detach       # survives the terminal; `tui-eval watch last` follows it
        tui-eval run plan.yaml --dry-run      # only check
        tui-eval run customers.evalset.json --agentspec example-evals
        tui-eval run launch.yaml --task-concurrency 8 --reuse   # an orchestration of AgentCompass
    """),
)
@plan_argument
@set_option
@click.option(
    "--task-concurrency", type=click.IntRange(1, 4096), metavar="N", help="Tasks in flight over all requests."
)
@click.option("--timeout-seconds", type=Real(0), metavar="S", help="Limit of the whole run.")
@click.option("--cleanup-grace-seconds", type=Real(0), metavar="S", help="Time that tasks in flight get on a stop.")
@click.option("--provider-limit", "limits", multiple=True, metavar="HOST=N", help="Most calls in flight (repeatable).")
@click.option("--qps", "rates", multiple=True, metavar="HOST=X", help="Calls started a second (repeatable).")
@evalset_options
@click.option("--dry-run", is_flag=True, help="Check everything, say what would be done, and stop.")
@compass_options
@describing_options
@execution_options
def run(
    plan: Path,
    overrides: tuple[str, ...],
    task_concurrency: int | None,
    timeout_seconds: float | None,
    cleanup_grace_seconds: float | None,
    limits: tuple[str, ...],
    rates: tuple[str, ...],
    dry_run: bool,
    agentspecs: tuple[str, ...],
    grading: str | None,
    target: str | None,
    repeat: int | None,
    run_id: str | None,
    tags: tuple[str, ...],
    note: str,
    results_dir: Path | None,
    **execution: Any,
) -> int:
    """Run PLAN and keep everything in the history.

    PLAN is a plan file, a Datalayer evalset (with --agentspec), or an orchestration file of AgentCompass (which
    AgentCompass then executes). All faults of the plan and its datasets are listed before the first call.

    Ctrl-C stops the run with everything saved (`tui-eval resume` finishes it); a second Ctrl-C stops it at once.

    Exit status 0 when every case passed (or as --min-pass-rate and --allow-errors say), 1 when something failed, 2 when
    nothing could be run.
    """
    settings: dict[str, Any] = {
        "task_concurrency": task_concurrency,
        "runtime.timeout_seconds": timeout_seconds,
        "runtime.cleanup_grace_seconds": cleanup_grace_seconds,
        **_by_host("runtime.provider_limits", "--provider-limit", limits, int),
        **_by_host("runtime.qps", "--qps", rates, float),
    }
    overrides = (*overrides, *(f"{key}={json.dumps(value)}" for key, value in settings.items() if value is not None))
    from tui_eval.platforms.agentcompass.recognising import is_orchestration_file

    evalset = EvalsetOptions(agentspecs, grading, target, repeat)
    compass = taken_out(execution)
    orchestration = is_orchestration_file(plan)
    if orchestration:
        overrides = (*with_limits(overrides), *overrides_of(compass, run_id))
    else:
        refuse_flags(compass)
    if dry_run:
        from tui_eval.cli.validate import dry_run as check_only

        return check_only(plan, overrides, execution["as_json"], evalset)
    from tui_eval.runner import Job, new_run_id

    place = place_of(execution["history"])
    source = plan_from(plan, evalset)
    if execution["min_pass_rate"] is None and not isinstance(source, Path):
        execution["min_pass_rate"] = pass_rate_asked_for(source, plan.absolute().parent)
    job = Job(
        "launch",
        history=str(place.absolute()),
        run_id=run_id or new_run_id(),
        plan=str(plan.absolute()) if isinstance(source, Path) else source,
        folder=_folder(plan, source, orchestration),
        overrides=overrides,
        results_dir=str(results_dir.absolute()) if results_dir is not None else None,
        tags=tags,
        note=note,
    )
    try:
        return _execute(job, **execution)
    except SpecError:
        if orchestration:
            raise
        check_file(plan, overrides, evalset).raise_faults()  # the plan's faults, and its datasets' too
        raise


def _folder(plan: Path, source: Any, orchestration: bool) -> str | None:
    """Where relative paths start: AgentCompass takes them from the working folder, plans of ours from their own."""
    if orchestration:
        return os.getcwd()
    return None if isinstance(source, Path) else str(plan.absolute().parent)


@click.command(
    epilog=examples("""
        tui-eval rerun --failed                  # of the last run
        tui-eval rerun last --errors --case order-17
        tui-eval rerun 20261129-14 --unscored    # asks the judge again, not the agent
        tui-eval rerun last --all --set requests.prod.solution.model=other
    """)
)
@click.argument("run_id_before", metavar="[RUN]", default="last")
@click.option("--failed", is_flag=True, help="Tasks that did not pass: failed verdicts and errors.")
@click.option("--errors", is_flag=True, help="Errors only.")
@click.option("--unscored", is_flag=True, help="Tasks that no evaluator decided; an answer that is there is kept.")
@click.option("--unfinished", is_flag=True, help="Tasks that were not finished or were cancelled (always included).")
@click.option("--case", "cases", multiple=True, metavar="ID", help="This case, whatever its outcome (repeatable).")
@click.option("--all", "everything", is_flag=True, help="Every task.")
@click.option("--new", is_flag=True, help="Also the cases that the dataset has gained since.")
@click.option("--stored-cases", is_flag=True, help="Use the cases as they were then, not today's dataset.")
@set_option
@describing_options
@execution_options
def rerun(
    run_id_before: str,
    failed: bool,
    errors: bool,
    unscored: bool,
    unfinished: bool,
    cases: tuple[str, ...],
    everything: bool,
    new: bool,
    stored_cases: bool,
    overrides: tuple[str, ...],
    run_id: str | None,
    tags: tuple[str, ...],
    note: str,
    results_dir: Path | None,
    **execution: Any,
) -> int:
    """Run a part of RUN again, as a new run that takes everything else over. RUN is left as it is.

    Answers that only lack a verdict, and those whose expected value or evaluators have changed, are judged again
    without calling the agent. RUN is an id, the beginning of one, or `last`.
    """
    from tui_eval.runner import Job, new_run_id

    if not any((failed, errors, unscored, unfinished, cases, everything, new)):
        raise UsageError(
            "say what to run again: --failed, --errors, --unscored, --unfinished, --case ID, --new or --all"
        )
    with opened(execution["history"]) as stored:
        parent = stored.run(run_id_before)
    selection = {
        "failed": failed,
        "errors": errors,
        "unscored": unscored,
        "cases": list(cases),
        "all": everything,
        "new": new,
    }
    job = Job(
        "rerun",
        history=str(place_of(execution["history"]).absolute()),
        run_id=run_id or new_run_id(),
        parent=parent.run_id,
        selection=selection,
        stored_cases=stored_cases,
        overrides=overrides,
        results_dir=str(results_dir.absolute()) if results_dir is not None else None,
        tags=tags,
        note=note,
    )
    return _execute(job, **execution)


@click.command(epilog=examples("tui-eval resume\ntui-eval resume 20261129-14 --detach"))
@click.argument("run_id", metavar="[RUN]", default="last")
@execution_options
def resume(run_id: str, **execution: Any) -> int:
    """Go on with RUN: let a paused run go on, or finish one that was interrupted or cancelled.

    A new runner does what was not run, was cancelled, or got no verdict because an evaluator could not decide; what is
    recorded is not called again. It uses the cases as they are stored with the run. RUN is an id, the beginning of one,
    or `last`.
    """
    from tui_eval.cli.control import ask
    from tui_eval.runner import Job
    from tui_eval.store.liveness import state_now
    from tui_eval.store.records import RunState

    place = place_of(execution["history"])
    with opened(execution["history"]) as stored:
        found = stored.run(run_id)
        paused = state_now(found) is RunState.PAUSED
    if paused:
        return ask(place, found.run_id, "resume", {})
    return _execute(Job("resume", history=str(place.absolute()), run_id=found.run_id), **execution)


def _execute(
    job: Job,
    *,
    detach: bool,
    progress: str,
    min_pass_rate: float | None,
    allow_errors: str | None,
    history: Path | None,
    as_json: bool,
) -> int:
    """Start the job where it is wanted, follow it, print what it came to; the exit status."""
    from tui_eval.analysis.verdict import parse_allowance

    if allow_errors is not None:
        parse_allowance(allow_errors, 0)
    if detach:
        from tui_eval.cli.waiting import Waiting
        from tui_eval.runner import start_detached

        with Waiting("starting the run: checking its datasets, writing its tasks"):
            start_detached(job)
        with opened(history) as stored:
            for warning in stored.run(job.run_id).warnings:
                tell(f"warning: {warning}")
        out_json({"run_id": job.run_id}) if as_json else out(job.run_id)
        return 0
    from tui_eval.cli.progress import listener_for
    from tui_eval.runner import carry_out

    ended = carry_out(job, listener_for(progress))
    return _conclude(ended, history, min_pass_rate, allow_errors, as_json)


def _conclude(
    ended: Ended, history: Path | None, min_pass_rate: float | None, allow_errors: str | None, as_json: bool
) -> int:
    from tui_eval.analysis.summary import total_of
    from tui_eval.analysis.verdict import run_verdict
    from tui_eval.cli.progress_line import progress_json
    from tui_eval.cli.summary import print_summary, unsaved_lines

    verdict = run_verdict(
        ended.run.state,
        total_of(request.counters for request in ended.requests),
        min_pass_rate=min_pass_rate,
        allow_errors=allow_errors,
        history_failed=ended.history_failed,
        signal=ended.signal,
    )
    with suppress(StdoutClosed):  # whoever closed it early still gets the verdict as the exit status
        if as_json:
            out_json(
                progress_json(ended.run, ended.requests) | {"exit_code": verdict.code, "reasons": list(verdict.reasons)}
            )
        elif not ended.history_failed:
            with opened(history) as stored:
                print_summary(stored, stored.run(ended.run.run_id))
    for reason in verdict.reasons:
        tell(f"exit status {verdict.code}: {reason}")
    if ended.history_failed:
        for line in unsaved_lines(place_of(history), ended.run.run_id):
            tell(line)
    elif ended.signal is not None:
        tell(f"everything finished so far is saved; go on with: tui-eval resume {ended.run.run_id}")
    elif (
        not as_json
        and is_terminal(sys.stderr)
        and any(one.counters.failed + one.counters.error for one in ended.requests)
    ):
        # For the person in front of it; in the log of a script it would be noise.
        tell(f"`tui-eval show {ended.run.run_id} --outcome failed,error` lists them; run only them again with:")
        tell(f"tui-eval rerun {ended.run.run_id} --failed")
    return verdict.code


def _by_host(section: str, option: str, texts: tuple[str, ...], number: Callable[[str], float]) -> dict[str, float]:
    """Overrides for the hosts that are named; those that only the plan names keep what it says."""
    found: dict[str, float] = {}
    for text in texts:
        host, _, value = text.rpartition("=")
        try:
            found[f"{section}.{host}"] = number(value)
        except ValueError:
            host = ""
        if not host:
            raise UsageError(f"{option} {text}: expected HOST=NUMBER, as api.example.com=8")
    return found
