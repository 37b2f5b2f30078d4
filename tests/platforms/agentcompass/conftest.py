"""The product with a stand-in for AgentCompass in place of the package (about 1 GB, and another Python)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.agentcompass.files import changed, write
from tests.support.product import Product
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.settings import Settings
from tui_eval.tui.terminal import Terminal

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


@pytest.fixture
def app(compass: Compass, monkeypatch: pytest.MonkeyPatch) -> TuiEvalApp:
    """An application over the history of ``compass``, whose workspace is its folder."""
    for name, value in compass.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("MOCK_API_KEY", raising=False)
    return TuiEvalApp(
        compass.history,
        compass.folder,
        terminal=Terminal(refresh_hz=10.0),
        settings=Settings(),
        config=compass.folder / "config.yaml",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What needs the real package is left out unless it is asked for."""
    if "agentcompass" in (config.option.markexpr or ""):
        return
    left_out = [item for item in items if item.get_closest_marker("agentcompass") is not None]
    if left_out:
        items[:] = [item for item in items if item.get_closest_marker("agentcompass") is None]
        config.hook.pytest_deselected(items=left_out)
