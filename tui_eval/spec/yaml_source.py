"""YAML text -> a tree that knows where each part was typed, made from the parser's events.

Read as YAML 1.2: only LF and CR end a line (the parser below also breaks at U+0085, U+2028 and U+2029, so those are
hidden from it). Refused, with the place: duplicate keys, keys that are not text, tags other than ``!!str``, ``!!map``
and ``!!seq``, several documents in a file, aliases that multiply, and more than 100 levels of nesting. The merge key
``<<`` is understood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from tui_eval.errors import Fault
from tui_eval.spec.lines import Lines
from tui_eval.spec.nodes import DEPTH, Node, Path, Place
from tui_eval.spec.scalars import plain_value

ALIASED = 100_000
"""Most nodes (and hundreds of characters) that aliases may add to what was typed."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PREFIX = "tag:yaml.org,2002:"
_UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_BREAKS = "\x85\u2028\u2029"
_TEMPLATE = re.compile(r"\{\{.*?(\}\}|$)")
_BEFORE_CONTENT = re.compile(r"[\s-]*")


class _Stop(Exception):
    """The text makes no sense from here on; what was found is in the composer's faults."""


@dataclass(slots=True)
class _Frame:
    """A map or list that is not complete yet. ``key`` is the key whose value comes next; ``dropped`` means that value
    has no place to go (its key was refused)."""

    node: Node
    anchor: str | None
    key: str | None = None
    dropped: bool = False
    key_expected: bool = True
    weight: int = 1
    height: int = 1
    merges: list[tuple[Node, Place]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Anchored:
    node: Node
    weight: int
    height: int


def compose(text: str, file: str) -> tuple[Node | None, list[Fault]]:
    """The tree as far as it can be made, and the faults; the tree is None when the text cannot be read at all."""
    lines = Lines(text, file)
    unprintable = _UNPRINTABLE.search(text)
    if unprintable:
        code = ord(unprintable.group())
        hint = "control characters go into double quotes as escapes (\\x1b)"
        return None, [lines.place(unprintable.start()).fault(f"character U+{code:04X} is not allowed in YAML", hint)]
    hidden = _hide_breaks(text)
    composer = _Composer(lines, hidden)
    try:
        for event in yaml.parse(text.translate(hidden), Loader=_LOADER):
            composer.take(event)
    except _Stop:
        return None, composer.faults
    except yaml.YAMLError as error:
        return None, [*composer.faults, _syntax_fault(error, lines)]
    if composer.root is None or (composer.root.value is None and composer.root.typed == ""):
        return None, [Fault("the file has no content", file, hint="a plan starts with `version: 1`")]
    return composer.root, composer.faults


def _hide_breaks(text: str) -> dict[int, int]:
    """A translation of the line breaks of YAML 1.1 that are ordinary characters in 1.2 to characters not in use."""
    present = [character for character in _BREAKS if character in text]
    unused = (code for code in range(0xE000, 0xF900) if not present or chr(code) not in text)
    return {ord(character): next(unused) for character in present}


class _Composer:
    def __init__(self, lines: Lines, hidden: dict[int, int]) -> None:
        self.lines = lines
        self.shown = {code: ord_ for ord_, code in hidden.items()}
        self.faults: list[Fault] = []
        self.root: Node | None = None
        self.stack: list[_Frame] = []
        self.anchors: dict[str, _Anchored] = {}
        self.documents = 0
        self.aliased = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._start(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._end()
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                self._stop(event, "a second document starts here", "one file holds one document: remove the `---`")

    def _place(self, event: yaml.Event) -> Place:
        return self.lines.place(_offset(event), self._path())

    def _path(self) -> Path:
        if not self.stack:
            return ()
        frame = self.stack[-1]
        path = frame.node.place.path
        if frame.node.is_list:
            return (*path, len(frame.node.value))
        return path if frame.key is None else (*path, frame.key)

    def _fault(self, event: yaml.Event, message: str, hint: str = "") -> None:
        self.faults.append(self._place(event).fault(message, hint))

    def _stop(self, event: yaml.Event, message: str, hint: str = "") -> None:
        self._fault(event, message, hint)
        raise _Stop

    def _key_expected(self) -> bool:
        return bool(self.stack) and self.stack[-1].node.is_map and self.stack[-1].key_expected

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        plain = event.style in (None, "") and event.tag is None
        text = event.value.translate(self.shown) if self.shown else event.value
        self._check_tag(event, ("str",), plain)
        if self._key_expected():
            self._take_key(event, text, plain)
            return
        node = Node(text, self._place(event), block=event.style in ("|", ">"))
        if plain:
            node.value, node.typed = plain_value(text), text
        self._put(node, event.anchor, 1 + len(text) // 100, 0)

    def _check_tag(self, event: Any, allowed: tuple[str, ...], plain: bool = False) -> None:
        if event.tag is None or plain or event.tag in ("!", *(_PREFIX + name for name in allowed)):
            return
        tag = event.tag.replace(_PREFIX, "!!")
        self._fault(event, f"the tag `{tag}` is not allowed", "remove the tag: only plain data is read")

    def _take_key(self, event: yaml.ScalarEvent, text: str, plain: bool) -> None:
        frame = self.stack[-1]
        frame.key_expected, frame.dropped, frame.key = False, False, text
        place = self._place(event)
        if plain and text == "<<":
            frame.key = None
            if frame.merges:
                frame.dropped = True
                self.faults.append(place.fault("`<<` is there twice in one map", "give a list: `<<: [*a, *b]`"))
        elif plain and not isinstance(plain_value(text), str):
            frame.dropped, frame.key = True, None
            what = f"`{text}`" if text else "nothing"
            self.faults.append(place.fault(f"a key must be text, not {what}", f'quote it: "{text}"'))
        elif text in frame.node.keys:
            frame.dropped = True
            first = frame.node.keys[text].line
            message = f"`{text}` is there twice in one map, on line {first} and on line {place.line}"
            self.faults.append(place.fault(message, "keep one of them"))
        else:
            frame.node.keys[text] = place

    def _start(self, event: Any) -> None:
        if self._key_expected():
            self._refuse_collection_as_key(event)
        if len(self.stack) >= DEPTH:
            self._stop(event, f"more than {DEPTH} levels of maps and lists inside each other")
        is_map = isinstance(event, yaml.MappingStartEvent)
        self._check_tag(event, ("map",) if is_map else ("seq",))
        self.stack.append(_Frame(Node({} if is_map else [], self._place(event)), event.anchor))

    def _refuse_collection_as_key(self, event: yaml.Event) -> None:
        start = _offset(event)
        # `{{ x }}` is read as a map whose key is a map: the inner brace stands right behind the outer one.
        for at in (start - 1, start):
            match = _TEMPLATE.match(self.lines.text, max(at, 0))
            if match:
                self.faults.append(
                    self.lines.place(max(at, 0), self._path()).fault(
                        "a template without quotes is read as a map", f"quote templates: '{match.group()}'"
                    )
                )
                raise _Stop
        self._stop(event, "a key must be text, not a map or a list")

    def _end(self) -> None:
        frame = self.stack.pop()
        for merged, _ in frame.merges:
            for key, child in merged.value.items():
                if key not in frame.node.value:
                    frame.node.value[key] = child
                    frame.node.keys[key] = merged.keys.get(key, merged.place)
        self._put(frame.node, frame.anchor, frame.weight, frame.height)

    def _alias(self, event: yaml.AliasEvent) -> None:
        name = str(event.anchor)
        if self._key_expected():
            self._stop(event, f"a key must be text, not the alias `*{name}`", f'quote it: "*{name}"')
        known = self.anchors.get(name)
        if known is None:
            open_ = any(frame.anchor == name for frame in self.stack)
            message = f"`*{name}` would contain itself" if open_ else f"there is no anchor `&{name}` for `*{name}`"
            self._stop(event, message, f'quote a text that starts with *: "*{name}"')
            return
        self.aliased += known.weight
        if self.aliased > ALIASED:
            self._stop(
                event, f"aliases add more than {ALIASED:,} values to the file", "write the values out, or fewer aliases"
            )
        if len(self.stack) + known.height > DEPTH:
            self._stop(event, f"with its aliases, more than {DEPTH} levels of maps and lists inside each other")
        self._put(known.node, None, known.weight, known.height)

    def _put(self, node: Node, anchor: str | None, weight: int, height: int) -> None:
        if anchor is not None:
            self.anchors[anchor] = _Anchored(node, weight, height)
        if not self.stack:
            self.root = node
            return
        frame = self.stack[-1]
        frame.weight += weight
        frame.height = max(frame.height, height + 1)
        if frame.node.is_list:
            frame.node.value.append(node)
            return
        if frame.key is not None and not frame.dropped:
            frame.node.value[frame.key] = node
        elif not frame.dropped:
            self._merge(frame, node)
        frame.key, frame.dropped, frame.key_expected = None, False, True

    def _merge(self, frame: _Frame, node: Node) -> None:
        sources = node.value if node.is_list else [node]
        if not sources or not all(source.is_map for source in sources):
            self.faults.append(node.place.fault("`<<` needs a map, or a list of maps", "`<<: *name`"))
        else:
            frame.merges.extend((source, node.place) for source in sources)


def _offset(event: yaml.Event) -> int:
    mark: Any = event.start_mark
    return int(mark.index)


def _syntax_fault(error: yaml.YAMLError, lines: Lines) -> Fault:
    """The parser's complaint with its place, and what usually causes it."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        return Fault(f"not valid YAML: {str(error).splitlines()[0]}", lines.file)
    place = lines.place(min(mark.index, len(lines.text)))
    context = getattr(error, "context_mark", None)
    numbers = {place.line, lines.place(context.index).line} if context is not None else {place.line}
    for number in sorted(numbers, reverse=True):
        indent = _BEFORE_CONTENT.match(lines.line(number))
        if indent and "\t" in indent.group():
            return Place(place.file, number, indent.group().index("\t") + 1).fault(
                f"tab used for indentation at line {number}", "indent with spaces"
            )
    problem = str(getattr(error, "problem", None) or "cannot be read")
    around = str(getattr(error, "context", None) or "")
    return place.fault(
        f"not valid YAML: {problem}{f' ({around})' if around else ''}", _advice(problem, place, numbers, lines)
    )


def _advice(problem: str, place: Place, numbers: set[int], lines: Lines) -> str:
    for number in sorted(numbers, reverse=True):
        match = re.search(r"(?:^|[:\-\[,{])\s*(\{\{.*|\{%.*)$", lines.line(number))
        if match:
            return f"quote templates: '{match.group(1).strip()[:80]}'"
    if "cannot start any token" in problem:
        return "quote texts that start with a special character, such as @, ` or %"
    if "mapping values are not allowed" in problem:
        return "quote a text that holds `: `, or check the indentation"
    if "end of stream" in problem:
        return "is a closing quote missing?"
    return "check the indentation, brackets and quotes around this line"
