"""The process of AgentCompass that a run has."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.product import Product


def bridge_pid(compass: Product, run_id: str) -> int:
    """The process of AgentCompass that a run has, found by the file that it was given."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            line = (entry / "cmdline").read_bytes()
            folder = os.readlink(entry / "cwd")
        except OSError:
            continue
        if b"agentcompass/bridge.py" in line and folder == str(compass.folder):
            return int(entry.name)
    raise AssertionError(f"no process of AgentCompass for {run_id}")
