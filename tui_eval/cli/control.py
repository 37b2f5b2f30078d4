"""``tui-eval cancel``, ``pause`` and ``set``: what is asked of a live run, through the history; and what is changed on
any run (its tags, its note, whether it is pinned)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_eval.cli.history import opened, place_of
from tui_eval.cli.options import Real, examples, history_option
from tui_eval.cli.terminal import out, safe, tell
from tui_eval.errors import UsageError

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.records import RunRecord

ANSWER_SECONDS = 10.0


def wait_option(command: Any) -> Any:
    """``--wait SECONDS`` -> ``wait: float``."""
    return click.option(
        "--wait",
        type=Real(0),
        default=ANSWER_SECONDS,
        show_default=True,
        metavar="S",
        help="Seconds to wait for the runner's answer.",
    )(command)


def ask(place: Path, run_id: str, kind: str, arguments: dict[str, Any], wait: float = ANSWER_SECONDS) -> int:
    """Put a command into the history for the runner of a live run and print its answer; the exit status.

    ``wait`` is in seconds. Raises UsageError when nothing executes the run.
    """
    from tui_eval.store.command_box import give, person, wait_taken

    command = give(place, run_id, kind, arguments, person())
    answer = wait_taken(place, command, wait)
    if answer is None:
        tell(
            f"the runner of {run_id} has not answered within {wait:g} s; it will when it can. "
            f"Is it alive? See: tui-eval doctor"
        )
        return 1
    out(safe(answer))
    return 0


@click.command(
    epilog=examples("""
        tui-eval cancel
        tui-eval cancel last --drain                       # let the tasks in flight finish
        tui-eval cancel last --request prod --case order-17
    """)
)
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("--request", metavar="NAME", help="Only this request.")
@click.option("--case", metavar="ID", help="Only this case (with --request when several requests have it).")
@click.option(
    "--repeat", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Which repeat of --case."
)
@click.option("--drain", is_flag=True, help="Let the tasks in flight finish.")
@wait_option
@history_option
def cancel(
    run_id: str, request: str | None, case: str | None, repeat: int, drain: bool, wait: float, history: Path | None
) -> int:
    """Ask the runner of RUN to stop it, or one request or case of it. What is cancelled can be resumed."""
    with opened(history) as stored:
        found = stored.run(run_id)
        kind: str = "cancel_run"
        arguments: dict[str, Any] = {"drain": drain}
        if case is not None:
            kind, arguments = "cancel_task", {"task": _one_task(stored, found, request, case, repeat - 1)}
        elif request is not None:
            kind, arguments = "cancel_request", {"request": request, "drain": drain}
    return ask(place_of(history), found.run_id, kind, arguments, wait)


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@wait_option
@history_option
def pause(run_id: str, wait: float, history: Path | None) -> int:
    """Ask the runner of RUN to start no further task until `tui-eval resume`; those in flight are finished."""
    with opened(history) as stored:
        found = stored.run(run_id)
    return ask(place_of(history), found.run_id, "pause", {}, wait)


@click.command(
    "set",
    epilog=examples("""
        tui-eval set last --task-concurrency 32
        tui-eval set 20261129-14 --pin --tag baseline --note "before the new prompt"
    """),
)
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option(
    "--task-concurrency", type=click.IntRange(1, 4096), metavar="N", help="Tasks in flight of a live run from now on."
)
@click.option("--pin/--unpin", default=None, help="Protect the run from `prune` and deletion, or stop doing so.")
@click.option("--tag", "added", multiple=True, metavar="TEXT", help="Add a tag (repeatable).")
@click.option("--untag", "removed", multiple=True, metavar="TEXT", help="Take a tag away (repeatable).")
@click.option("--note", metavar="TEXT", help="Replace the note; an empty text removes it.")
@wait_option
@history_option
def set_(
    run_id: str,
    task_concurrency: int | None,
    pin: bool | None,
    added: tuple[str, ...],
    removed: tuple[str, ...],
    note: str | None,
    wait: float,
    history: Path | None,
) -> int:
    """Change RUN: how many tasks it has in flight while it is live; its tags, its note, whether it is pinned."""
    from tui_eval.store.upkeep import set_note, set_pinned, set_tags

    if task_concurrency is None and pin is None and note is None and not added and not removed:
        raise UsageError("say what to change: --task-concurrency, --pin, --unpin, --tag, --untag or --note")
    place = place_of(history)
    with opened(history) as stored:
        found = stored.run(run_id)
    if added or removed:
        set_tags(place, found.run_id, [tag for tag in (*found.tags, *added) if tag not in removed])
    if note is not None:
        set_note(place, found.run_id, note)
    if pin is not None:
        set_pinned(place, found.run_id, pin)
    if task_concurrency is None:
        return 0
    return ask(place, found.run_id, "set_concurrency", {"value": task_concurrency}, wait)


def _one_task(stored: History, run: RunRecord, request: str | None, case: str, repeat: int) -> int:
    found = [
        task.id
        for record in stored.requests(run)
        if request in (None, record.name) and (task := stored.find_task(run, record.name, case, repeat)) is not None
    ]
    if len(found) != 1:
        problem = "no request has" if not found else f"{len(found)} requests have"
        raise UsageError(
            f"run {run.run_id}: {problem} a case {case}"
            + (f" with a repeat {repeat + 1}" if repeat else "")
            + ("" if not found else "; name one with --request")
        )
    return found[0]
