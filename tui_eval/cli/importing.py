"""``tui-eval import``: results that other programs left, brought into the history."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from tui_eval.cli.history import place_of
from tui_eval.cli.options import history_option, json_option
from tui_eval.cli.terminal import one_line, out, out_json, tell


@click.group("import")
def import_() -> None:
    """Bring results of other programs into the history, as finished runs."""


@import_.command()
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
