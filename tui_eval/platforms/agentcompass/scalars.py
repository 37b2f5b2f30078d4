"""What AgentCompass reads where a scalar stands: its files go through a YAML 1.1 reader, ours through 1.2.

So ``run_id: 20261129_112423`` is a number there, ``name: no`` is false, ``012`` is ten. A file is checked and passed on
with the values that AgentCompass would have.
"""

from __future__ import annotations

import datetime
from dataclasses import replace
from functools import lru_cache
from typing import Any

import yaml

from tui_eval.spec.nodes import Node


def as_compass_reads(node: Node) -> Node:
    """A copy of the tree with the values of YAML 1.1. ``typed`` stays, so that a surprise can be told."""
    if node.is_map:
        return replace(node, value={key: as_compass_reads(child) for key, child in node.value.items()})
    if node.is_list:
        return replace(node, value=[as_compass_reads(child) for child in node.value])
    if node.typed is None:
        return node
    return replace(node, value=_plain(node.typed))


def surprises(node: Node) -> bool:
    """True when the value is not the text that was typed, where a text is wanted."""
    return node.typed is not None and node.value is not None and str(node.value) != node.typed


@lru_cache(maxsize=4096)
def _plain(typed: str) -> Any:
    """The value of a plain scalar in YAML 1.1; dates become their text, as JSON has none."""
    loader: Any = yaml.SafeLoader("")
    try:
        tag = loader.resolve(yaml.ScalarNode, typed, (True, False))
        value = loader.construct_object(yaml.ScalarNode(tag, typed))
    except (yaml.YAMLError, ValueError, OverflowError):
        return typed  # 2026-13-45: looks like a date and is none
    finally:
        loader.dispose()
    if isinstance(value, datetime.date):
        return str(value)
    if isinstance(value, float) and value - value != 0:
        return typed  # .inf and .nan are no JSON; a text is refused wherever a number is wanted
    return value
