"""Settings: theme, mouse, workspace, the place of the history. Every change is written at once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.widget import Widget
from textual.widgets import Static

from tui_eval.tui import keys
from tui_eval.tui.projections.settings import COLUMNS, MOUSE, setting_rows
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.screens.dialogs import Choose, Option, Prompt
from tui_eval.tui.settings import Settings
from tui_eval.tui.text import content
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.cells import Cell
from tui_eval.tui.widgets.line_table import LineTable


class SettingsScreen(BaseScreen):
    """A row a setting; enter changes it."""

    DEFAULT_CSS = """
    SettingsScreen #file { height: auto; padding: 0 2; border-top: solid $edge; color: $muted; text-style: $muted-style; }
    """
    BINDINGS: ClassVar = keys.bindings("settings")
    PANELS = ("#settings",)
    LABELS: ClassVar = {"table.select": "change"}
    HELP = "Enter changes a setting. Keys are changed in the file, by the ids that the README lists."

    def body(self) -> Iterable[Widget]:
        yield LineTable(COLUMNS, id="settings", marking=False)
        yield Static("", id="file", markup=False)

    def on_mount(self) -> None:
        self._show()
        self.query_one(LineTable).focus()
        self.app.theme_changed_signal.subscribe(self, lambda theme: self._show())

    def _show(self) -> None:
        app = self.tui
        rows = setting_rows(app.settings, app.themes.titles, app.theme, app.workspace, app.history.path)
        self.query_one(LineTable).show(rows)
        self._show_whole()

    @on(LineTable.Highlighted)
    def _show_whole(self) -> None:
        """The remark of the row under the cursor in full, where the table cuts it, and where all is kept."""
        table = self.query_one(LineTable)
        row = table.source.row(table.cursor) if table.source.count() else None
        remark = "" if row is None else " ".join(cell.text for cell in row.cells[-1:] if isinstance(cell, Cell))
        whole = f"{row.key}: {remark}" if row is not None else ""
        self.query_one("#file", Static).update(content(f"{whole}\nKept in {self.tui.config}"))

    @on(LineTable.Selected)
    def _selected(self, event: LineTable.Selected) -> None:
        if event.key == "theme":
            self.tui.action_choose_theme()
        elif event.key == "mouse":
            self._change_mouse()
        elif event.key in ("workspace", "history"):
            self._change_path(str(event.key))
        else:
            self.notify(f"Write keys into {self.tui.config} under keymap:, as `table.down: n,down`.", timeout=8)

    def action_reset(self) -> None:
        key = self.query_one(LineTable).cursor_key
        if isinstance(key, str):
            self._save(**{key: getattr(Settings(), key)})

    @asks()
    async def _change_mouse(self) -> None:
        options = [
            Option("automatic", "Automatic", "on, but off over SSH"),
            Option("on", "On", "click rows; the terminal selects no text"),
            Option("off", "Off", "the terminal selects text"),
        ]
        chosen = await self.app.push_screen_wait(Choose("Mouse", options, at=MOUSE[self.tui.settings.mouse]))
        if chosen is not None:
            self._save(mouse={name: value for value, name in MOUSE.items()}[chosen])
            self.notify("The mouse is as set at the next start; m switches it now.")

    @asks()
    async def _change_path(self, name: str) -> None:
        current = self.tui.workspace if name == "workspace" else self.tui.history.path
        check = _check_folder if name == "workspace" else _check_history
        text = await self.app.push_screen_wait(Prompt(f"Path of the {name}", str(current), check=check))
        if text is not None:
            self._save(**{name: str(Path(text).expanduser().absolute())})
            self.notify(f"The {name} is used from the next start on.")

    def _save(self, **changes: Any) -> None:
        if self.tui.save_settings(**changes):
            self._show()


def _check_folder(text: str) -> str:
    return "" if Path(text).expanduser().is_dir() else "there is no such folder"


def _check_history(text: str) -> str:
    path = Path(text).expanduser()
    if path.is_dir():
        return "this is a folder; the history is a file"
    return "" if path.absolute().parent.is_dir() else "there is no such folder to keep it in"
