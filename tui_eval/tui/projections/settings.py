"""The settings as rows: what each is now, where that comes from, when a change takes effect."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tui_eval.tui.settings import Settings
from tui_eval.tui.text import plural
from tui_eval.tui.widgets.cells import Cell, Column, Row

COLUMNS = (
    Column("name", "setting", 10, priority=9),
    Column("value", "now", 16, weight=2, priority=10),
    Column("from", "from", 8, priority=4),
    Column("remark", "", 20, weight=3, priority=3),
)
MOUSE = {None: "automatic", True: "on", False: "off"}


def setting_rows(
    settings: Settings, themes: Mapping[str, str], theme: str, workspace: Path, history: Path
) -> list[Row]:
    """A row a setting; its key is the field's name. ``theme``, ``workspace`` and ``history`` are those in use."""
    return [
        _row("theme", themes.get(theme, theme), "changes at once; T chooses it anywhere", settings.theme),
        _row(
            "mouse",
            MOUSE[settings.mouse],
            "automatic means off over SSH; m switches it for this session",
            settings.mouse,
        ),
        _row(
            "workspace",
            str(workspace),
            "where plans and datasets are found; a change takes effect at the next start",
            settings.workspace,
        ),
        _row(
            "history", str(history), "the file with all runs; a change takes effect at the next start", settings.history
        ),
        _row(
            "keymap",
            f"{plural(len(settings.keymap), 'key')} of your own",
            "written in the file below, by the ids that the README lists",
            settings.keymap,
        ),
    ]


def _row(name: str, value: str, remark: str, own: object) -> Row:
    mark = "set" if own not in ("", None, {}) else "default"
    return Row(name, (Cell(name, "title"), value, Cell(mark, "muted"), Cell(remark, "muted")))
