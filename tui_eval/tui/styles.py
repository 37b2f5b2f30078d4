"""Styles by name, from the theme: what widgets that draw lines use for parts of a line.

The toolkit's component classes would say the same in CSS, but each is matched against every rule for every widget
whenever a class changes: with sixteen of them in five tables that was a fifth of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from rich.cells import cell_len
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.content import Content
from textual.style import Style as ContentStyle

from tui_eval.domain import Outcome
from tui_eval.tui.text import line
from tui_eval.tui.widgets.cells import Cell

_COLOURS = {
    "muted": "muted",
    "accent": "primary",
    "mark": "accent",
    "warning": "warning",
    "success": "success",
    "wrong": "error",
    "gutter": "primary",
    "header": "muted",
    **{outcome.value: f"state-{outcome.value}" for outcome in Outcome},
}
_BOLD = frozenset(("title", "header", "mark"))


def named(app: App[Any], name: str) -> Style:
    """The style of a name in the theme of now: an outcome, ``muted``, ``accent``, ``title``, ``warning``, ``header``,
    ``mark``, ``gutter``, ``cursor``, ``cursor-blurred``; the plain one for any other."""
    return _of_theme(tuple(app.theme_variables.get(each, "") for each in _USED)).get(name, _PLAIN)


def drawn(app: App[Any], cells: Iterable[Cell], width: int) -> Content:
    """Cells side by side as content of a widget, on one line of at most ``width`` cells, every text made safe."""
    parts: list[tuple[str, ContentStyle]] = []
    left = width
    for cell in cells:
        text = line(cell.text, left)
        parts.append((text, ContentStyle.from_rich_style(named(app, cell.style))))
        left -= cell_len(text)
        if left <= 0:
            break
    return Content.assemble(*parts)


_PLAIN = Style()
_USED = (*sorted(set(_COLOURS.values())), "muted-style", "row-cursor-background", "row-cursor-style", "panel")


@lru_cache(16)
def _of_theme(values: tuple[str, ...]) -> Mapping[str, Style]:
    variables = dict(zip(_USED, values, strict=True))
    styles = {
        name: Style(color=_rich(variables[variable]), bold=True if name in _BOLD else None)
        for name, variable in _COLOURS.items()
    }
    if variables["muted-style"] == "dim":
        styles["muted"] += Style(dim=True)
    styles["title"] = Style(bold=True)
    attributes = variables["row-cursor-style"].split()
    styles["cursor"] = Style(
        bgcolor=None if "reverse" in attributes else _rich(variables["row-cursor-background"]),
        bold=True if "bold" in attributes else None,
        reverse=True if "reverse" in attributes else None,
    )
    ansi = "reverse" in attributes
    styles["cursor-blurred"] = Style(underline=True) if ansi else Style(bgcolor=_rich(variables["panel"]))
    return styles


def _rich(colour: str) -> str | None:
    """A colour of a theme as rich takes it, None where there is none."""
    if not colour:
        return None
    parsed = Color.parse(colour)
    return None if parsed.a == 0 else parsed.rich_color.name
