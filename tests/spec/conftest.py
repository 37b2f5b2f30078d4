"""What the tests of loading share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.plans import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "plan.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    return write
