"""What all tests share: where the recorded cases lie, and a clean environment."""

from __future__ import annotations

from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases"


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of recorded inputs on which tools like this fail in public, one folder a kind."""
    return CASES
