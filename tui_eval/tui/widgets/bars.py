"""The two thin lines that frame a screen: where one is, and which keys do something here."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.cells import cell_len
from textual.app import RenderResult
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget

from tui_eval.tui import keys
from tui_eval.tui.text import fit, line


class TitleBar(Widget):
    """``tui-eval › Home › support-bot`` on the left, a short status on the right. Texts from anywhere are safe here."""

    DEFAULT_CSS = """
    TitleBar { height: 1; dock: top; background: $panel; color: $foreground; padding: 0 1; }
    TitleBar > .title-bar--here { text-style: bold; }
    TitleBar > .title-bar--above { color: $muted; text-style: $muted-style; }
    TitleBar > .title-bar--status { color: $muted; text-style: $muted-style; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"title-bar--here", "title-bar--above", "title-bar--status"}

    path: reactive[tuple[str, ...]] = reactive(())
    status: reactive[str] = reactive("")

    def render(self) -> RenderResult:
        width = self.size.width
        status = fit(line(self.status), max(0, width // 2))
        room = width - (cell_len(status) + 2 if status else 0)
        parts = [line(part, 80) for part in self.path] or [""]
        while len(parts) > 1 and cell_len(" › ".join(parts)) > room:
            parts.pop(0)
        above = "".join(f"{part} › " for part in parts[:-1])
        here = fit(parts[-1], max(1, room - cell_len(above)))
        blank = " " * max(0, width - cell_len(above) - cell_len(here) - cell_len(status))
        return Content.assemble(
            (above, self.get_visual_style("title-bar--above")),
            (here, self.get_visual_style("title-bar--here")),
            blank,
            (status, self.get_visual_style("title-bar--status")),
        )


class KeyBar(Widget):
    """The keys that do something where the focus is, as many as fit; ``?`` for all of them is always there."""

    DEFAULT_CSS = """
    KeyBar { height: 1; dock: bottom; background: $panel; color: $foreground; padding: 0 1; }
    KeyBar > .key-bar--key { color: $primary; text-style: bold; }
    KeyBar > .key-bar--label { color: $foreground; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-bar--key", "key-bar--label"}

    hints: reactive[tuple[tuple[str, str], ...]] = reactive(())

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)
        self._bindings_changed(self.screen)

    def _bindings_changed(self, screen: Screen[Any]) -> None:
        if screen is self.screen:
            self.hints = shown_hints(screen)

    def render(self) -> RenderResult:
        key_style = self.get_visual_style("key-bar--key")
        label_style = self.get_visual_style("key-bar--label")
        parts: list[str | tuple[str, Style]] = []
        for key, label in fitting(self.hints, self.size.width):
            parts += ["  "] if parts else []
            parts += [(key, key_style), " ", (label, label_style)]
        return Content.assemble(*parts)


def shown_hints(screen: Screen[Any]) -> tuple[tuple[str, str], ...]:
    """``(key, label)`` of the active bindings that stand in the footer: those that the widget with the focus and the
    screen name in ``HINTS``, in this order, then the others that ask for it, and help last. ``LABELS`` of both say what
    a key means there."""
    first = tuple(dict.fromkeys((*getattr(screen.focused, "HINTS", ()), *getattr(screen, "HINTS", ()))))
    said = {**getattr(screen, "LABELS", {}), **getattr(screen.focused, "LABELS", {})}
    pressed: dict[str, list[str]] = {}
    labels: dict[str, str] = {}
    for key, active in screen.active_bindings.items():
        binding = active.binding
        name = binding.id or binding.action
        if active.enabled and (binding.show or name in first):
            pressed.setdefault(name, []).append(key)
            labels[name] = said.get(name, binding.description)
    places = {name: place for place, name in enumerate(first)}
    names = sorted(labels, key=lambda name: (name == "app.help", places.get(name, len(first))))
    return tuple((keys.shown(keys.in_order(name, pressed[name])[0]), labels[name]) for name in names)


def fitting(hints: tuple[tuple[str, str], ...], width: int) -> list[tuple[str, str]]:
    """Those that fit into ``width`` cells, from the first; the last one is kept whatever else there is."""
    if not hints:
        return []
    room = width - _hint_width(hints[-1])
    kept: list[tuple[str, str]] = []
    for hint in hints[:-1]:
        room -= _hint_width(hint) + 2
        if room < 0:
            break
        kept.append(hint)
    return [*kept, hints[-1]]


def _hint_width(hint: tuple[str, str]) -> int:
    return cell_len(hint[0]) + 1 + cell_len(hint[1])
