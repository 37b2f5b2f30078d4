"""``tui-eval demo``: the sample plan against an embedded agent, with no network and no key."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_eval.cli.options import examples, history_option, json_option
from tui_eval.cli.terminal import out, out_json, safe, tell
from tui_eval.demo.live import AGENT_VARIABLE, embedded_agent
from tui_eval.errors import UsageError

if TYPE_CHECKING:
    from tui_eval.engine.execution import Ended
    from tui_eval.store.records import RequestRecord


@click.command(
    epilog=examples("""
        tui-eval demo
        tui-eval demo --copy-samples my-evals       # plans to start from; they call …
        tui-eval demo --serve --port 8799           # … the embedded agent, with
        export DEMO_AGENT_URL=http://127.0.0.1:8799 # this in the other terminal
    """)
)
@click.option("--headless", is_flag=True, help="Print the summary, also on a terminal.")
@click.option("--serve", is_flag=True, help="Only run the embedded agent, for plans of your own, until Ctrl-C.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="PORT", help="Port for --serve. Default: any free one."
)
@click.option(
    "--copy-samples",
    "samples_to",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Only copy the sample plans there, to start from.",
)
@history_option
@json_option
def demo(headless: bool, serve: bool, port: int, samples_to: Path | None, history: Path | None, as_json: bool) -> int:
    """Run the sample plan against an agent that comes with tui_eval; in a terminal, watch it live in the screens.

    The agent listens on 127.0.0.1 only. It is wrong on purpose here and there, fails once, makes one caller wait and
    is slow once: exit status 0 means that all of this was found, as designed.
    """
    if port and not serve:
        raise UsageError("--port goes with --serve; the demo's own agent takes any free port")
    if samples_to is not None:
        return _copy_samples(samples_to)
    if serve:
        return _serve(port)
    if headless or as_json or not _can_show_screens():
        return _run_quickstart(history, as_json)
    return _watch_live(history)


def _can_show_screens() -> bool:
    from tui_eval.tui.terminal import examine

    return not examine(os.environ, sys.__stdin__, sys.__stdout__, sys.__stderr__, None).refusal


def _watch_live(history: Path | None) -> int:
    """Start the demo beside us and open the application on its run."""
    from tui_eval.cli.history import place_of
    from tui_eval.demo.live import start
    from tui_eval.store.liveness import state_now
    from tui_eval.store.reader import History
    from tui_eval.tui.app import main

    place = place_of(history)
    tell("Starting the embedded agent and the sample plan …")
    demo = start(place)
    status = main(place, run_id=demo.run_id)
    with History(place) as stored:
        ended = not state_now(stored.run(demo.run_id)).live
    if ended:
        demo.end_agent()
        tell(
            f"The demo is run {demo.run_id} of the history: `tui-eval` shows it again, `tui-eval show {demo.run_id}` prints "
            "it. Plans to start from: `tui-eval demo --copy-samples FOLDER`."
        )
    return status


def _copy_samples(target: Path) -> int:
    from tui_eval.demo.samples import samples_folder

    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already and not empty; name a new folder")
    try:
        shutil.copytree(
            samples_folder(), target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".*")
        )
    except OSError as error:
        raise UsageError(f"the samples cannot be copied to {target}: {error.strerror or error}") from error
    plan = safe(shlex.quote(str(target / "minimal.yaml")))
    out(f"The sample plans are in {safe(str(target))}; README.md there says what each one shows.")
    out("They call the embedded agent, until you put your own in. Start it, and in another terminal run one:")
    out(f"  {_program()} demo --serve --port 8799")
    out(f"  {AGENT_VARIABLE}=http://127.0.0.1:8799 {_program()} run {plan}")
    return 0


def _program() -> str:
    """How this program is called from the shell that started it: by its name, or by its path where that is not found."""
    name = "tui-eval"
    started = sys.argv[0] if sys.argv else name
    return name if shutil.which(name) or Path(started).name != name else shlex.quote(started)


def _serve(port: int) -> int:
    import asyncio

    from tui_eval.demo.agent import serve

    tell(f"The demo agent stops with Ctrl-C. In another terminal: export {AGENT_VARIABLE}=<the address below>")
    try:
        asyncio.run(serve(port, latency_ms=0.0, max_seconds=7 * 24 * 3600.0, until_stdin_closes=False))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"port {port} is in use; name another one, or leave --port out for a free one") from error
        reason = "not allowed (below 1024 it takes root)" if error.errno == errno.EACCES else error.strerror or error
        raise UsageError(f"the agent cannot listen on port {port}: {reason}") from error
    return 0


def _run_quickstart(history: Path | None, as_json: bool) -> int:
    from tui_eval.cli.history import place_of
    from tui_eval.cli.progress import listener_for
    from tui_eval.demo.samples import samples_folder
    from tui_eval.runner import Job, carry_out, new_run_id

    plan = samples_folder() / "quickstart.yaml"
    place = place_of(history)
    with embedded_agent() as address:
        os.environ[AGENT_VARIABLE] = address
        # The plan starts `python3`: let it be this one, also when its folder is not on the path.
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        tell(f"An agent listens on {address}; running {plan}")
        ended = carry_out(
            Job("launch", history=str(place), run_id=new_run_id(), plan=str(plan)),
            listener_for("none" if as_json else "auto"),
        )
    if ended.signal is not None or ended.history_failed:
        tell(
            "the demo was interrupted" if ended.signal is not None else "the history cannot be written: tui-eval doctor"
        )
        return ended.exit_status
    surprises = differences(ended.requests)
    if as_json:
        out_json(_as_json(ended, surprises))
    else:
        _print_result(ended, surprises, history)
    return 1 if surprises else 0


def differences(requests: Sequence[RequestRecord]) -> list[str]:
    """Where the outcome of the quickstart plan is not what the agent was made to give; empty when all is well."""
    from tui_eval.demo.knowledge import expected_counts
    from tui_eval.domain import Outcome

    found = []
    for request in requests:
        expected = expected_counts(request.name)
        for outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.UNSCORED, Outcome.CANCELLED):
            count = getattr(request.counters, outcome.value)
            if count != expected[outcome]:
                found.append(f"request {request.name}: {count} {outcome.value}, not {expected[outcome]}")
    return found


def _as_json(ended: Ended, surprises: list[str]) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "run_id": ended.run.run_id,
        "state": ended.run.state.value,
        "as_designed": not surprises,
        "differences": surprises,
        "requests": [{"name": request.name, **asdict(request.counters)} for request in ended.requests],
    }


def _print_result(ended: Ended, surprises: list[str], history: Path | None) -> None:
    from tui_eval.cli.history import opened
    from tui_eval.cli.summary import print_summary

    with opened(history) as stored:
        print_summary(stored, stored.run(ended.run.run_id))
    out()
    if surprises:
        for surprise in surprises:
            tell(surprise)
        tell("The demo did not go as designed.")
        return
    run_id = ended.run.run_id
    hints = {
        f"{_program()} show {run_id} --case capital-australia": "one case in full",
        f"{_program()} export {run_id} --format md": "the result as a document",
        f"{_program()} demo --copy-samples my-evals": "plans to start from",
    }
    out("The demo went as designed: every wrong answer and every failure above was made on purpose.")
    out()
    for command, use in hints.items():
        out(f"  {command:<{max(map(len, hints))}}  {use}")
