"""History files as the tests want them, and what lies in a folder."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from tests.store.records import finished, planned, reading
from tui_eval.store.opening import open_for_writing
from tui_eval.store.records import RunState
from tui_eval.store.writer import HistoryWriter


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, by name."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def sound_history(path: Path, rows: int = 0) -> None:
    """A history with so many runs, made without the writer."""
    connection = open_for_writing(path)
    with closing(connection):
        for number in range(rows):
            connection.execute("INSERT INTO payloads (codec, data) VALUES (0, ?)", (os.urandom(900),))
            connection.execute(
                "INSERT INTO runs (run_id, name, state, origin, folder, program, created_at, plan) "
                "VALUES (?, 'n', 'completed', 'launch', '/', '1', ?, '{}')",
                (f"run-{number:04}", number),
            )


async def ended(path: Path, run_id: str, tasks: int = 3) -> None:
    """A run of so many tasks, all of them passed, that has ended."""
    async with await HistoryWriter.open(path) as writer:
        run, request = await planned(writer, tasks, run_id)
        with reading(path) as history:
            queued = history.queued(request, limit=tasks)
        for one in queued:
            writer.finished(finished(one.id, request))
        await writer.set_run_state(run.id, RunState.COMPLETED)
