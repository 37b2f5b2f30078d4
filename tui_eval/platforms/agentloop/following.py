"""Reporting a whole run: while it goes on, or what is left of it afterwards, through every trouble that passes."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from tui_eval.errors import PlatformError, Resend
from tui_eval.platforms.agentloop.client import AgentLoop
from tui_eval.platforms.agentloop.connecting import connected
from tui_eval.platforms.agentloop.reporting import FINAL, SETTLE_SECONDS, Reporter
from tui_eval.platforms.agentloop.scores import fetch_scores
from tui_eval.spec.agentloop_options import AgentLoopOptions
from tui_eval.store import platform_records as book
from tui_eval.store.liveness import state_now
from tui_eval.store.opening import open_for_writing
from tui_eval.store.platform_records import PlatformRecord, ReportCounts
from tui_eval.store.reader import History
from tui_eval.store.records import RunRecord, RunState

LOOK_SECONDS = 0.4
"""How often a live run is looked at: results gather meanwhile and go out together."""
LONGEST_PAUSE = 10.0
_SCORE_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)


@dataclass(frozen=True, slots=True)
class Rules:
    """How long to go on. ``patience``: seconds of trouble after which it is left for later. ``scores``: seconds to wait
    for the platform's scores (None: what the plan says). ``close``: the status for the record of a run that was broken
    off and is not live ("": it stays open, ``resume`` goes on with it). ``settle``: see :mod:`.reporting`."""

    patience: float = 600.0
    scores: float | None = None
    close: str = ""
    settle: float = SETTLE_SECONDS


@dataclass(slots=True)
class Reported:
    """What has become of one request's record. ``error`` says why not everything is reported, "" when it is.
    ``open`` is True for a run that can be resumed: its record still says running."""

    request: str
    record: PlatformRecord
    counts: ReportCounts
    error: str = ""
    open: bool = False
    scores_wanted: bool = False

    @property
    def complete(self) -> bool:
        return not self.error and not self.counts.waiting and not self.counts.doubtful


@dataclass(slots=True)
class _Trouble:
    """Failures of one record in a row."""

    since: float | None = None
    pause: float = 0.5
    until: float = 0.0
    message: str = ""
    stopped: bool = False
    scores_due: float = 0.0
    scores_end: float | None = None
    scores_tries: int = 0
    scores_done: bool = False


@dataclass(slots=True)
class _Follower:
    history: History
    connection: sqlite3.Connection
    run_id: str
    rules: Rules
    clients: Mapping[int, AgentLoop]
    clock: Callable[[], float] = time.monotonic
    troubles: dict[int, _Trouble] = field(default_factory=dict)
    unclear: dict[int, str] = field(default_factory=dict)

    async def follow(self) -> None:
        """Go on until everything is reported and judged, or nothing more can be done now."""
        while True:
            run = self.history.run(self.run_id)
            busy = False
            for record in book.of_run(self.connection, run.id, "agentloop"):
                busy = await self._look_after(run, record) or busy
            if not busy:
                return
            await asyncio.sleep(self._pause())

    def _pause(self) -> float:
        now = self.clock()
        waits = [trouble.until - now for trouble in self.troubles.values() if not trouble.stopped]
        return max(0.02, min([LOOK_SECONDS, *(wait for wait in waits if wait > 0)]))

    async def _look_after(self, run: RunRecord, record: PlatformRecord) -> bool:
        """One round for one record; False when there is nothing more to do for it."""
        trouble = self.troubles.setdefault(record.id, _Trouble())
        if trouble.stopped:
            return False
        if self.clock() < trouble.until:
            return True
        reporter = self._reporter(run, record)
        try:
            busy = await self._round(reporter, trouble)
        except PlatformError as error:
            return self._note(reporter, trouble, error)
        trouble.since, trouble.pause, trouble.until, trouble.message = None, 0.5, 0.0, ""
        reporter.all_well()
        return busy

    def _reporter(self, run: RunRecord, record: PlatformRecord) -> Reporter:
        request = next(one for one in self.history.requests(run) if one.id == record.request)
        client = self.clients[record.id]
        return Reporter(
            client,
            self.history,
            self.connection,
            run,
            request,
            record,
            self.rules.settle,
            unclear=self.unclear.get(record.id, ""),
        )

    async def _round(self, reporter: Reporter, trouble: _Trouble) -> bool:
        state = state_now(reporter.run)
        if state.live or not reporter.over():
            if not await self._report(reporter, state):
                return False
            if reporter.record.status not in FINAL:
                return True
        return await self._wait_for_scores(reporter, trouble)

    async def _report(self, reporter: Reporter, state: RunState) -> bool:
        """Send what waits and tell the status; False when the rest has to wait for someone."""
        await reporter.open()
        while await reporter.send():
            await reporter.tell_progress()
        if reporter.unclear:
            self.unclear[reporter.record.id] = reporter.unclear
        await reporter.tell_progress()
        counts = reporter.counts()
        if counts.waiting or (counts.doubtful and not reporter.unclear):
            return True
        status = reporter.final_status() if not state.live else ""
        if not status and not state.live:
            status = self.rules.close
        if status:
            await reporter.finish(status)
            if counts.doubtful:
                reporter.trouble(
                    f"{counts.doubtful} results may or may not have arrived, and the platform does not tell: "
                    f"{reporter.unclear}"
                )
        return bool(status) or state.live

    async def _wait_for_scores(self, reporter: Reporter, trouble: _Trouble) -> bool:
        record = reporter.record
        if record.status != "completed" or trouble.scores_done or not record.settings.get("judged"):
            return False
        now = self.clock()
        if trouble.scores_end is None:
            seconds = self.rules.scores
            if seconds is None:
                seconds = float(record.settings.get("wait_for_scores_seconds", 0.0))
            trouble.scores_end = now + seconds
            if record.evaluation.get("done") or not seconds:
                return False
        if now < trouble.scores_due:
            return True
        trouble.scores_done = await fetch_scores(reporter)
        pause = _SCORE_PAUSES[min(trouble.scores_tries, len(_SCORE_PAUSES) - 1)]
        trouble.scores_tries += 1
        trouble.scores_due = now + pause
        return not trouble.scores_done and now + pause < trouble.scores_end

    def _note(self, reporter: Reporter, trouble: _Trouble, error: PlatformError) -> bool:
        """Trouble: wait and go on, or leave it for later when waiting cannot help or has not."""
        now = self.clock()
        trouble.since = now if trouble.since is None else trouble.since
        trouble.message = str(error)
        reporter.trouble(str(error))
        late = trouble.scores_end is not None and now >= trouble.scores_end
        if error.resend is Resend.NEVER or late or now - trouble.since >= self.rules.patience:
            trouble.stopped = True
            return False
        trouble.until = now + max(trouble.pause, min(error.retry_after or 0.0, LONGEST_PAUSE))
        trouble.pause = min(trouble.pause * 2, LONGEST_PAUSE)
        return True


async def report_run(path: Path, run_id: str, environment: Mapping[str, str], rules: Rules) -> list[Reported]:
    """Report what a run has and will have, until it is all there or has to wait; what became of it.

    Whoever calls holds the run's lock. Raises UsageError without credentials, HistoryError.
    """
    with History(path) as history, closing(open_for_writing(path)) as connection:
        run = history.run(run_id)
        records = book.of_run(connection, run.id, "agentloop")
        clients: dict[int, AgentLoop] = {}
        async with _Clients(environment) as made:
            for record in records:
                clients[record.id] = await made.client(record)
            follower = _Follower(history, connection, run.run_id, rules, clients)
            await follower.follow()
        names = {request.id: request.name for request in history.requests(run)}
        run = history.run(run_id)
        return [
            _outcome(connection, record, names[record.request], follower.troubles.get(record.id), run)
            for record in book.of_run(connection, run.id, "agentloop")
        ]


def _outcome(
    connection: sqlite3.Connection, record: PlatformRecord, request: str, trouble: _Trouble | None, run: RunRecord
) -> Reported:
    counts = book.counts(connection, record)
    message = trouble.message if trouble is not None else ""
    if not message and (counts.doubtful or counts.refused):
        message = record.error
    wanted = record.status == "completed" and bool(record.settings.get("judged")) and not record.evaluation.get("done")
    still_open = record.status not in FINAL and not state_now(run).live
    return Reported(request, record, counts, message, still_open, wanted)


class _Clients:
    """One client for each platform that the records of a run name."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._stack = AsyncExitStack()
        self._made: dict[str, AgentLoop] = {}

    async def __aenter__(self) -> _Clients:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def client(self, record: PlatformRecord) -> AgentLoop:
        options = options_of(record)
        key = options.model_dump_json()
        if key not in self._made:
            self._made[key] = await self._stack.enter_async_context(connected(options, self._environment))
        return self._made[key]


def options_of(record: PlatformRecord) -> AgentLoopOptions:
    """The platform section that a record was made with, as far as reporting needs it."""
    settings = record.settings
    return AgentLoopOptions(
        agent_space=str(settings["agent_space"]),
        experiment_plan_id=str(settings["plan_id"]),
        region_id=str(settings["region_id"]),
        vpc=bool(settings.get("vpc")),
        custom_agentloop_endpoint=str(settings.get("custom_agentloop_endpoint", "")),
        custom_sls_endpoint=str(settings.get("custom_sls_endpoint", "")),
    )
