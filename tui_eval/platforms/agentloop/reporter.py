"""The process that reports a run, started with it: ``python -m tui_eval.platforms.agentloop.reporter``, a job on stdin.

It ends when everything is reported and judged, or when nothing more can be done now. Then it looks once after other runs
that have something left.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tui_eval.errors import TuiEvalError
from tui_eval.platforms.agentloop.following import Rules, report_run
from tui_eval.platforms.agentloop.locks import reporting_lock
from tui_eval.platforms.agentloop.reporting import FINAL
from tui_eval.store import platform_records as book
from tui_eval.store.faults import explaining
from tui_eval.store.liveness import state_now
from tui_eval.store.opening import open_for_writing
from tui_eval.store.reader import History

OTHERS_AT_MOST = 20


def report(history: Path, run_id: str, environment: Mapping[str, str], rules: Rules) -> bool:
    """Report one run unless another process does; False then. Trouble of ours is kept with its records."""
    with reporting_lock(history, run_id) as ours:
        if not ours:
            return False
        try:
            asyncio.run(report_run(history, run_id, environment, rules))
        except TuiEvalError as error:
            _keep(history, run_id, str(error))
        except Exception as error:
            from tui_eval.defects import write_report

            place = write_report(error) or "no file"
            _keep(history, run_id, f"a defect of tui_eval ({type(error).__name__}); the details are in {place}")
    return True


def _keep(history: Path, run_id: str, message: str) -> None:
    with explaining(history), History(history) as stored, closing(open_for_writing(history)) as connection:
        for record in book.of_run(connection, stored.run(run_id).id, "agentloop"):
            book.change(connection, record, error=message)


def other_runs(history: Path, run_id: str) -> list[str]:
    """Runs besides ``run_id`` that are not live and have something left to report."""
    with History(history) as stored, explaining(history), closing(open_for_writing(history)) as connection:
        left = [other for other in book.unfinished_runs(connection, FINAL, "agentloop") if other != run_id]
        return [other for other in left[:OTHERS_AT_MOST] if not state_now(stored.run(other)).live]


def main() -> int:
    job = json.load(sys.stdin)
    history, run_id = Path(job["history"]), str(job["run_id"])
    report(history, run_id, os.environ, Rules())
    for other in other_runs(history, run_id):
        report(history, other, os.environ, Rules(patience=0.0, scores=0.0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
