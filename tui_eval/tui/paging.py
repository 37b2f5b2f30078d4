"""Showing a text in the user's pager or editor: in a file of its own, which goes when the application ends."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.tui.foreground import NoTerminal, run_in_foreground

if TYPE_CHECKING:
    from tui_eval.tui.application import TuiEvalApp


def pager(environment: Mapping[str, str]) -> list[str]:
    """The command, without the file. Raises ValueError for a quote that is not closed in ``$PAGER``."""
    command = shlex.split(environment.get("PAGER", ""))
    if command:
        return command
    found = next((name for name in ("less", "more") if shutil.which(name, path=environment.get("PATH"))), None)
    return [found] if found else []


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tui-eval-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def shown_file(name: str, text: str) -> Path:
    """A file (0600) with ``text`` for another program to show; one of the same name is replaced."""
    path = _folder() / name
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(handle, "wb") as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))
    return path


def page(app: TuiEvalApp, path: Path) -> bool:
    """Give the screen to the pager until it ends; False, and told, when that cannot be."""
    try:
        command = pager(os.environ)
    except ValueError as error:
        app.notify(f"$PAGER cannot be understood: {error}", severity="error", timeout=8)
        return False
    if not command:
        app.notify("There is no pager: set PAGER, for example PAGER=less.", severity="error", timeout=8)
        return False
    try:
        status = run_in_foreground(app, [*command, str(path)])
    except NoTerminal:
        app.notify(f"This terminal cannot be given to a pager. The text is in {path}", severity="error", timeout=8)
        return False
    except OSError as error:
        app.notify(f"The pager {command[0]} cannot be started: {error.strerror}", severity="error", timeout=8)
        return False
    if status:
        app.notify(f"The pager ended with status {status}.", severity="warning")
    return True
