"""Pictures of screens as text: what stands there, and in which colours, for one size and several themes in one file.

Rewrite them after a change that was meant: ``REWRITE_SNAPSHOTS=1 pytest -n 0 tests/tui/test_snapshots.py``, and read the
difference before it is committed.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.segment import Segment
from textual.app import App

FOLDER = Path(__file__).parent.parent / "snapshots"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def text_of(app: App[Any]) -> str:
    """What stands on the screen, without blanks at the ends of lines."""
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in _lines(app))


def looks_of(app: App[Any]) -> str:
    """Which style each stretch of cells has: a list of styles by letter, then line by line ``a20 b3``."""
    letters: dict[str, str] = {}
    rows = []
    for line in _lines(app):
        parts: list[tuple[str, int]] = []
        for segment in line:
            letter = letters.setdefault(_style(segment), _LETTERS[len(letters)])
            if parts and parts[-1][0] == letter:
                parts[-1] = (letter, parts[-1][1] + segment.cell_length)
            else:
                parts.append((letter, segment.cell_length))
        rows.append(" ".join(f"{letter}{length}" for letter, length in parts))
    return "\n".join([*(f"{letter}: {style}" for style, letter in letters.items()), "", *rows])


def check(name: str, text: str, looks: Mapping[str, str]) -> None:
    """Compare with the file of that name; ``looks`` by theme. Fails with what is different, or rewrites the file."""
    path = FOLDER / f"{name}.txt"
    parts = [text, *(f"==== {theme}\n{look}" for theme, look in looks.items())]
    shown = "\n".join(parts) + "\n"
    if os.environ.get("REWRITE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert path.is_file(), f"{path} is missing: see tests/support/snapshots.py"
    before = path.read_text(encoding="utf-8")
    different = difflib.unified_diff(before.split("\n"), shown.split("\n"), path.name, "now", n=1, lineterm="")
    assert before == shown, "\n".join(different)


def _lines(app: App[Any]) -> list[list[Segment]]:
    return [list(strip) for strip in app.screen._compositor.render_strips()]


def _style(segment: Segment) -> str:
    style = segment.style
    if style is None:
        return "none"
    words = [str(style.color.name if style.color else "default")]
    if style.bgcolor:
        words += ["on", style.bgcolor.name]
    words += [name for name in ("bold", "dim", "italic", "underline", "reverse") if getattr(style, name)]
    return " ".join(words)
