"""``tui-eval`` and ``tui-eval open``: the application in the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from tui_eval.cli.options import examples, history_option


@click.command("open", epilog=examples("tui-eval open last\ntui-eval open --workspace ~/evals"))
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option(
    "--workspace",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with plans, datasets, solutions and evaluators. Default: the setting, else this folder.",
)
@click.option("--mouse/--no-mouse", default=None, help="Use the mouse. Default: the setting, else not over SSH.")
@history_option
def open_application(run_id: str | None, workspace: Path | None, mouse: bool | None, history: Path | None) -> int:
    """Open the application, on RUN when one is given (an id, the beginning of one, or `last`).

    `tui-eval` alone does the same. Needs a terminal; everything can also be done by the other commands.
    """
    from tui_eval.tui.app import main

    if run_id is not None:
        from tui_eval.cli.history import opened

        with opened(history) as stored:
            run_id = stored.run(run_id).run_id
    return main(history, workspace.absolute() if workspace is not None else None, run_id, mouse=mouse)
