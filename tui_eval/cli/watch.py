"""``tui-eval watch``: follow a run from the history, whoever executes it and wherever it was started."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui_eval.cli.history import opened
from tui_eval.cli.options import Real, examples, history_option, json_option
from tui_eval.cli.terminal import flush, out, out_json, tell

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.records import RunRecord

POLL_SECONDS = 0.25


@click.command(epilog=examples("tui-eval watch\ntui-eval run plan.yaml --detach && tui-eval watch last --exit-code"))
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option(
    "--interval",
    type=Real(min=0.1, max=3600),
    default=2.0,
    show_default=True,
    metavar="S",
    help="Seconds between two lines, when something has changed.",
)
@click.option("--exit-code", "use_verdict", is_flag=True, help="End with the exit status that `run` would have had.")
@history_option
@json_option
def watch(run_id: str, interval: float, use_verdict: bool, history: Path | None, as_json: bool) -> int:
    """Follow RUN until it ends, one line at a time. RUN is an id, the beginning of one, or `last`.

    Reads only: ending it does not touch the run. Exit status 0 when the run has ended, 1 when its runner is gone.
    With --json: one JSON object a line.
    """
    from tui_eval.analysis.summary import total_of
    from tui_eval.analysis.verdict import exit_code
    from tui_eval.store.liveness import state_now
    from tui_eval.store.records import RunState

    with opened(history) as stored:
        run = _follow(stored, stored.run(run_id).run_id, interval, as_json)
        state = state_now(run)
        if state is RunState.INTERRUPTED:
            tell(f"the runner of {run.run_id} is gone; finish it with: tui-eval resume {run.run_id}")
            return 1
        totals = total_of(request.counters for request in stored.requests(run))
        return exit_code(state, totals) if use_verdict else 0


def _follow(stored: History, run_id: str, interval: float, as_json: bool) -> RunRecord:
    """Write a line when something changed, at most one an interval, and the last one when the run has ended."""
    from tui_eval.cli.progress_line import progress_json, progress_line
    from tui_eval.store.liveness import state_now

    said = ""
    due = time.monotonic()
    while True:
        run = stored.run(run_id)
        requests = stored.requests(run)
        ended = not state_now(run).live
        line = progress_line(run, requests)
        if line != said and (ended or time.monotonic() >= due):
            said = line
            due = time.monotonic() + interval
            if as_json:
                out_json(progress_json(run, requests), indent=None)
            else:
                out(line)
            flush()
        if ended:
            return run
        time.sleep(POLL_SECONDS)
