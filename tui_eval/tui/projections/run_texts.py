"""What screens say about one run, and to someone who has none yet. Texts from outside are made safe by who draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_eval.display import local_time, short_path
from tui_eval.tui.text import line, plural
from tui_eval.tui.widgets.counts import percent

if TYPE_CHECKING:
    from tui_eval.store.run_queries import RunOverview


def details(overview: RunOverview, width: int) -> str:
    """Four lines about a run, each in ``width`` cells: when, how it went, of which plan, and what was said of it."""
    run, counters = overview.run, overview.counters
    decided = f"{counters.passed:,} of {counters.decided:,} decided, {counters.total:,} total"
    rate = f"{percent(counters.pass_rate)} passed: {decided}"
    if counters.pass_rate is None:
        rate = f"{counters.finished:,} of {plural(counters.total, 'task')} finished, no verdict"
    if counters.reused:
        rate += f", {counters.reused:,} reused"
    plan = short_path(run.plan_path) if run.plan_path else "as it was" if run.parent_run_id else "given as data"
    lines = [
        f"{run.run_id}  started {local_time(run.created_at)[:16]}",
        rate,
        f"plan {plan}" + (f", re-run of {run.parent_run_id}" if run.parent_run_id else ""),
        run.error or run.note or (run.warnings[0] if run.warnings else ""),
    ]
    return "\n".join(line(each, max(1, width)) for each in lines if each)


def first_steps(workspace: str) -> str:
    """The page of someone whose history is empty."""
    return f"""Welcome to tui-eval.

There is no run in the history yet.

  F   run the demo: ten seconds, no network, no key
  P   the plans found in your workspace
  L   compose a launch of your own
  ?   every key of this screen
  q   quit

A run is executed by a process of its own: leaving
this screen, or losing the connection, does not
touch it.

Workspace: {workspace}"""
