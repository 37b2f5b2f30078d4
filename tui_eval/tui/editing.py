"""Opening a file in the user's editor: ``$VISUAL``, else ``$EDITOR``, else one that is there."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.tui.background import away
from tui_eval.tui.foreground import NoTerminal, run_in_foreground

if TYPE_CHECKING:
    from tui_eval.tui.application import TuiEvalApp

FALLBACKS = ("sensible-editor", "nano", "vim", "vi")
_GOTO = frozenset(("code", "code-insiders", "codium", "cursor", "windsurf"))
_COLON = frozenset(("hx", "helix", "zed", "zeditor", "subl"))
_WINDOWED_VI = frozenset(("gvim", "mvim"))
_DESKTOP = frozenset(("gedit", "gnome-text-editor", "kate", "kwrite", "mousepad", "xed", "pluma", "geany", "xdg-open"))
_OTHERS = frozenset(("zed", "zeditor", "subl", "atom", "idea", "pycharm", "webstorm", "fleet", "open"))
_WINDOWS = _GOTO | _WINDOWED_VI | _DESKTOP | _OTHERS
"""Editors with a window of their own: the terminal stays ours while they are open, and most return at once."""
_PLUS = _WINDOWED_VI | frozenset(
    ("vi", "vim", "nvim", "view", "nano", "pico", "emacs", "emacsclient", "micro", "joe", "jed", "kak", "ne", "mg")
)
_AT_ONCE = 1.0  # seconds: an editor that comes back sooner was hardly used


def editor(environment: Mapping[str, str]) -> list[str]:
    """The command, without the file; empty when there is none. Raises ValueError for a quote that is not closed."""
    for name in ("VISUAL", "EDITOR"):
        if command := shlex.split(environment.get(name, "")):
            return command
    found = (shutil.which(name, path=environment.get("PATH")) for name in FALLBACKS)
    return next(([name] for name in found if name), [])


def command_line(command: list[str], path: Path, line: int) -> list[str]:
    """The command with the file, at ``line`` (from 1; 0: wherever) where the editor is known to take it."""
    program = Path(command[0]).name
    if line > 0 and program in _GOTO:
        return [*command, "--goto", f"{path}:{line}"]
    if line > 0 and program in _COLON:
        return [*command, f"{path}:{line}"]
    if line > 0 and program in _PLUS:
        return [*command, f"+{line}", str(path)]
    return [*command, str(path)]


async def edit(app: TuiEvalApp, path: Path, line: int = 0) -> bool:
    """Let the user edit a file; True when the editor has come back (or went away) and the file may be different.

    In the terminal the screen is given to the editor until it ends. An editor with a window of its own is waited for
    beside the screen. Whatever goes wrong is told.
    """
    try:
        command = editor(os.environ)
    except ValueError as error:
        app.notify(f"$VISUAL or $EDITOR cannot be understood: {error}", severity="error", timeout=8)
        return False
    if not command:
        app.notify("There is no editor: set EDITOR, for example EDITOR=nano.", severity="error", timeout=8)
        return False
    words = command_line(command, path, line)
    if Path(command[0]).name in _WINDOWS:
        return await _beside(app, words)
    return _in_terminal(app, words)


def _in_terminal(app: TuiEvalApp, words: list[str]) -> bool:
    started = time.monotonic()
    try:
        status = run_in_foreground(app, words)
    except NoTerminal:
        app.notify("This terminal cannot be given to an editor.", severity="error", timeout=8)
        return False
    except (OSError, ValueError) as error:
        _tell_failure(app, words, error)
        return False
    if status:
        app.notify(f"The editor ended with status {status}.", severity="warning")
    elif time.monotonic() - started < _AT_ONCE:
        app.notify("The editor came back at once. If it is open elsewhere: save there, then press r here.")
    return True


async def _beside(app: TuiEvalApp, words: list[str]) -> bool:
    silent = partial(
        subprocess.Popen,
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process = silent()
    except (OSError, ValueError) as error:
        _tell_failure(app, words, error)
        return False
    app.notify("The editor has a window of its own: save there, then press r here.")
    await away(process.wait)
    return True


def _tell_failure(app: TuiEvalApp, words: list[str], error: Exception) -> None:
    reason = getattr(error, "strerror", None) or error
    app.notify(f"The editor {words[0]} cannot be started: {reason}", severity="error", timeout=8)
