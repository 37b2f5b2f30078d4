"""What a user does with runs from several screens: tags, note, delete, the demo. All run in workers of a screen."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tui_eval.display import readable_size
from tui_eval.errors import TuiEvalError
from tui_eval.store.upkeep import delete_run
from tui_eval.tui.long_work import Tell
from tui_eval.tui.screens.dialogs import Confirm, Prompt
from tui_eval.tui.text import line, plural

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.records import RunRecord
    from tui_eval.tui.application import TuiEvalApp

_NAMED = 6  # runs named one by one in a question


async def change_tags(app: TuiEvalApp, runs: Sequence[RunRecord]) -> bool:
    """Ask for the tags of these runs and store them; True when anything was stored."""
    if not runs:
        return False
    title = f"Tags of {_named(runs)}, separated by commas"
    text = await app.push_screen_wait(Prompt(title, ", ".join(runs[0].tags), hint="nightly, baseline"))
    if text is None:
        return False
    from tui_eval.store.upkeep import set_tags

    tags = [tag.strip() for tag in text.split(",")]
    return await _each(app, runs, lambda run: set_tags(app.history.path, run.run_id, tags))


async def change_note(app: TuiEvalApp, run: RunRecord) -> bool:
    """Ask for the note of a run and store it; True when it was stored."""
    text = await app.push_screen_wait(Prompt(f"Note on {run.run_id}", run.note, hint="what is worth remembering"))
    if text is None:
        return False
    from tui_eval.store.upkeep import set_note

    return await _each(app, [run], lambda run: set_note(app.history.path, run.run_id, text))


async def delete_runs(app: TuiEvalApp, runs: Sequence[RunRecord], deleted: Callable[[str], None]) -> None:
    """Ask, then delete one after the other beside the keys; ``deleted`` is told the id of each that is gone.

    A run that may not be deleted (live, pinned) is told and passed over. Stopping ends it between two runs, or within a
    large one, which can then be deleted again.
    """
    if not runs:
        return
    sizes = await app.history.read(partial(_sizes, runs=runs))
    lines = [
        f"{run.run_id}  {readable_size(size):>8}  {line(run.name, 34)}" for run, size in zip(runs, sizes, strict=True)
    ]
    if len(lines) > _NAMED:
        lines[_NAMED:] = [f"and {len(lines) - _NAMED} more"]
    lines += ["", f"This frees about {readable_size(sum(sizes))} for new runs. It cannot be undone."]
    if not await app.push_screen_wait(Confirm(f"Delete {plural(len(runs), 'run')}?", lines, yes="Delete")):
        return
    about = runs[0].run_id if len(runs) == 1 else ""
    app.long_work.start("deleting", partial(_delete, app, runs, deleted), about)


async def _delete(app: TuiEvalApp, runs: Sequence[RunRecord], deleted: Callable[[str], None], tell: Tell) -> None:
    stop = threading.Event()
    loop = asyncio.get_running_loop()
    try:
        for place, run in enumerate(runs):
            of_runs = f"{place} of {len(runs)}" if len(runs) > 1 else ""
            tell(of_runs)

            def told(done: int, total: int, of_runs: str = of_runs) -> None:
                """In the thread that deletes: how much of this run is gone."""
                share = f"{100 * done // total} %"
                loop.call_soon_threadsafe(tell, f"{of_runs}, {share}" if of_runs else share)

            try:
                gone = await app.history.call(partial(delete_run, app.history.path, run.run_id, stop.is_set, told))
            except TuiEvalError as error:
                app.notify(str(error), severity="error", timeout=8)
            else:
                if gone:
                    deleted(run.run_id)
    finally:
        stop.set()  # the thread of a large run ends after a chunk of it


async def start_demo(app: TuiEvalApp) -> None:
    """Start the demo and show it live: its agent and its run live on without the screen."""
    from tui_eval.demo.live import start

    demo = await app.history.call(partial(start, app.history.path))
    app.open("run", run_id=demo.run_id)


def _sizes(history: History, runs: Sequence[RunRecord]) -> list[int]:
    return [history.size_of(run) for run in runs]


def _named(runs: Sequence[RunRecord]) -> str:
    return runs[0].run_id if len(runs) == 1 else plural(len(runs), "run")


async def _each(app: TuiEvalApp, runs: Sequence[RunRecord], change: Callable[[RunRecord], None]) -> bool:
    """Apply a change to each run in a thread; told and False when one could not be changed."""
    try:
        for run in runs:
            await app.history.call(partial(change, run))
    except TuiEvalError as error:
        app.notify(str(error), severity="error", timeout=8)
        return False
    return True
