"""Every key of the application, in one registry: a module of this folder is a group, active together with others.

A group module has ``TITLE``, ``KEYS`` and ``WITH`` (the groups that are active at the same time: of one screen, its
tables and the application), and may have ``INSTEAD``: ids of those groups whose keys mean something closer here (on a
plan, the key of the launch screen launches this plan). Screens and widgets say ``BINDINGS = keys.bindings("table")``. The ids are what users
write in the ``keymap`` of ``config.yaml``; the table of the README is made by :func:`keys_table`; a test refuses two
meanings for one key and keys that do not reach us through SSH, tmux and plain terminals.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.binding import BindingType

UNSAFE = frozenset(
    [
        "ctrl+a",
        "ctrl+b",
        "ctrl+h",
        "ctrl+i",
        "ctrl+j",
        "ctrl+m",
        "ctrl+s",
        "ctrl+z",
        "ctrl+left_square_bracket",
        "ctrl+enter",
        "shift+enter",
    ]
)
"""Keys that tmux, screen, flow control or the terminal keep for themselves, or that are another key in disguise."""


@dataclass(frozen=True, slots=True)
class Key:
    """One binding. ``id`` is ``group.name``; ``keys`` as Textual writes them, the first one is shown.

    ``label`` is what the footer says (a word or two), ``help`` the sentence of help, palette and README. ``footer``
    puts it into the footer. ``priority`` makes it work wherever the focus is.
    """

    id: str
    keys: str
    action: str
    label: str
    help: str
    footer: bool = False
    priority: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A module of this folder."""

    name: str
    title: str
    keys: tuple[Key, ...]
    together: tuple[str, ...]
    instead: tuple[str, ...] = ()


def group(name: str) -> Group:
    """A group by the name of its module."""
    module = import_module(f"{__name__}.{name}")
    return Group(name, module.TITLE, tuple(module.KEYS), tuple(module.WITH), tuple(getattr(module, "INSTEAD", ())))


def groups() -> list[Group]:
    """Every group: the application's first, then by name."""
    names = sorted(module.name for module in iter_modules(__path__))
    names.sort(key=lambda name: name != "everywhere")
    return [group(name) for name in names]


def bindings(name: str) -> list[BindingType]:
    """The bindings of a group, for ``BINDINGS`` of the screen or widget it belongs to."""
    from textual.binding import Binding

    return [
        Binding(
            key.keys,
            key.action,
            key.label,
            show=key.footer,
            priority=key.priority,
            tooltip=key.help,
            id=key.id,
        )
        for key in group(name).keys
    ]


@cache
def _registered(name: str) -> dict[str, tuple[str, ...]]:
    """The keys of one group by id; nothing else is imported for it."""
    return {key.id: tuple(each.strip() for each in key.keys.split(",")) for key in group(name).keys}


def group_of(name: str) -> str:
    """The group of a binding's id."""
    prefix = name.partition(".")[0]
    return "everywhere" if prefix == "app" else prefix


MOVING = ("table", "viewer")
"""Groups of keys that move in a table or a text."""


def rank(name: str) -> int:
    """Where a group stands for somebody who looks for what can be done here: 0 first, then what moves, then what works
    everywhere."""
    return 2 if name == "everywhere" else int(name in MOVING)


def in_order(name: str, pressed: Iterable[str]) -> list[str]:
    """The keys of a binding (by its id) as they are now: ours in the order of the registry, then those of the user."""
    own = _registered(group_of(name)).get(name, ()) if "." in name else ()
    return sorted(pressed, key=lambda key: own.index(key) if key in own else len(own))


def shown(key: str) -> str:
    """A key as people read it: ``ctrl+d``, ``/``, ``?``, ``space``, ``↓``."""
    return _NAMES.get(key, key)


def shown_all(keys: str) -> str:
    """``j,down`` as people read it: ``j ↓``."""
    return " ".join(shown(key.strip()) for key in keys.split(","))


def keys_table() -> str:
    """Every key as Markdown, a table a group, for the README."""
    parts = []
    for each in groups():
        rows = [f"| `{shown_all(key.keys)}` | {key.help} | `{key.id}` |" for key in each.keys]
        parts.append("\n".join([f"**{each.title}**", "", "| key | what it does | id |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


_NAMES = {
    "question_mark": "?",
    "colon": ":",
    "comma": ",",
    "slash": "/",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "backslash": "\\",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "full_stop": ".",
    "asterisk": "*",
    "exclamation_mark": "!",
    "ctrl+backslash": "ctrl+\\",
    "escape": "esc",
    "pagedown": "page down",
    "pageup": "page up",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}
