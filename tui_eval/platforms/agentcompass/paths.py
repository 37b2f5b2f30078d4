"""Where AgentCompass puts the results of a request (contract, section 3)."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_UNSAFE = re.compile(r"[^A-Za-z0-9._=-]+")


def safe_component(text: str) -> str:
    """A name as AgentCompass writes it in paths: each run of other characters is one ``_``."""
    return _UNSAFE.sub("_", text)


def namespace(run_name: str, request_name: str) -> tuple[str, ...]:
    """The folders below ``results_dir`` that hold the runs of a request. Two requests may not share them."""
    parts = [safe_component(piece.strip()) for piece in re.split(r"[\\/]+", run_name) if piece.strip()]
    return (*(part for part in parts if part not in ("", ".", "..")), safe_component(request_name))


def run_folder(results_dir: Path, run_name: str, request_name: str, run_id: str) -> Path:
    """The folder of one run of a request."""
    return results_dir.joinpath(*namespace(run_name, request_name), safe_component(run_id))


def task_folder_name(task_id: str) -> str:
    """The name of a task's folder in ``details/<state>/``: what can be read of its id, and a hash of all of it."""
    readable = _UNSAFE.sub("_", task_id).strip("._-")[:80] or "task"
    return f"{readable}--{hashlib.sha256(task_id.encode('utf-8', 'surrogatepass')).hexdigest()}"
