"""Writing a run or a comparison to a file: asked for on a screen, done by the command line in a process of its own,
which makes files that are there as a whole or not at all."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.errors import TuiEvalError
from tui_eval.tui.child_command import environment, program, started
from tui_eval.tui.long_work import Tell
from tui_eval.tui.screens.copying import free
from tui_eval.tui.screens.dialogs import Choose, Option, Prompt

if TYPE_CHECKING:
    from tui_eval.tui.application import TuiEvalApp

PROGRESS = re.compile(r"(\d+) of (\d+) tasks")
"""A line of ``--progress``."""


EVALSET_REPORT = Option("report", "Evalset report", "Markdown and CSV into a folder")
"""The format of a run of an evalset that is two files."""


async def export(app: TuiEvalApp, title: str, options: Sequence[Option], stem: str, words: Sequence[str]) -> None:
    """Ask for one of the formats (values of ``options``) and a file, then let ``tui-eval WORDS`` write it."""
    name = await app.push_screen_wait(Choose(title, options))
    if name is None:
        return
    if name == EVALSET_REPORT.value:
        await _export_report(app, words[-1])
        return
    place = str(free(app.workspace / f"{stem}.{name}"))
    text = await app.push_screen_wait(Prompt("Write to file", place, check=no_new_file))
    if text is None:
        return
    target = Path(text).expanduser().absolute()
    arguments = [*words, "--format", name, "--output", str(target), "--history", str(app.history.path)]
    if words[0] == "export":
        arguments.append("--progress")

    async def write(tell: Tell) -> None:
        await run_quietly(*arguments, tell=tell)
        app.notify(str(target), title="Written", timeout=10)

    app.long_work.start("writing", write, about=target.name)


async def _export_report(app: TuiEvalApp, run_id: str) -> None:
    """Ask for a folder and let the report of an evalset's run be written there."""
    text = await app.push_screen_wait(
        Prompt("Write the report into the folder", str(app.workspace / "reports"), check=no_folder)
    )
    if text is None:
        return
    folder = Path(text.strip()).expanduser().absolute()

    async def write(tell: object) -> None:
        await run_quietly("datalayer", "report", run_id, "--into", str(folder), "--history", str(app.history.path))
        app.notify(str(folder / f"report-{run_id}.md and .csv"), title="Written", timeout=10)

    app.long_work.start("writing", write, about=f"the report of {run_id}")


async def run_quietly(*arguments: str, tell: Tell | None = None) -> None:
    """Run ``tui-eval ARGUMENTS`` to its end; ended at once when the waiting is cancelled. ``tell`` gets how far it is
    (``43 %``) of a command with ``--progress``. Raises TuiEvalError with what it said when it does not end well."""
    process = await started(
        *program(),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment(),
    )
    said: list[str] = []
    try:
        assert process.stderr is not None
        async for raw in process.stderr:
            text = raw.decode(errors="replace").rstrip()
            done = PROGRESS.fullmatch(text) if tell is not None else None
            if done is None:
                said.append(text)
            elif tell is not None:
                tell(f"{100 * int(done[1]) // max(1, int(done[2]))} %")
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        told = "\n".join(said).strip()
        raise TuiEvalError(told or f"tui-eval {arguments[0]} ended with status {process.returncode}")


def no_folder(text: str) -> str:
    """What is wrong with a path for a folder that is made when it is not there, "" when nothing is."""
    if not text.strip():
        return "a path is needed"
    folder = Path(text.strip()).expanduser().absolute()
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    return "" if nearest.is_dir() else f"{nearest} is a file, not a folder"


def no_new_file(text: str) -> str:
    """What is wrong with a path for a new file, "" when nothing is."""
    if not text.strip():
        return "a path is needed"
    target = Path(text).expanduser()
    if target.exists():
        return "there is such a file already; name a new one"
    return "" if target.absolute().parent.is_dir() else f"there is no folder {target.absolute().parent}"
