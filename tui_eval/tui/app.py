"""Starting the screens. Light to import: the toolkit comes only when the terminal can show them."""

from __future__ import annotations

import gc
import os
import re
import sys
from pathlib import Path

from tui_eval.tui import settings as settings_file
from tui_eval.tui.terminal import Terminal, examine

REFUSED = 2
DEFECT = 70


def main(
    history: Path | None = None,
    workspace: Path | None = None,
    run_id: str | None = None,
    *,
    mouse: bool | None = None,
    config: Path | None = None,
) -> int:
    """Show the screens until the user leaves; the exit status of the program.

    ``history`` and ``workspace`` None: what the settings say, else the usual places. ``run_id`` is opened at once.
    ``mouse`` None: the setting, else off over SSH. 0 as wanted, 2 when this is no terminal for it (the message names
    the commands to use), 70 after a defect (the terminal is restored, the message names a report without data), 129
    and 143 after SIGHUP and SIGTERM.
    """
    gc.disable()  # until the first paint: all that is made until then stays
    config = config or settings_file.default_path()
    settings, problems = settings_file.read(config)
    wanted = mouse if mouse is not None else settings.mouse
    terminal = examine(os.environ, sys.__stdin__, sys.__stdout__, sys.__stderr__, wanted)
    if terminal.refusal:
        _say(f"tui-eval: {terminal.refusal}")
        return REFUSED
    return _run(terminal, settings, problems, config, history, workspace, run_id)


def _run(
    terminal: Terminal,
    settings: settings_file.Settings,
    problems: list[str],
    config: Path,
    history: Path | None,
    workspace: Path | None,
    run_id: str | None,
) -> int:
    if not os.environ.get("NO_COLOR"):
        os.environ.pop("NO_COLOR", None)  # set but empty means colours; the toolkit takes it for no colours
    _forget_exported_size()
    from tui_eval.store.place import history_path
    from tui_eval.tui.application import TuiEvalApp

    place = history if history is not None else history_path(settings.history or None, os.environ)
    folder = workspace or Path(settings.workspace or ".").expanduser().absolute()
    app = TuiEvalApp(
        place,
        folder,
        terminal=terminal,
        settings=settings,
        config=config,
        problems=problems,
        run_id=run_id,
        painted=_collect_garbage_again,
    )
    error: BaseException | None = None
    try:
        app.run(mouse=terminal.mouse)
    except Exception as raised:
        error = raised
    error = app.defect or error
    if error is not None:
        return _report(error)
    _tell_live_runs(place)
    return app.return_code or 0


def _forget_exported_size() -> None:
    """COLUMNS and LINES of a shell that exports them: the terminal itself knows its size, after a change too."""
    try:
        size = os.get_terminal_size(sys.__stdout__.fileno()) if sys.__stdout__ is not None else None
    except OSError:
        return
    if size is not None and size.columns and size.lines:
        os.environ.pop("COLUMNS", None)
        os.environ.pop("LINES", None)


def _collect_garbage_again() -> None:
    gc.freeze()  # what was loaded until now stays: it need not be looked through again and again
    gc.enable()


def _report(error: BaseException) -> int:
    from tui_eval.defects import write_report

    place = write_report(error)
    where = f"The details are in {place}; please report it with that file." if place else "No report could be written."
    _say(
        f"tui-eval: something unexpected happened ({type(error).__name__}). This is a defect of tui_eval. Runs are not "
        f"touched by it: they go on, and what they finish is in the history. {where}"
    )
    return DEFECT


def _tell_live_runs(history: Path) -> None:
    """Say which runs go on without the screen; nothing when there is none or the history cannot be read now."""
    from tui_eval.errors import TuiEvalError
    from tui_eval.store.reader import History
    from tui_eval.store.records import RunState

    try:
        with History(history) as stored:
            live = [each.run for state in RunState if state.live for each in stored.runs(limit=20, state=state)]
    except TuiEvalError:
        return
    for run in live:
        _say(f"Run {run.run_id} goes on. Follow it with: tui-eval watch {run.run_id}")


def _wrapped(text: str) -> str:
    """``text`` with line ends between words, for a terminal as wide as it is; as it stands for a file or a pipe. Paths
    and commands are never cut."""
    import textwrap

    try:
        width = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return text
    whole = re.sub("`[^`]*`", lambda command: command[0].replace(" ", "\0"), text)
    filled = textwrap.fill(whole, max(width, 20), break_long_words=False, break_on_hyphens=False)
    return filled.replace("\0", " ")


def _say(text: str) -> None:
    from tui_eval.display import safe

    if sys.stderr is None:
        return
    try:
        sys.stderr.write(_wrapped(safe(text)) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # the terminal is gone (SIGHUP): nobody is left to read it
        return
