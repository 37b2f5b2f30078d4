"""The command palette: every action that has a key on the screen below, found by words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from textual.binding import ActiveBinding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from tui_eval.tui import keys


class ScreenCommands(Provider):
    """The active bindings of the screen that the palette was opened over."""

    def _commands(self, *, numbered: bool = True) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Text and action of each; without the ``numbered`` ones (panel 1, panel 2 …), which would fill a screen."""
        pressed: dict[str, list[str]] = {}
        found: dict[str, ActiveBinding] = {}
        for key, active in self.screen.active_bindings.items():
            if active.binding.id and active.enabled and active.binding.action != "command_palette":
                pressed.setdefault(active.binding.id, []).append(key)
                found[active.binding.id] = active
        # What can be done here, then how to move, then what works everywhere.
        for name in sorted(found, key=lambda name: keys.rank(keys.group_of(name))):
            if not numbered and name[-1].isdigit():
                continue
            binding, node = found[name].binding, found[name].node
            # The key is part of the text: the toolkit reads its own place for a remark as markup.
            text = f"{binding.tooltip or binding.description}  ({keys.shown(keys.in_order(name, pressed[name])[0])})"
            yield text, partial(self.app.run_action, binding.action, node)

    async def discover(self) -> Hits:
        for text, command in self._commands(numbered=False):
            yield DiscoveryHit(Content(text), command)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for text, command in self._commands():
            if (score := matcher.match(text)) > 0:
                yield Hit(score, matcher.highlight(text), command)
