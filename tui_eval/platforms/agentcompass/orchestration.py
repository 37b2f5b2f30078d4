"""An orchestration that was checked, as data: what loading gives, and what it is checked against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_eval.errors import Fault
from tui_eval.platforms.agentcompass.catalog import Catalog, embedded_catalog
from tui_eval.spec.secrets import Secrets


@dataclass(frozen=True, slots=True)
class ComposedRequest:
    """One request with its defaults merged in. ``sections`` are plain data, ``${NAME}`` in place.

    ``k`` is how often each task is attempted. ``run_name`` and ``run_id`` are its output settings, "" where it has none.
    """

    name: str
    position: int
    benchmark: str
    harness: str
    environment: str
    model: str
    sections: Mapping[str, Any] = field(repr=False)
    k: int = 1
    run_name: str = ""
    run_id: str = ""
    reuse: bool = False
    reuse_run_id: str = ""
    max_retries: int = 0


@dataclass(frozen=True, slots=True)
class LoadedOrchestration:
    """An orchestration that can be launched.

    ``data`` is the file as AgentCompass reads it, ``stored`` the same with typed credentials hidden. ``folder`` is
    where its relative paths start. ``references`` are the environment variables that it needs.
    """

    path: Path | None
    folder: Path
    name: str
    task_concurrency: int
    results_dir: Path
    timeout_seconds: float
    grace_seconds: float
    requests: tuple[ComposedRequest, ...]
    warnings: tuple[Fault, ...]
    secrets: Secrets
    data: dict[str, Any] = field(repr=False)
    stored: dict[str, Any] = field(repr=False)
    references: frozenset[str] = frozenset()
    config_files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Checks:
    """What a file is checked against. ``preloaded``: modules of the user register components of their own, so an
    unknown id is only a warning. ``paths``: whether run folders are looked at. ``environment_set``: whether variables
    must be set. ``config_files`` are named by the user (``--config``), beside those that AgentCompass finds itself."""

    catalog: Catalog = field(default_factory=embedded_catalog)
    preloaded: bool = False
    paths: bool = True
    environment_set: bool = True
    config_files: tuple[Path, ...] = ()
