"""A process that writes a run of its own, or finishes one; started by test_processes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.store.records import attempt, finished, planned
from tui_eval.store.reader import History
from tui_eval.store.writer import HistoryWriter


async def main(path: Path, run_id: str, tasks: int, pause: float) -> None:
    async with await HistoryWriter.open(path) as writer:
        _, request = await planned(writer, tasks, run_id)
        with History(path) as history:
            keys = [one.id for one in history.queued(request, limit=tasks)]
        sys.stdout.write("planned\n")
        sys.stdout.flush()
        for number, key in enumerate(keys):
            writer.finished(finished(key, request, attempts=[attempt(f"{run_id} {number} " * 100)]))
            if number % 20 == 0:
                await asyncio.sleep(pause)


asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
