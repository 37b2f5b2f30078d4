"""Orchestration files for tests: one that is good, and the ways in which it can be changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

RECORDED = Path(__file__).parent / "recorded"
"""What the real AgentCompass 1.0.1 wrote and said."""


def good_file() -> dict[str, Any]:
    """An orchestration of one request that AgentCompass accepts."""
    return {
        "version": 1,
        "task_concurrency": 2,
        "runtime": {"progress": "none"},
        "defaults": {
            "harness": {"id": "openai_chat"},
            "environment": {"id": "host_process"},
            "model": {"id": "m", "base_url": "http://127.0.0.1:9/v1", "api_key": "k", "api_protocol": "openai-chat"},
        },
        "requests": [
            {"name": "a", "benchmark": {"id": "special_pattern_check", "dataset_dir": "data", "version": "good"}}
        ],
    }


def changed(*changes: tuple[str, Any]) -> dict[str, Any]:
    """:func:`good_file` with values at dotted paths; ``...`` removes one."""
    data: Any = good_file()
    for path, value in changes:
        *steps, last = path.split(".")
        target = data
        for step in steps:
            target = target[int(step)] if isinstance(target, list) else target.setdefault(step, {})
        key: Any = int(last) if isinstance(target, list) else last
        if value is ...:
            del target[key]
        elif isinstance(target, list) and key == len(target):
            target.append(value)
        else:
            target[key] = value
    return data  # type: ignore[no-any-return]


def write(folder: Path, data: Any, name: str = "orchestration.yaml") -> Path:
    """Write data (or a text as it is) as an orchestration file."""
    path = folder / name
    text = data if isinstance(data, str) else yaml.safe_dump(data, allow_unicode=True, sort_keys=False)
    path.write_text(text, encoding="utf-8")
    return path
