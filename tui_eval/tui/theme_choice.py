"""The themes of the application: one before the first paint, the others after it, those of the user whenever they change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.tui import theming

if TYPE_CHECKING:
    from tui_eval.tui.application import TuiEvalApp

LOOK_SECONDS = 2.0
"""How often the user's folder of themes is looked at."""

Stamps = dict[str, tuple[int, int]]


class ThemeChoice:
    """What themes there are, and which one is used. ``titles`` are those of our files and of the user's, by name."""

    def __init__(self, app: TuiEvalApp) -> None:
        self._app = app
        self.titles: dict[str, str] = {}
        self._stamps: Stamps = {}
        self._files: dict[str, theming.ThemeFile] = {}

    def use(self, wanted: str) -> str:
        """Read one theme and use it, the default when there is no such theme; what is wrong, "" when nothing is."""
        problem = ""
        file = theming.find(wanted, theming.folders())
        if file is None and wanted not in self._app.available_themes:
            problem = f"There is no theme {wanted!r} that can be used; T lists those there are."
            wanted = theming.DEFAULT
            file = theming.find(wanted, theming.folders())
        if file is not None:
            self._files[file.name] = file
            self._app.register_theme(theming.theme(file))
        if wanted in self._app.available_themes:
            self._app.theme = wanted
        return problem

    def read_all(self) -> list[str]:
        """Read every theme file there is now, and draw anew when the theme in use has changed; what is wrong with them,
        a sentence a file."""
        self._stamps = _stamps(theming.user_folder())
        found, problems = theming.load(theming.folders())
        in_use = self._app.theme
        for file in found.values():
            if self._files.get(file.name) != file:
                self._files[file.name] = file
                self._app.register_theme(theming.theme(file))
                if file.name == in_use:
                    self._app._watch_theme(in_use)  # as if it had been chosen just now
        self.titles = {file.name: file.title for file in found.values()}
        return problems

    def look(self) -> list[str]:
        """Read the themes if that was not done yet, or the user's folder is not as it was; what is wrong with them."""
        return self.read_all() if not self.titles or _stamps(theming.user_folder()) != self._stamps else []


def _stamps(folder: Path) -> Stamps:
    """When each file of a folder was changed, and its size; empty when it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name: (entry.stat().st_mtime_ns, entry.stat().st_size) for entry in entries}
    except OSError:
        return {}
