"""YAML or JSON text -> plain data that knows where each part was typed, or every reason why not.

YAML is read from the parser's events, never through object construction: no tag can make anything but text, numbers,
truth values, null, maps and lists. What scalars mean is in ``scalars``. A file named ``.json`` is read as JSON
(RFC 8259), by ``json_source``.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tui_eval.domain import JsonValue
from tui_eval.errors import Fault, SpecError
from tui_eval.spec import json_source, yaml_source
from tui_eval.spec.nodes import Key, Node

LARGEST_FILE = 16 * 1024 * 1024
"""Bytes of a plan, a saved solution or a saved evaluator. Cases belong into a dataset file, which has no such limit."""


@dataclass(frozen=True, slots=True)
class Document:
    """One file's content. ``root`` is the tree, ``text`` what was read, ``file`` the name used in faults."""

    root: Node
    text: str
    file: str

    @property
    def data(self) -> JsonValue:
        """Plain data, new maps and lists each time."""
        return self.root.data()

    def place(self, path: Sequence[Key]) -> tuple[int, int]:
        """Line and column (from 1) of the value at ``path``, of the key for an entry of a map; of the nearest
        ancestor that exists when ``path`` does not."""
        place = self.root.find(path)[1]
        return place.line, place.column

    def typed(self, path: Sequence[Key]) -> str | None:
        """The plain scalar at ``path`` exactly as typed; None for quoted texts, maps, lists and what is not there."""
        node, _, steps = self.root.find(path)
        return node.typed if steps == len(path) else None


def parse_document(text: str, file: str) -> Document:
    """The document in ``text``. Raises :class:`SpecError` with all faults that one reading can find."""
    root, faults = compose(text, file)
    if faults or root is None:
        raise SpecError(faults)
    return Document(root, text, file)


def compose(text: str, file: str) -> tuple[Node | None, list[Fault]]:
    """The tree as far as it can be made, and the faults; the tree is None when the text cannot be read at all."""
    text = text.removeprefix("\ufeff")
    if not text.strip():
        return None, [Fault("the file is empty", file, hint="a plan starts with `version: 1`")]
    if file.lower().endswith(".json"):
        return json_source.compose(text, file)
    return yaml_source.compose(text, file)


def read_document(path: Path, name: str | None = None) -> Document:
    """The document in a file (UTF-8, a byte order mark is fine). ``name`` is what faults call it, by default the path.

    Raises :class:`SpecError`, also when the file cannot be read.
    """
    name = str(path) if name is None else name
    return parse_document(read_text(path, name), name)


def read_text(path: Path, name: str) -> str:
    """The text of a regular UTF-8 file of at most :data:`LARGEST_FILE` bytes. Raises :class:`SpecError`."""
    raw = _read_bytes(path, name).removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = len(raw[raw.rfind(b"\n", 0, error.start) + 1 : error.start].decode("utf-8")) + 1
        if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in raw[:64]:
            message, hint = "the file is UTF-16 or UTF-32 text, not UTF-8", "save it as UTF-8"
        else:
            message = f"byte 0x{raw[error.start]:02x} at offset {error.start} is not UTF-8"
            hint = "save the file as UTF-8"
        raise SpecError([Fault(message, name, line, column, hint=hint)]) from None


def _read_bytes(path: Path, name: str) -> bytes:
    try:
        # Not blocking: a named pipe must be refused, not waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise SpecError([Fault("not a regular file", name, hint="name a YAML or JSON file")])
            raw = stream.read(LARGEST_FILE + 1)
    except IsADirectoryError:
        raise SpecError([Fault("a folder, not a file", name, hint="name a YAML or JSON file")]) from None
    except OSError as error:
        hint = _neighbour(path) if isinstance(error, FileNotFoundError) else ""
        raise SpecError([Fault(f"cannot be read: {error.strerror or error}", name, hint=hint)]) from None
    except ValueError as error:  # a NUL in the name
        raise SpecError([Fault(f"cannot be read: {error}", name.replace("\0", "\\0"))]) from None
    if len(raw) > LARGEST_FILE:
        size = f"{LARGEST_FILE // 1024 // 1024} MiB"
        raise SpecError(
            [Fault(f"larger than {size}", name, hint="put cases into a dataset file and name it by `path`")]
        )
    return raw


def _neighbour(path: Path) -> str:
    """A hint that names the file in the same folder that was probably meant; "" when none is near."""
    from tui_eval.spec.nearest import nearest

    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, 1000)]
    except OSError:
        return "its folder does not exist either"
    near = nearest(path.name, names)
    return f"did you mean `{near}`?" if near else ""
