"""The product with a stand-in for AgentCompass in place of the package (about 1 GB, and another Python)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.agentcompass.files import changed, write
from tests.support.product import Product

FAKE = Path(__file__).parent / "fake"


@dataclass(frozen=True, slots=True)
class Compass(Product):
    """The product, in whose folder the stand-in notes every call in ``calls.txt``."""

    python: str = ""

    def environment(self, extra: Any = None) -> dict[str, str]:
        added = {
            "TUI_EVAL_AGENTCOMPASS_PYTHON": self.python,
            "XDG_CONFIG_HOME": str(self.folder / "none"),
            **(extra or {}),
        }
        return {**super(Compass, self).environment(added)}

    def orchestration(self, **requests: str) -> Path:
        """A file with these requests; the text of each names its tasks (see ``fake/agentcompass``)."""
        data = changed(("runtime", {"cleanup_grace_seconds": 1}))
        data["name"] = "tried"
        data["defaults"]["model"]["api_key"] = "typed-secret-key"
        data["requests"] = [
            {"name": name, "benchmark": {"id": "special_pattern_check", "version": tasks}}
            for name, tasks in requests.items()
        ]
        return write(self.folder, data)

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls.txt"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def compass(tmp_path: Path) -> Compass:
    python = tmp_path / "python-of-agentcompass"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE / "python.py"} "$@"\n')
    python.chmod(0o755)
    return Compass(tmp_path, str(python))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What needs the real package is left out unless it is asked for."""
    if "agentcompass" in (config.option.markexpr or ""):
        return
    left_out = [item for item in items if item.get_closest_marker("agentcompass") is not None]
    if left_out:
        items[:] = [item for item in items if item.get_closest_marker("agentcompass") is None]
        config.hook.pytest_deselected(items=left_out)
