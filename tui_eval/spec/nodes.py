"""What a user wrote, as a tree that remembers where each part stands. Merging keeps the places of both sides.

Plain data comes out with :meth:`Node.data`; a fault about any part of a merged section still names the file, line and
column where that part was typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tui_eval.domain import JsonValue
from tui_eval.errors import Fault

Key: TypeAlias = str | int
Path: TypeAlias = tuple[Key, ...]

DEPTH = 100
"""Most levels of maps and lists inside each other in anything a user writes."""

LARGEST_INTEGER_BITS = 4096


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was typed: ``line`` and ``column`` count from 1 (0: unknown), ``path`` is inside the file."""

    file: str = ""
    line: int = 0
    column: int = 0
    path: Path = ()

    def fault(self, message: str, hint: str = "", *, warning: bool = False) -> Fault:
        return Fault(message, self.file, self.line, self.column, dotted(self.path), hint, warning)


@dataclass(slots=True)
class Node:
    """A scalar, a map (``dict[str, Node]``) or a list (``list[Node]``).

    ``typed`` is a plain scalar exactly as it was typed, None for quoted texts, maps and lists. ``block`` marks a text
    whose first line is the one below its place. ``keys`` has the place of each key of a map. Never changed once it is
    part of a tree: the functions below copy what they change.
    """

    value: Any
    place: Place
    typed: str | None = None
    block: bool = False
    keys: dict[str, Place] = field(default_factory=dict)

    @property
    def is_map(self) -> bool:
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        return isinstance(self.value, list)

    def get(self, key: str) -> Node | None:
        """The value of ``key``, None when this is not a map or has no such key."""
        return self.value.get(key) if self.is_map else None

    def data(self) -> JsonValue:
        """Plain data, new maps and lists each time."""
        if self.is_map:
            return {key: child.data() for key, child in self.value.items()}
        if self.is_list:
            return [child.data() for child in self.value]
        return self.value

    def find(self, path: Sequence[Key]) -> tuple[Node, Place, int]:
        """The node at ``path`` or its nearest existing ancestor, its place (of the key, for an entry of a map), and
        how many steps of ``path`` exist."""
        node, place = self, self.place
        for count, step in enumerate(path):
            if node.is_map and step in node.value:
                place = node.keys.get(str(step), node.place)
                node = node.value[step]
            elif node.is_list and isinstance(step, int) and 0 <= step < len(node.value):
                node = node.value[step]
                place = node.place
            else:
                return node, place, count
        return node, place, len(path)

    def leaves(self, path: Path = ()) -> Iterator[tuple[Path, Node, Place]]:
        """Every scalar: its path from here, the node, and its place (of the key, for an entry of a map)."""
        yield from self._leaves(path, self.place)

    def _leaves(self, path: Path, place: Place) -> Iterator[tuple[Path, Node, Place]]:
        if self.is_map:
            for key, child in self.value.items():
                yield from child._leaves((*path, key), self.keys.get(key, child.place))
        elif self.is_list:
            for index, child in enumerate(self.value):
                yield from child._leaves((*path, index), child.place)
        else:
            yield path, self, place


def items_of(node: Node | None) -> list[Node]:
    """The items of a list, none of anything else."""
    return node.value if node is not None and node.is_list else []


def dotted(path: Sequence[Key]) -> str:
    """A path as people write it: ``requests.0.solution.url``."""
    return ".".join(str(step) for step in path)


def node_of(value: Any, place: Place) -> Node:
    """A tree of plain data (JSON values) that has no file. Raises ``ValueError`` naming what is not JSON."""
    return _node_of(value, place, 0)


def _node_of(value: Any, place: Place, depth: int) -> Node:
    if depth > DEPTH:
        raise ValueError(f"{dotted(place.path[:6])}…: more than {DEPTH} levels of maps and lists inside each other")
    if isinstance(value, Mapping):
        return _map_of(value, place, depth)
    if isinstance(value, list | tuple):
        children = [
            _node_of(item, replace(place, path=(*place.path, index)), depth + 1) for index, item in enumerate(value)
        ]
        return Node(children, place)
    if isinstance(value, int) and value.bit_length() > LARGEST_INTEGER_BITS:
        raise ValueError(
            f"{dotted(place.path)} is a number of more than {LARGEST_INTEGER_BITS} bits: write it as a text"
        )
    if value is None or isinstance(value, bool | int):
        return Node(value, place)
    if isinstance(value, str):
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise ValueError(f"{dotted(place.path)}: a text with half a surrogate pair cannot be stored as UTF-8")
        return Node(str(value), place)
    if isinstance(value, float) and value - value == 0:
        return Node(value, place)
    what = "not a finite number" if isinstance(value, float) else f"of type {type(value).__name__}, not JSON data"
    raise ValueError(f"{dotted(place.path) or 'the plan'} is {what}")


def _map_of(value: Mapping[Any, Any], place: Place, depth: int) -> Node:
    node = Node({}, place)
    for key, item in value.items():
        if not isinstance(key, str):
            raise ValueError(f"{dotted(place.path) or 'the plan'} has the key {key!r}: keys must be text")
        here = replace(place, path=(*place.path, key))
        node.keys[key] = here
        node.value[key] = _node_of(item, here, depth + 1)
    return node


def merge(base: Node | None, over: Node | None) -> Node | None:
    """``over`` on top of ``base``: maps merge at every depth, lists and scalars are replaced (AgentCompass contract,
    section 1, "Merge")."""
    if base is None or over is None:
        return base if over is None else over
    if not (base.is_map and over.is_map):
        return over
    merged = Node(dict(base.value), over.place, keys={**base.keys, **over.keys})
    for key, child in over.value.items():
        merged.value[key] = merge(base.value.get(key), child)
    return merged


def without(node: Node, keys: Sequence[str]) -> Node:
    """A copy of a map that lacks ``keys``."""
    kept = {key: child for key, child in node.value.items() if key not in keys}
    return replace(node, value=kept, keys={key: node.keys[key] for key in kept if key in node.keys})


def with_value(node: Node | None, path: Sequence[Key], value: Node) -> Node:
    """A copy of ``node`` with ``value`` at ``path``; maps that are missing on the way are made.

    Raises ``LookupError`` with a message when a step of ``path`` cannot be taken.
    """
    if not path:
        return value
    step, rest = path[0], path[1:]
    if node is not None and node.is_list:
        return _with_item(node, step, rest, value)
    if node is None or node.value is None:
        node = Node({}, value.place)
    if not node.is_map:
        raise LookupError(f"`{dotted(node.place.path)}` is neither a map nor a list: it has no `{step}`")
    key = str(step)
    child = with_value(node.value.get(key), rest, value)
    return replace(
        node, value={**node.value, key: child}, keys={**node.keys, key: value.place if not rest else child.place}
    )


def _with_item(node: Node, step: Key, rest: Sequence[Key], value: Node) -> Node:
    items = list(node.value)
    named = [at for at, item in enumerate(items) if str(step) in _names_of(item)]
    if len(named) == 1:
        index = named[0]
    elif str(step).isdecimal() and int(step) < len(items):
        index = int(step)
    else:
        where = dotted(node.place.path)
        raise LookupError(f"`{where}` has {len(items)} items, counted from 0: there is no single `{step}`")
    items[index] = with_value(items[index], rest, value)
    return replace(node, value=items)


def _names_of(item: Node) -> set[Any]:
    """What an item of a list may be called: its ``name``, else its ``id``."""
    name = item.get("name") or item.get("id")
    return {name.value} if name is not None and isinstance(name.value, str) else set()
