"""``tui-eval import``: results that other programs left, brought into the history."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path

import click

from tui_eval.cli.history import place_of
from tui_eval.cli.options import examples, history_option, json_option
from tui_eval.cli.terminal import one_line, out, out_json, tell


@click.group("import")
def import_() -> None:
    """Bring results of other programs into the history, as finished runs."""


@import_.command(
    short_help="A result_dir of AgentLoop's own clients.", epilog=examples("tui-eval import agentloop ./results")
)
@click.argument("folder", type=click.Path(path_type=Path))
@history_option
@json_option
def agentloop(folder: Path, history: Path | None, as_json: bool) -> int:
    """Import FOLDER, the result_dir of an AgentLoop experiment. FOLDER is only read.

    Files that are broken are named and left out; a folder that was imported before is refused.
    """
    from tui_eval.platforms.agentloop.importing import import_result_dir

    run_id, found = asyncio.run(import_result_dir(folder, place_of(history)))
    for warning in found.warnings:
        tell(f"warning: {one_line(warning)}")
    if as_json:
        out_json({"run_id": run_id, "results": len(found.results), "warnings": found.warnings})
    else:
        out(f"{one_line(run_id)}: {len(found.results)} results; `tui-eval show {one_line(run_id)}` for them")
    return 0


@import_.command(
    short_help="A results folder of AgentCompass.", epilog=examples("tui-eval import agentcompass results/")
)
@click.argument("folder", metavar="RESULTS_DIR", type=click.Path(path_type=Path))
@history_option
@json_option
def agentcompass(folder: Path, history: Path | None, as_json: bool) -> int:
    """Import the results of AgentCompass in RESULTS_DIR: all of its runs, or those of one request, or one run.

    The folder is only read. A run that was interrupted is imported as far as it came; what is in the history already is
    passed over.
    """
    from tui_eval.platforms.agentcompass.importing import import_results

    found = asyncio.run(import_results(folder, place_of(history)))
    for one in found:
        for warning in one.warnings:
            tell(f"warning: {one_line(warning)}")
    if as_json:
        out_json({"runs": [asdict(one) for one in found]})
        return 0
    for one in found:
        if one.skipped:
            out(f"{one_line(one.run_id)}: left out, {one_line(one.skipped)}")
        else:
            out(
                f"{one_line(one.run_id)}: {one.requests} requests, {one.tasks} tasks; `tui-eval show {one_line(one.run_id)}`"
            )
    return 0
