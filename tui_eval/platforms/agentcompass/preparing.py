"""The orchestration that AgentCompass is given: the user's, with run ids and folders that are known beforehand.

Typed credentials are taken out of it and handed over in the environment, so that the file may lie on a disk.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tui_eval.errors import UsageError
from tui_eval.platforms.agentcompass.credentials import moved_out
from tui_eval.platforms.agentcompass.loading import LoadedOrchestration
from tui_eval.spec.workspace import GENERATED


@dataclass(slots=True)
class RequestChange:
    """What is changed in one request. ``sample_ids`` None: all; ``reuse`` None: as in the file, "": none, else the run id
    that AgentCompass takes finished tasks from."""

    run_id: str
    sample_ids: list[str] | None = None
    reuse: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file that AgentCompass is started with, and the variables it needs beside those of the user."""

    path: Path
    variables: Mapping[str, str] = field(repr=False)


def prepared_data(loaded: LoadedOrchestration, changes: Mapping[str, RequestChange]) -> dict[str, Any]:
    """The orchestration with these requests only, each changed. The order stays."""
    data = copy.deepcopy(loaded.data)
    data["runtime"] = {**(data.get("runtime") or {}), "results_dir": str(loaded.results_dir), "progress": "none"}
    items = data.get("requests") or []
    data["requests"] = [
        _changed(items[request.position], request.name, changes[request.name])
        for request in loaded.requests
        if request.name in changes
    ]
    return data


def _changed(item: dict[str, Any], name: str, change: RequestChange) -> dict[str, Any]:
    request = dict(item)
    request["name"] = name
    request["output"] = {**(request.get("output") or {}), "run_id": change.run_id}
    if change.reuse is not None:
        request["runtime"] = {
            **(request.get("runtime") or {}),
            "reuse": bool(change.reuse),
            "reuse_run_id": change.reuse,
        }
    if change.sample_ids is not None:
        request["benchmark"] = {**(request.get("benchmark") or {}), "sample_ids": change.sample_ids}
    return request


def write_prepared(data: Mapping[str, Any], folder: Path, name: str) -> Prepared:
    """Write the file, mode 0600. Raises UsageError when that is not possible."""
    safe, variables = moved_out(data)
    path = folder / f"{name}.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(GENERATED)
            yaml.safe_dump(safe, stream, sort_keys=False, allow_unicode=False)
    except OSError as error:
        raise UsageError(f"{path}: the file for AgentCompass cannot be written: {error.strerror or error}") from error
    return Prepared(path, variables)
