"""Which agents we have made on servers that were there before us, so that none is left behind by a killed run.

One small file an agent, in a folder beside the history: written before the agent is made, deleted when it is gone. It
names the process that made it; where that is gone, the next run deletes the agent, and ``doctor`` lists it. Nobody
else's agent is ever touched: only names that stand in a lease of ours.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tui_eval.processes import groups
from tui_eval.processes.strays import mark

FOLDER = "agents"
_MARK = re.compile(r"([0-9]{1,20})-([0-9]{1,20})")


@dataclass(frozen=True, slots=True)
class Lease:
    """An agent of ours on a server that is not. ``owner`` is the mark of the process that made it (see ``strays``)."""

    agent: str
    base_url: str
    run_id: str
    agentspec: str
    owner: str
    host: str


def new_lease(agent: str, base_url: str, run_id: str, agentspec: str) -> Lease:
    return Lease(agent, base_url, run_id, agentspec, mark() or f"{os.getpid()}-0", socket.gethostname())


def folder_of(history: Path) -> Path:
    return history.parent / FOLDER


def keep(history: Path, lease: Lease) -> None:
    """Write a lease. Raises OSError."""
    folder = folder_of(history)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = _place(history, lease)
    beginning = place.with_suffix(".tmp")
    with open(os.open(beginning, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(lease), file)
    beginning.replace(place)


def drop(history: Path, lease: Lease) -> None:
    """The agent is gone."""
    _place(history, lease).unlink(missing_ok=True)


def leases(history: Path) -> Iterator[Lease]:
    """Every lease that can be read, in the order of the names."""
    for place in sorted(folder_of(history).glob("*.json")):
        with suppress(OSError, ValueError, TypeError):
            lease = Lease(**json.loads(place.read_text(encoding="utf-8")))
            if all(isinstance(value, str) for value in asdict(lease).values()):
                yield lease


def stale(history: Path) -> list[Lease]:
    """The leases of processes of this machine that are gone."""
    return [lease for lease in leases(history) if lease.host == socket.gethostname() and not _alive(lease.owner)]


def _place(history: Path, lease: Lease) -> Path:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", lease.agent)[:150]
    return folder_of(history) / f"{name}.json"


def _alive(owner: str) -> bool:
    match = _MARK.fullmatch(owner)
    if match is None:
        return False
    pid, started = int(match[1]), int(match[2])
    if not started:  # no /proc where it was made: only whether such a process is there
        with suppress(PermissionError):
            try:
                os.kill(pid, 0)
            except (ProcessLookupError, OverflowError):
                return False
        return True
    entry = groups.entry(pid)
    return entry is not None and entry.living and entry.started == started
