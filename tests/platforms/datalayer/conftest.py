"""What needs the real agent-runtimes server is left out unless it is asked for."""

from __future__ import annotations

import pytest

MARK = "real_agent_runtimes"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if MARK in (config.option.markexpr or ""):
        return
    left_out = [item for item in items if item.get_closest_marker(MARK) is not None]
    if left_out:
        items[:] = [item for item in items if item.get_closest_marker(MARK) is None]
        config.hook.pytest_deselected(items=left_out)
