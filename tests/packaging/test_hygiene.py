"""What holds for the whole of the code: lint, format, types, and which way imports may run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent

CHECKS = {
    "lint": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "types": ["mypy"],
    "imports": ["lint-imports"],
}


@pytest.mark.parametrize("check", list(CHECKS))
def test_the_code_is_clean(check: str) -> None:
    tool, *arguments = CHECKS[check]
    done = subprocess.run(
        [str(TOOLS / tool), *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_has_grown_out_of_one_idea() -> None:
    """A module of more than 500 lines wants to be two."""
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "tui_eval").rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 500
    }
    assert not long
