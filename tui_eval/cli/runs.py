"""``tui-eval runs``: what is in the history."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_eval.cli.history import duration, local_time, opened, place_of, took
from tui_eval.cli.options import examples, first_moment, history_option, json_option, last_moment
from tui_eval.cli.run_fields import run_fields
from tui_eval.cli.terminal import one_line, out, out_json, out_table, painted, tell
from tui_eval.cli.waiting import Waiting
from tui_eval.display import readable_size
from tui_eval.errors import UsageError

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.run_queries import RunOverview
    from tui_eval.store.run_search import RunSearch

_PAGE = 200
_PATIENCE = 1.0  # seconds before one is told what takes so long

STATES = (
    "planning",
    "running",
    "paused",
    "stopping",
    "completed",
    "partial_failure",
    "failed",
    "timed_out",
    "cancelled",
    "interrupted",
)


@click.command(
    epilog=examples("""
        tui-eval runs --since 7d --state interrupted
        tui-eval runs --tag nightly --json
        tui-eval runs --text '"rate limit" !retried'
    """)
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="At most this many, newest first.",
)
@click.option("--name", help="Only runs whose plan name contains this.")
@click.option("--tag", help="Only runs with this tag.")
@click.option(
    "--state", type=click.Choice(STATES), metavar="STATE", help=f"Only runs in this state: {', '.join(STATES)}."
)
@click.option(
    "--since", callback=first_moment, metavar="WHEN", help="Only runs made since: 2026-11-29, today, yesterday, 7d."
)
@click.option("--until", callback=last_moment, metavar="WHEN", help="Only runs made until then; a day is whole.")
@click.option(
    "--text",
    help='Only runs with a task that has all these words in its output, message or case; "a phrase", a pattern, !not.',
)
@click.option("--size", is_flag=True, help="Also how much of the history each one takes.")
@history_option
@json_option
def runs(
    limit: int,
    name: str | None,
    tag: str | None,
    state: str | None,
    since: float | None,
    until: float | None,
    text: str | None,
    size: bool,
    history: Path | None,
    as_json: bool,
) -> None:
    """List the runs in the history, newest first."""
    from tui_eval.store.records import RunState

    place = place_of(history)
    found: list[RunOverview] = []
    sizes: dict[str, int] = {}
    if place.exists() or place.is_symlink():
        with opened(history) as stored:
            found = _found(
                stored,
                limit,
                text,
                name=name,
                tag=tag,
                state=RunState(state) if state else None,
                since=since,
                until=until,
            )
            if size:
                sizes = {overview.run.run_id: stored.size_of(overview.run) for overview in found}
    if as_json:
        out_json([overview_json(one) | ({"size": sizes[one.run.run_id]} if size else {}) for one in found])
    elif found:
        _print(found, sizes)
    else:
        filtered = any((name, tag, state, since, until, text))
        tell(
            f"no runs in {place} match" if filtered else f"no runs in {place} yet: `tui-eval run PLAN` makes the first"
        )


def _found(stored: History, limit: int, text: str | None, **wanted: Any) -> list[RunOverview]:
    """The newest ``limit`` runs that are wanted, and where ``text`` is in what a task gave."""
    if text is None:
        return stored.runs(limit=limit, **wanted)
    with Waiting("looking through the runs") as waiting:
        search = _search(stored, text, waiting)
        found: list[RunOverview] = []
        before: tuple[float, int] | None = None
        while len(found) < limit and (page := stored.runs(limit=_PAGE, before=before, **wanted)):
            found += [overview for overview in page if search.matches(stored, overview.run)]
            before = (page[-1].run.created_at, page[-1].run.id)
    return found[:limit]


def _search(stored: History, text: str, waiting: Waiting) -> RunSearch:
    """A search for a text, with the index brought up to date first: the next one is quicker then."""
    from tui_eval.store.run_search import RunSearch
    from tui_eval.store.search_index import update
    from tui_eval.text_query import words

    wanted = words(text)
    if not wanted:
        raise UsageError("--text is empty: say which words to look for")
    started = time.monotonic()
    told = False

    def progress(done: int, total: int) -> None:
        nonlocal told
        waiting.at("reading outputs into the index; the next search is quick", done, total)
        if not waiting.shown and not told and total > done and time.monotonic() - started > _PATIENCE:
            told = True
            tell(f"reading the outputs of {total - done:,} runs into the index; the next search is quick …")

    update(stored, progress=progress)
    waiting.at("looking through the runs", 0, 0)
    search = RunSearch(wanted)
    search.refresh(stored)
    return search


def overview_json(overview: RunOverview) -> dict[str, Any]:
    """A run and its counts as JSON data."""
    counters = overview.counters
    return {
        **run_fields(overview.run),
        "counts": {**asdict(counters), "queued": counters.queued, "finished": counters.finished},
        "pass_rate": counters.pass_rate,
    }


def _print(found: list[RunOverview], sizes: Mapping[str, int]) -> None:
    from tui_eval.analysis.summary import state_text
    from tui_eval.store.liveness import state_now
    from tui_eval.store.records import RunState

    rows = []
    for overview in found:
        run, counters = overview.run, overview.counters
        rate = counters.pass_rate
        rows.append(
            [
                one_line(run.run_id),
                one_line(run.name, 32),
                painted(state_text(state_now(run), counters), "1" if run.state.live else "0"),
                local_time(run.created_at),
                duration(took(run)),
                f"{counters.finished}/{counters.total}",
                "-" if rate is None else f"{rate:.1%}",
                str(counters.failed),
                str(counters.error),
                str(counters.unscored),
                *([readable_size(sizes[run.run_id])] if sizes else ()),
                one_line(", ".join(run.tags), 24),
            ]
        )
    header = ["run", "plan", "state", "made", "took", "tasks", "pass rate", "failed", "error", "unscored"]
    out_table([*header, *(["size"] if sizes else ()), "tags"], rows, right=range(4, 10 + bool(sizes)))
    out(f"{len(found)} run{'' if len(found) == 1 else 's'}; `tui-eval show RUN` for one of them")
    interrupted = [overview.run.run_id for overview in found if overview.state is RunState.INTERRUPTED]
    if interrupted:
        out(f"interrupted: `tui-eval resume {one_line(interrupted[0])}` finishes it")
