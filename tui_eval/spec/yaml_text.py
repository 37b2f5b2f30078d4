"""Plain data as YAML text that our reader (and any other YAML 1.1 or 1.2 reader) takes for the same data."""

from __future__ import annotations

import json
from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.spec.source import compose


def yaml_text(data: JsonValue) -> str:
    """``data`` in the block style people write: keys in their order, several lines of text as a block.

    Reads back as the same data; what YAML cannot say so is written as JSON, which is YAML too. Ends with a line feed.
    """
    text = _block_style(data)
    if not reads_as(text, data):
        text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
        if not reads_as(text, data):
            text = json.dumps(data, indent=2) + "\n"
    return text


def reads_as(text: str, data: JsonValue) -> bool:
    """Whether our reader takes ``text`` for exactly ``data`` (1 is not 1.0, nor true)."""
    root, faults = compose(text, "")
    return root is not None and not faults and _same(root.data(), data)


def _same(one: JsonValue, other: JsonValue) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _block_style(data: JsonValue) -> str:
    import yaml

    class Writer(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(writer: Any, value: str) -> Any:
        block = "\n" in value and all(line == line.rstrip() and line.isprintable() for line in value.split("\n"))
        return writer.represent_scalar("tag:yaml.org,2002:str", value, style="|" if block else None)

    Writer.add_representer(str, text)
    dumped = yaml.dump(data, Dumper=Writer, sort_keys=False, allow_unicode=True, width=4096)
    return str(dumped).removesuffix("...\n")
