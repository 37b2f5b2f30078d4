"""What viewers ask of a run whose tasks are still being written: a cancel is obeyed then, all else once it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_eval.engine.obeying import asked
from tui_eval.store.records import LogLine, RequestState, RunState

if TYPE_CHECKING:
    from tui_eval.engine.data import Planned
    from tui_eval.store.records import Command, RunRecord
    from tui_eval.store.writer import HistoryWriter

LOOK_SECONDS = 0.25
"""How long at most until a cancel is seen, beside the batch that is being written."""


class PlanningWatch:
    """Looks for a cancel between two batches. ``cancelled_by`` says who gave it, ``""`` while nobody did."""

    def __init__(self, writer: HistoryWriter, run: RunRecord, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.cancelled_by = ""
        self._writer = writer
        self._run = run
        self._clock = clock
        self._next = clock()

    async def is_cancelled(self) -> bool:
        """Whether the run is to end here. Commands of other kinds are left for the run."""
        now = self._clock()
        if not self.cancelled_by and now >= self._next:
            self._next = now + LOOK_SECONDS
            for command in await self._writer.waiting_commands(self._run.id):
                if command.kind == "cancel_run":
                    self.cancelled_by = command.given_by or "a viewer"
                    break
        return bool(self.cancelled_by)


async def end_while_planning(writer: HistoryWriter, planned: Planned) -> None:
    """End a run that was cancelled before all its tasks were written. Nothing was called; what is written is cancelled,
    and since the run never started, a resume writes the rest (see ``starting``)."""
    run, requests, who = planned.run, planned.requests, f"cancelled by {planned.cancelled_by}"
    writer.run_state_changed(run.id, RunState.STOPPING)
    for command in await writer.commands(run.id):  # answered first: a million tasks are not cancelled in a moment
        await _answer(writer, run, command)
    now = time.time()
    for request in requests:
        writer.cancel_rest(request.id, who, now)
        request.state, request.error, request.finished_at = RequestState.CANCELLED, who, now
        request.counters = writer.counters(request.id)
        writer.request_changed(request)
    run.state, run.finished_at = RunState.CANCELLED, now
    written = sum(request.counters.total for request in requests)
    then = f"`tui-eval resume {run.run_id}` goes on" if run.origin == "launch" else "ask for the same re-run again"
    run.warnings.append(f"{who} while its tasks were being written, {written:,} of them; nothing was called; {then}")
    await writer.set_run_state(run.id, run.state, finished_at=now, warnings=run.warnings)


async def _answer(writer: HistoryWriter, run: RunRecord, command: Command) -> None:
    said = "cancelling the run" if command.kind == "cancel_run" else "the run is being stopped"
    writer.log(run.id, LogLine(time.time(), "info", f"{command.given_by or 'a viewer'}: {asked(command)}: {said}", ""))
    await writer.answer(command.id, said)
