"""A process whose files may not grow past a limit, as on a full disk; started by test_trouble."""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

from tests.store.records import attempt, finished, planned, reading
from tui_eval.store.writer import HistoryWriter


def say(writer: HistoryWriter) -> None:
    sys.stdout.write(f"failed {writer.failed} file {writer.fallback_file is not None}\n")


async def main(path: Path) -> None:
    async with await HistoryWriter.open(path, fallback_after=0.2) as writer:
        run, request = await planned(writer, 400)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = path.with_name("history.db-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20_000, hard))
        for number in range(100):
            writer.finished(finished(number + 1, request, attempts=[attempt(f"{number} " * 100)]))
        await writer.flush()
        say(writer)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        for number in range(100, 400):
            writer.finished(finished(number + 1, request))
        while writer.failed:
            await writer.flush()
            await asyncio.sleep(0.02)
        say(writer)
        await writer.flush()
        with reading(path) as history:
            sys.stdout.write(f"passed {history.requests(run)[0].counters.passed}\n")


asyncio.run(main(Path(sys.argv[1])))
