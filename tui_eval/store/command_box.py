"""What viewers ask of a live run: put in by a short connection, obeyed and answered by the runner."""

from __future__ import annotations

import getpass
import os
import socket
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tui_eval.errors import HistoryError, UsageError
from tui_eval.store.encoding import clean, to_json
from tui_eval.store.faults import explaining
from tui_eval.store.liveness import state_now
from tui_eval.store.migrations import transaction
from tui_eval.store.opening import open_for_writing, open_read_only
from tui_eval.store.run_queries import find

_WORDS = {
    "cancel_run": "be cancelled",
    "cancel_request": "be cancelled",
    "cancel_task": "be cancelled",
    "pause": "be paused",
    "resume": "go on",
    "set_concurrency": "be given another limit",
}
KINDS = tuple(_WORDS)


def give(path: Path, run_id: str, kind: str, arguments: Mapping[str, Any], given_by: str) -> int:
    """Ask something of a live run; the command's key. Raises UsageError when there is no such run, it is not live, or
    ``kind`` is none of :data:`KINDS`."""
    if kind not in KINDS:
        raise UsageError(f"there is no command {kind!r}, only: {', '.join(KINDS)}")
    if not path.exists():
        raise UsageError(f"there is no run {run_id!r}: {path} does not exist")
    with explaining(path), closing(open_for_writing(path)) as connection, transaction(connection):
        run = find(connection, run_id)
        state = state_now(run)
        if not state.live:
            raise UsageError(f"run {run.run_id} is {state.value}: only a live run can {_WORDS[kind]}")
        cursor = connection.execute(
            "INSERT INTO commands (run, kind, arguments, given_by, given_at) VALUES (?, ?, ?, ?, ?)",
            (run.id, kind, to_json(dict(arguments)), clean(given_by), time.time()),
        )
        return int(cursor.lastrowid or 0)


def person() -> str:
    """Who gives a command from this process: ``user@host pid``."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()} {os.getpid()}"


def wait_taken(path: Path, command: int, timeout: float) -> str | None:
    """The runner's answer to a command, None when it gave none within ``timeout`` seconds (it may still)."""
    until = time.monotonic() + timeout
    connection = open_read_only(path)
    if connection is None:
        raise HistoryError(f"{path}: there is no history")
    with explaining(path), closing(connection):
        while True:
            row = connection.execute(
                "SELECT answer FROM commands WHERE id = ? AND taken_at IS NOT NULL", (command,)
            ).fetchone()
            if row is not None:
                return str(row[0])
            if time.monotonic() >= until:
                return None
            time.sleep(0.05)
