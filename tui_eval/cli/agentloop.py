"""``tui-eval agentloop``: what AgentLoop has, and what is reported to it. Nothing of it is imported before it is used."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tui_eval.cli.history import duration, local_time, place_of
from tui_eval.cli.options import Real, history_option, json_option, plan_argument, set_option
from tui_eval.cli.platform_lines import record_json, record_line
from tui_eval.cli.terminal import one_line, out, out_json, out_table, tell
from tui_eval.domain import as_text
from tui_eval.errors import UsageError

if TYPE_CHECKING:
    from tui_eval.platforms.agentloop.picking import Kind, Listing
    from tui_eval.spec.agentloop_options import AgentLoopOptions

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def platform_options(command: Decorated) -> Decorated:
    """Where the platform is: from a plan file, options, or the environment -> ``where: dict``."""
    for option in reversed(
        (
            click.option(
                "--plan",
                "plan_file",
                type=click.Path(path_type=Path),
                help="Take region, agent space and addresses from this plan.",
            ),
            click.option(
                "--region",
                envvar="TUI_EVAL_AGENTLOOP_REGION",
                metavar="ID",
                show_envvar=True,
                help="Region, such as cn-hangzhou.",
            ),
            click.option(
                "--agent-space",
                envvar="TUI_EVAL_AGENTLOOP_SPACE",
                metavar="NAME",
                show_envvar=True,
                help="Agent space.",
            ),
            click.option("--vpc", is_flag=True, help="Use the endpoints inside the VPC."),
            click.option(
                "--endpoint",
                envvar="TUI_EVAL_AGENTLOOP_ENDPOINT",
                metavar="HOST",
                show_envvar=True,
                help="Address of the platform, instead of the region's.",
            ),
            click.option("--offline", is_flag=True, help="Ask nothing; show what was fetched last."),
            history_option,
            json_option,
        )
    ):
        command = option(command)
    return command


@click.group()
def agentloop() -> None:
    """Look at AgentLoop, and finish what is reported to it.

    A plan with an `agentloop` section is run with `tui-eval run PLAN`, like any other.

    The access key comes from AGENTLOOP_AK and AGENTLOOP_SK, ALIBABA_CLOUD_ACCESS_KEY_ID and
    ALIBABA_CLOUD_ACCESS_KEY_SECRET, or the profile of `aliyun configure`.
    """


@agentloop.command()
@platform_options
def spaces(**where: Any) -> None:
    """List the agent spaces."""
    from tui_eval.platforms.agentloop.picking import SPACES

    found = _listed(SPACES, where, needs_space=False)
    _print(found, where, ["space", "region", "log project", "made", "description"], lambda one: [
        one.name, one.region, one.project, local_time(one.created_at), one.description
    ])  # fmt: skip


@agentloop.command(short_help="List the experiment plans, or show one with its evaluators.")
@click.argument("plan_id", required=False)
@platform_options
def plans(plan_id: str | None, **where: Any) -> None:
    """List the experiment plans, or show PLAN_ID with its evaluators. Only offline ones can be run here."""
    from tui_eval.platforms.agentloop.picking import PLANS

    if plan_id is not None:
        _show_one(where, lambda client: client.plan(plan_id))
        return
    found = _listed(PLANS, where)
    _print(found, where, ["plan", "name", "type", "dataset", "runs", "changed", "runnable here"], lambda one: [
        one.plan_id, one.name, one.type, one.dataset, "-" if one.runs is None else str(one.runs),
        local_time(one.updated_at), "yes" if one.runnable else "no",
    ])  # fmt: skip


@agentloop.command(short_help="List the datasets, or show columns and rows of one.")
@click.argument("name", required=False)
@click.option(
    "--rows", type=click.IntRange(0, 100), default=5, show_default=True, metavar="N", help="Rows of NAME to show."
)
@platform_options
def datasets(name: str | None, rows: int, **where: Any) -> None:
    """List the datasets, or show the columns and the first rows of NAME."""
    from tui_eval.platforms.agentloop.picking import DATASETS

    if name is not None:
        _show_dataset(where, name, rows)
        return
    found = _listed(DATASETS, where)
    _print(found, where, ["dataset", "made", "changed", "description"], lambda one: [
        one.name, local_time(one.created_at), local_time(one.updated_at), one.description
    ])  # fmt: skip


@agentloop.command()
@click.argument("name", required=False)
@platform_options
def evaluators(name: str | None, **where: Any) -> None:
    """List the evaluators, or show NAME with its variables."""
    from tui_eval.platforms.agentloop.picking import EVALUATORS

    if name is not None:
        _show_one(where, lambda client: client.evaluator(name))
        return
    found = _listed(EVALUATORS, where)
    _print(found, where, ["evaluator", "type", "result", "version", "description"], lambda one: [
        one.name, one.type, one.metric, one.version, one.description or one.display_name
    ])  # fmt: skip


@agentloop.command(short_help="List the experiment runs (records).")
@platform_options
def runs(**where: Any) -> None:
    """List the experiment runs (records) of the agent space, newest first as the platform gives them."""
    from tui_eval.platforms.agentloop.picking import RUNS

    found = _listed(RUNS, where)
    _print(found, where, ["record", "name", "status", "tasks", "failed", "started"], lambda one: [
        one.record_id, one.name, one.status, f"{one.completed or 0}/{one.total or 0}", str(one.failed or 0),
        local_time(one.executed_at),
    ])  # fmt: skip


@agentloop.command(short_help="Finish reporting, fetch the scores.")
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option(
    "--timeout",
    type=Real(0),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Seconds to keep trying while the platform fails.",
)
@click.option(
    "--scores", type=Real(0), default=30.0, show_default=True, metavar="S", help="Seconds to wait for scores."
)
@click.option("--keep-open", is_flag=True, help="Leave the record of an interrupted run running, for `resume`.")
@click.option("--settle", type=Real(0, 600), default=15.0, show_default=True, metavar="S",
              help="Seconds until the platform is asked about a call whose fate is not known.")  # fmt: skip
@history_option
@json_option
def sync(
    run_id: str | None,
    timeout: float,
    scores: float,
    keep_open: bool,
    settle: float,
    history: Path | None,
    as_json: bool,
) -> int:
    """Finish reporting RUN (every run with something left, when none is named) and fetch the platform's scores.

    Nothing is reported twice. The record of a run that was interrupted and is not resumed is set to cancelled. Exit
    status 1 when something is left.
    """
    from tui_eval.platforms.agentloop.following import Rules
    from tui_eval.platforms.agentloop.syncing import sync_run, unfinished
    from tui_eval.store.reader import History

    place = place_of(history)
    if run_id is None:
        chosen = unfinished(place)
    else:
        with History(place) as stored:
            chosen = [stored.run(run_id).run_id]
    rules = Rules(timeout, scores, "" if keep_open else "cancelled", min(settle, 600.0))
    left = False
    shown = []
    for one in chosen:
        for reported in sync_run(place, one, os.environ, rules, tell):
            left = left or not reported.complete or reported.open
            shown.append(
                {"run_id": one, **record_json(reported.record, reported.counts, reported.request, reported.error)}
            )
            if not as_json:
                out(f"{one}  {record_line(reported.record, reported.counts, reported.request)}")
                _tell_left(one, reported)
    if as_json:
        out_json(shown)
    elif not shown:
        tell("there is nothing to report" + (f": run {chosen[0]} names no platform" if chosen else ""))
    return 1 if left else 0


def _tell_left(run_id: str, reported: Any) -> None:
    if reported.error:
        tell(f"{run_id}: {reported.error}")
    if reported.open:
        tell(f"{run_id}: the record still says running; `tui-eval resume {run_id}` goes on with it")
    if reported.scores_wanted:
        tell(f"{run_id}: the platform's scores are not all there yet; ask again later")


@agentloop.command(short_help="Write a run as a result_dir of AgentLoop's own clients.")
@click.argument("run_id", metavar="RUN")
@click.argument("folder", type=click.Path(path_type=Path))
@history_option
def results(run_id: str, folder: Path, history: Path | None) -> int:
    """Write the results of RUN below FOLDER, as AgentLoop's own clients write them (their result_dir)."""
    from tui_eval.platforms.agentloop.result_dir import write_result_dir
    from tui_eval.store.reader import History

    place = place_of(history)
    with History(place) as stored:
        found = stored.run(run_id).run_id
    out(f"{write_result_dir(place, found, folder)} results below {one_line(str(folder))}")
    return 0


@agentloop.command("update-plan", short_help="Put a plan's evaluators into the platform's plan.")
@plan_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@set_option
def update_plan(plan: Path, yes: bool, overrides: tuple[str, ...]) -> int:
    """Put the evaluators of PLAN's agentloop section into the platform's experiment plan, after asking.

    The platform judges only with the evaluators of its own plan. Those that it has already stay as they are.
    """
    from tui_eval.platforms.agentloop.connecting import waited_for
    from tui_eval.platforms.agentloop.evaluators import key_of
    from tui_eval.platforms.agentloop.updating import proposed, update

    options = _section_of(plan, overrides)
    before, after = waited_for(proposed(options, os.environ))
    added = [key_of(one) for one in after[len(before) :]]
    if not added:
        out(f"the platform's plan {one_line(options.experiment_plan_id)} has all evaluators of this file")
        return 0
    out(f"the platform's plan {one_line(options.experiment_plan_id)} judges with: {_names(before)}")
    out(f"to be added: {', '.join(map(one_line, added))}")
    if not yes and not click.confirm("Change the plan on the platform?", err=True):
        tell("nothing was changed")
        return 1
    waited_for(update(options, os.environ, after))
    out("changed")
    return 0


def _names(evaluators: list[dict[str, Any]]) -> str:
    from tui_eval.platforms.agentloop.evaluators import key_of

    return ", ".join(one_line(key_of(one)) for one in evaluators) or "nothing"


# -- parts --


def _where(where: dict[str, Any], *, needs_space: bool = True) -> AgentLoopOptions:
    """The platform that the options name."""
    from tui_eval.spec.agentloop_options import AgentLoopOptions

    if where["plan_file"] is not None:
        return _section_of(where["plan_file"], ())
    region, space = where["region"], where["agent_space"]
    if not region:
        raise UsageError("name the region: --region cn-hangzhou, TUI_EVAL_AGENTLOOP_REGION, or a plan file with --plan")
    if needs_space and not space:
        raise UsageError("name the agent space: --agent-space NAME, or see `tui-eval agentloop spaces`")
    return AgentLoopOptions(
        agent_space=space or "-",
        experiment_plan_id="-",
        region_id=region,
        vpc=where["vpc"],
        custom_agentloop_endpoint=where["endpoint"] or "",
    )


def _section_of(plan: Path, overrides: tuple[str, ...]) -> AgentLoopOptions:
    from tui_eval.spec.loading import load_plan

    loaded = load_plan(plan, overrides=overrides, environment=os.environ)
    section = loaded.platforms.get("agentloop")
    if section is None:
        raise UsageError(f"{plan} has no section `agentloop`")
    options: AgentLoopOptions = section.options
    return options


def _listed(kind: Kind[Any], where: dict[str, Any], *, needs_space: bool = True) -> Listing[Any]:
    from tui_eval.platforms.agentloop.connecting import waited_for
    from tui_eval.platforms.agentloop.picking import listing, remembered

    options = _where(where, needs_space=needs_space)
    history = place_of(where["history"])
    if where["offline"]:
        known = remembered(history, kind, options)
        if known is None:
            raise UsageError(f"no {kind.name} were listed before; ask the platform once without --offline")
        return known
    return waited_for(listing(history, kind, options, os.environ, time.time()))


def _print(found: Listing[Any], where: dict[str, Any], header: list[str], row: Callable[[Any], list[str]]) -> None:
    if found.trouble:
        tell(f"warning: {found.trouble}")
    age = time.time() - found.at
    if where["as_json"]:
        out_json({"at": found.at, "trouble": found.trouble, "items": [asdict(one) for one in found.items]})
        return
    out_table(header, [[one_line(cell, 60) for cell in row(one)] for one in found.items])
    old = f"as of {duration(age)} ago" if found.trouble or where["offline"] else "now"
    out(f"{len(found.items)}, {old}")


def _show_one(where: dict[str, Any], load: Callable[[Any], Any]) -> None:
    from tui_eval.cli.case_detail import print_value
    from tui_eval.platforms.agentloop.connecting import connected, waited_for

    options = _where(where)

    async def ask() -> Any:
        async with connected(options, os.environ) as client:
            return await load(client)

    found = asdict(waited_for(ask()))
    if where["as_json"]:
        out_json(found)
        return
    for name, value in found.items():
        print_value(name, value, "")


def _show_dataset(where: dict[str, Any], name: str, count: int) -> None:
    from tui_eval.platforms.agentloop.connecting import connected, waited_for
    from tui_eval.platforms.agentloop.rows import preview_rows

    options = _where(where)

    async def ask() -> tuple[Any, list[dict[str, Any]]]:
        async with connected(options, os.environ) as client:
            dataset = await client.dataset(name)
            return dataset, await preview_rows(client, name, count) if count else []

    dataset, rows = waited_for(ask())
    if where["as_json"]:
        out_json({**asdict(dataset), "rows": rows})
        return
    out_table(
        ["column", "type"], [[one_line(column, 60), one_line(kind, 30)] for column, kind in dataset.columns.items()]
    )
    columns = list(rows[0]) if rows else []
    if rows:
        out()
        out_table(
            [one_line(column, 30) for column in columns],
            [[one_line(as_text(row.get(column)), 40) for column in columns] for row in rows],
        )
