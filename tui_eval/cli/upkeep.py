"""``tui-eval prune``, ``backup`` and ``vacuum``: keeping the history small, and safe."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_eval.cli.history import local_time, opened, place_of
from tui_eval.cli.options import examples, history_option, json_option
from tui_eval.cli.runs import STATES
from tui_eval.cli.terminal import one_line, out, out_json, out_table, safe, tell
from tui_eval.cli.waiting import Waiting
from tui_eval.display import readable_size
from tui_eval.errors import TuiEvalError

if TYPE_CHECKING:
    from tui_eval.store.pruning import Pruning

_SECONDS = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_BYTES = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "ki": 1024, "mi": 1024**2, "gi": 1024**3}


def age_in(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """``30d``, ``12h``, ``4w`` as seconds."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,6})([hdw])", value.strip().lower(), re.ASCII)
    if found is None:
        message = f"{value!r} is no age; expected hours, days or weeks, as 12h, 30d or 4w"
        raise click.BadParameter(message, ctx=context, param=parameter)
    return int(found[1]) * _SECONDS[found[2]]


def size_in(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """``500MB``, ``2GiB``, ``1000000`` as bytes."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?) ?([kmg]?i?)b?", value.strip().lower(), re.ASCII)
    if found is None or found[2] not in _BYTES:
        message = f"{value!r} is no size; expected bytes, as 500MB or 2GiB"
        raise click.BadParameter(message, ctx=context, param=parameter)
    return int(float(found[1]) * _BYTES[found[2]])


@click.command(
    epilog=examples("""
        tui-eval prune --older-than 30d --keep 20         # only lists them
        tui-eval prune --older-than 30d --keep 20 --yes   # deletes them
        tui-eval prune --max-size 2GiB --yes
    """)
)
@click.option("--older-than", callback=age_in, metavar="AGE", help="Runs that ended before then: 12h, 30d, 4w.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Leave the N newest of them.")
@click.option("--max-size", callback=size_in, metavar="SIZE", help="No more than it takes, oldest first: 500MB, 2GiB.")
@click.option("--tag", metavar="TEXT", help="Runs with this tag.")
@click.option("--name", metavar="TEXT", help="Runs whose plan name contains this.")
@click.option(
    "--state", type=click.Choice(STATES[4:]), metavar="STATE", help=f"Runs in this state: {', '.join(STATES[4:])}."
)
@click.option("--yes", is_flag=True, help="Delete them. Without it they are only listed.")
@history_option
@json_option
def prune(
    older_than: float | None,
    keep: int | None,
    max_size: int | None,
    tag: str | None,
    name: str | None,
    state: str | None,
    yes: bool,
    history: Path | None,
    as_json: bool,
) -> int:
    """List the runs that all given options name; delete them with --yes.

    A run that is live, is pinned (`tui-eval set RUN --pin`), or has results that are not in the history yet is never
    deleted. What other runs took over from a deleted one stays with them.
    """
    from tui_eval.store.pruning import Rules, choose
    from tui_eval.store.records import RunState

    rules = Rules(
        older_than=None if older_than is None else time.time() - older_than,
        keep=keep,
        max_bytes=max_size,
        tag=tag,
        name=name,
        state=None if state is None else RunState(state),
    )
    with opened(history) as stored, Waiting("looking through the runs"):
        pruning = choose(stored, rules)
    refused = _delete(place_of(history), pruning) if yes else {}
    if as_json:
        out_json(_as_json(pruning, yes, refused))
    else:
        _print(pruning, yes, refused)
    return 1 if refused else 0


def _delete(place: Path, pruning: Pruning) -> dict[str, str]:
    """Delete one after the other; why it was refused by run id, for those that were (one that came to life since)."""
    from tui_eval.store.upkeep import delete_run

    refused = {}
    with Waiting("deleting runs") as waiting:
        for sized in waiting.counted(pruning.going, len(pruning.going)):
            run_id = sized.overview.run.run_id
            try:
                delete_run(place, run_id)
            except TuiEvalError as error:
                refused[run_id] = str(error)
    return refused


def _as_json(pruning: Pruning, deleted: bool, refused: dict[str, str]) -> dict[str, Any]:
    return {
        "deleted": deleted,
        "runs": [
            {
                "run_id": sized.overview.run.run_id,
                "name": sized.overview.run.name,
                "state": sized.overview.state.value,
                "created_at": sized.overview.run.created_at,
                "tags": sized.overview.run.tags,
                "size": sized.size,
                "refused": refused.get(sized.overview.run.run_id),
            }
            for sized in pruning.going
        ],
        "staying": [{"run_id": overview.run.run_id, "why": why} for overview, why in pruning.staying],
        "missing_bytes": pruning.missing,
    }


def _print(pruning: Pruning, deleted: bool, refused: dict[str, str]) -> None:
    for overview, why in pruning.staying:
        tell(f"{one_line(overview.run.run_id)} stays: it {why}")
    if pruning.missing:
        tell(f"{readable_size(pruning.missing)} more would have to go for that size, but no other run may")
    if not pruning.going:
        out("no run is to be deleted")
        return
    rows = [
        [
            one_line(sized.overview.run.run_id),
            one_line(sized.overview.run.name, 32),
            sized.overview.state.value,
            local_time(sized.overview.run.created_at),
            str(sized.overview.counters.total),
            readable_size(sized.size),
            one_line(", ".join(sized.overview.run.tags), 24),
        ]
        for sized in pruning.going
    ]
    out_table(["run", "plan", "state", "made", "tasks", "size", "tags"], rows, right=(4, 5))
    for why in refused.values():
        tell(f"tui-eval: {safe(why)}")
    gone = [sized for sized in pruning.going if sized.overview.run.run_id not in refused]
    number = f"{len(gone)} run{'' if len(gone) == 1 else 's'}, about {readable_size(sum(sized.size for sized in gone))}"
    if deleted:
        out(f"deleted: {number}. New runs use the space; `tui-eval vacuum` gives it back to the disk.")
    else:
        out(f"would be deleted: {number}. Nothing was changed; --yes deletes them.")


@click.command(epilog=examples("tui-eval backup /backups/history-2026-12-01.db"))
@click.argument("target", metavar="FILE", type=click.Path(path_type=Path))
@history_option
@json_option
def backup(target: Path, history: Path | None, as_json: bool) -> None:
    """Copy the whole history to the new file FILE, as of one moment, also while runs are live.

    The copy is checked, and can be used with --history like any other.
    """
    from tui_eval.store.upkeep import backup as copy

    with Waiting("copying the history"):
        size = copy(place_of(history), target.absolute())
    if as_json:
        out_json({"path": str(target.absolute()), "size": size})
    else:
        out(f"{safe(str(target))}: {readable_size(size)}")


@click.command()
@history_option
@json_option
def vacuum(history: Path | None, as_json: bool) -> None:
    """Give the space of deleted runs back to the disk. Not while a run is live."""
    from tui_eval.store.upkeep import vacuum as give_back

    place = place_of(history)
    with Waiting("writing the history anew"):
        before, after = give_back(place)
    if as_json:
        out_json({"path": str(place), "before": before, "after": after})
    else:
        out(f"{safe(str(place))}: {readable_size(before)} before, {readable_size(after)} now")
