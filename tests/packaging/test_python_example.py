"""The Python example of the README runs as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_python_example_runs(tmp_path: Path) -> None:
    found = re.search(r"<!-- example: python -->\n```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    ended = subprocess.run(
        [sys.executable, "-c", found[1]],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "TUI_EVAL_HISTORY": str(tmp_path / "history.db")},
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[0] == "completed 2 1.0"
    assert "task_finished echo hello passed" in lines
    assert lines[-1].startswith("completed ")
