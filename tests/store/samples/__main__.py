"""Make the sample history of the newest version: ``python -m tests.store.samples``.

Run once, when a version is new, and keep what it makes: later programs are tested with the file as it was written then.
Beside ``NNNN.db`` lies ``NNNN.json``, what a reader must find in it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path

from tests.store.records import attempt, finished, planned
from tests.store.samples.told import told
from tui_eval.domain import Outcome, Score
from tui_eval.store.migrations import newest_version
from tui_eval.store.reader import History
from tui_eval.store.records import LogLine, RunState
from tui_eval.store.upkeep import backup, set_note, set_pinned, set_tags
from tui_eval.store.writer import HistoryWriter

FOLDER = Path(__file__).parent


async def write(path: Path) -> None:
    """A finished run with every outcome, and one whose runner has been killed."""
    outcomes = (Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.UNSCORED, Outcome.CANCELLED)
    async with await HistoryWriter.open(path) as writer:
        for run_id, ended in (("20310405-120000-aaaa", True), ("20310406-120000-bbbb", False)):
            run, request = await planned(writer, 8, run_id)
            with History(path) as history:
                keys = [one.id for one in history.queued(request)]
            for number, key in enumerate(keys[: 8 if ended else 3]):
                outcome = outcomes[number % 5]
                scores = [Score("exact", 0.5, outcome is Outcome.PASSED, "so", "", {"near": "é 🎈"})]
                called = [attempt(f"output {number} " * 40), attempt(None, 2, error_kind="connection")]
                writer.finished(finished(key, request, outcome, attempts=called, scores=scores))
            writer.log(run.id, LogLine(1000.0, "warning", "something was noted"))
            await writer.set_run_state(run.id, RunState.COMPLETED if ended else RunState.RUNNING)
    set_tags(path, "20310405-120000-aaaa", ["nightly"])
    set_note(path, "20310405-120000-aaaa", "kept")
    set_pinned(path, "20310405-120000-aaaa", True)


def main() -> None:
    target = FOLDER / f"{newest_version():04}.db"
    if target.exists():
        sys.exit(f"{target} is there already and must stay as it is")
    folder = Path(tempfile.mkdtemp())
    try:
        asyncio.run(write(folder / "history.db"))
        backup(folder / "history.db", target)
    finally:
        shutil.rmtree(folder)
    target.with_suffix(".json").write_text(json.dumps(told(target), indent=1, ensure_ascii=False) + "\n")


main()
