"""A place for a history, and a way to be a user whom permissions stop."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
NOBODY = 65534

PlainUser = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.db"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can look into, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="tui-eval-test-"))
    folder.chmod(0o755)
    yield folder
    for inside in folder.rglob("*"):
        if inside.is_dir():
            inside.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def as_plain_user() -> PlainUser:
    """Run Python code in a process that permissions apply to: root gives them up first."""

    def run(code: str) -> subprocess.CompletedProcess[str]:
        become = f"import os; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n" if os.geteuid() == 0 else ""
        # Imported before, in case the program itself lies where only root may read.
        imports = "import tui_eval.store.upkeep, tui_eval.store.reader, tui_eval.store.writer, encodings.ascii, encodings.idna\n"
        return subprocess.run(
            [sys.executable, "-c", imports + become + code],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    return run
