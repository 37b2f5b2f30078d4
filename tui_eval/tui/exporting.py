"""Writing a run or a comparison to a file: asked for on a screen, done by the command line in a process of its own,
which makes files that are there as a whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.errors import TuiEvalError
from tui_eval.tui.child_command import environment, program
from tui_eval.tui.screens.copying import free
from tui_eval.tui.screens.dialogs import Choose, Option, Prompt

if TYPE_CHECKING:
    from tui_eval.tui.application import TuiEvalApp


async def export(app: TuiEvalApp, title: str, options: Sequence[Option], stem: str, words: Sequence[str]) -> None:
    """Ask for one of the formats (values of ``options``) and a file, then let ``tui-eval WORDS`` write it."""
    name = await app.push_screen_wait(Choose(title, options))
    if name is None:
        return
    place = str(free(app.workspace / f"{stem}.{name}"))
    text = await app.push_screen_wait(Prompt("Write to file", place, check=no_new_file))
    if text is None:
        return
    target = Path(text).expanduser().absolute()
    arguments = [*words, "--format", name, "--output", str(target), "--history", str(app.history.path)]

    async def write(tell: object) -> None:
        await run_quietly(*arguments)
        app.notify(str(target), title="Written", timeout=10)

    app.long_work.start(f"writing {target.name}", write)


async def run_quietly(*arguments: str) -> None:
    """Run ``tui-eval ARGUMENTS`` to its end; ended at once when the waiting is cancelled. Raises TuiEvalError with what
    it said when it does not end well."""
    process = await asyncio.create_subprocess_exec(
        *program(),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment(),
    )
    try:
        _, message = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        told = message.decode(errors="replace").strip()
        raise TuiEvalError(told or f"tui-eval {arguments[0]} ended with status {process.returncode}")


def no_new_file(text: str) -> str:
    """What is wrong with a path for a new file, "" when nothing is."""
    if not text.strip():
        return "a path is needed"
    target = Path(text).expanduser()
    if target.exists():
        return "there is such a file already; name a new one"
    return "" if target.absolute().parent.is_dir() else f"there is no folder {target.absolute().parent}"
