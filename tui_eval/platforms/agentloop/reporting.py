"""Reporting a run to the platform, off the way of its tasks: everything is read from the history, before or after the
run has ended, by this process or another (contract, section 5.1).

Nothing is reported twice: before results are sent they are marked; where their arrival is not known (the answer was
lost, this process was killed), the platform's log store is asked before they are sent again.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.errors import PlatformError, Resend
from tui_eval.platforms.agentloop.client import DETAIL_STORE, AgentLoop
from tui_eval.platforms.agentloop.details import LARGEST_LOG, Experiment, detail_log, experiment_of
from tui_eval.store import platform_records as book
from tui_eval.store.platform_records import PlatformRecord, ReportCounts
from tui_eval.store.reader import History
from tui_eval.store.records import RequestRecord, RequestState, RunRecord

BATCH = 200
"""Results in one call at most."""
SETTLE_SECONDS = 15.0
"""How long after a call of unknown outcome the log store is asked: it may still be at it, and it indexes with a lag."""
MILESTONES = (10, 25, 50, 75, 100)
"""Percent of finished tasks at which the platform is told the counts."""
FINAL = ("completed", "failed", "cancelled")
"""Statuses after which nothing more is reported."""
_ASKED_AT_ONCE = 25
_ABOUT_THE_BODY = ("PostBody", "InvalidBody", "InvalidLog")
_STATUSES = {
    RequestState.COMPLETED: "completed",
    RequestState.FAILED: "failed",
    RequestState.TIMED_OUT: "failed",
    RequestState.CANCELLED: "cancelled",
}


@dataclass(slots=True)
class Reporter:
    """Reports one request of a run, step by step. ``connection`` writes to the history that ``history`` reads.

    ``settle`` is :data:`SETTLE_SECONDS` or less (in tests). ``unclear`` says why the arrival of some results cannot be
    found out.
    """

    client: AgentLoop
    history: History
    connection: sqlite3.Connection
    run: RunRecord
    request: RequestRecord
    record: PlatformRecord
    settle: float = SETTLE_SECONDS
    now: Callable[[], float] = time.time
    unclear: str = ""
    _small: bool = field(default=False, init=False)

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.record.settings

    async def open(self) -> None:
        """See to it that the platform has a record, and knows that it is running."""
        if not self.record.record_id:
            record_id = await self.client.create_run(str(self.settings["plan_id"]), str(self.settings["group"]))
            self._change(record_id=record_id, status="created")
        if self.record.status == "created":
            await self._tell_running()
        elif self.record.status in FINAL:
            await self._run_again()

    async def send(self) -> bool:
        """Report some of what waits; False when nothing did. Raises PlatformError."""
        await self._clear_doubts()
        tasks = book.waiting(self.connection, self.record, 1 if self._small else BATCH)
        if not tasks:
            return False
        taken, logs = self._logs(tasks)
        book.mark(self.connection, self.record, taken, "sending")
        try:
            await self.client.put_logs(str(self.settings["project"]), DETAIL_STORE, logs)
        except PlatformError as error:
            self._after_failure(taken, error)
            if error.status == 413 or error.code.startswith(_ABOUT_THE_BODY):
                return self._refused(taken, error)
            raise
        book.mark(self.connection, self.record, taken, "sent")
        self._small = False
        return True

    async def tell_progress(self) -> None:
        """Tell the counts when another milestone is reached."""
        counts = self.counts()
        if self.record.status != "running" or not counts.total:
            return
        percent = 100 * (counts.succeeded + counts.failed) // counts.total
        reached = max((one for one in MILESTONES if one <= percent), default=0)
        if reached > self.record.told.get("milestone", 0):
            await self.client.update_run(self.record.record_id, _told(counts))
            self._change(told={**_told(counts), "milestone": reached})

    def over(self) -> bool:
        """True when the platform was told the end and has all results."""
        status = self.record.status
        if status not in FINAL or self.counts().waiting:
            return False
        return status != "cancelled" or self.final_status() in ("", "cancelled")

    async def finish(self, status: str) -> None:
        """Tell the platform that the record is completed, failed or cancelled."""
        counts = self.counts()
        changes = {"status": status, **_told(counts), "completedAt": int(self.now() * 1000)}
        await self.client.update_run(self.record.record_id, changes)
        error = self.record.error if counts.refused else ""
        self._change(status=status, told={**_told(counts), "milestone": 100}, error=error)

    def counts(self) -> ReportCounts:
        return book.counts(self.connection, self.record)

    def final_status(self) -> str:
        """The status that the record is to end with, "" while the request has not ended."""
        return _STATUSES.get(self.request.state, "")

    def experiment(self) -> Experiment:
        record = self.record
        return experiment_of(
            self.settings,
            self.run.run_id,
            self.request.name,
            record.record_id,
            record.record_name,
            record.started_at or self.run.created_at,
        )

    def all_well(self) -> None:
        """Trouble that passed is no longer told."""
        if self.record.error and not self.unclear and not self.counts().refused:
            self._change(error="")

    def trouble(self, text: str) -> None:
        """Keep why reporting does not go on, for whoever looks at the run."""
        if text != self.record.error:
            self._change(error=text)

    # -- parts --

    def _change(self, **changes: Any) -> None:
        self.record = book.change(self.connection, self.record, **changes)

    async def _tell_running(self) -> None:
        started = self.run.started_at or self.now()
        name = record_name(str(self.settings.get("plan_name") or self.run.name), started)
        changes = {
            "status": "running",
            "totalTasks": self.counts().total,
            "executedAt": int(started * 1000),
            "recordName": name,
        }
        await self.client.update_run(self.record.record_id, changes)
        self._change(status="running", record_name=name, started_at=started, error="")

    async def _run_again(self) -> None:
        """A record that was ended when the run was broken off goes on; else a new one takes everything."""
        try:
            await self._tell_running()
        except PlatformError as error:
            if error.resend is not Resend.NEVER or error.status in (401, 403):
                raise
            self.record = book.start_again(self.connection, self.record)
            await self.open()

    def _logs(self, tasks: Sequence[int]) -> tuple[list[int], list[bytes]]:
        """As many of the tasks as fit into one call, encoded."""
        records = self.history.tasks_of(tasks)
        cases = self.history.cases_of(record.case_key for record in records.values())
        attempts = self.history.attempts_of(tasks, payloads=True)
        experiment = self.experiment()
        taken: list[int] = []
        logs: list[bytes] = []
        size = 0
        for key in tasks:
            record = records.get(key)
            if record is None:
                continue
            made = attempts.get(key, [])
            payload = next((one.payload for one in reversed(made) if one.payload is not None), None)
            log = detail_log(experiment, record, cases[record.case_key], payload).encoded()
            if taken and size + len(log) > LARGEST_LOG:
                break
            size += len(log)
            taken.append(key)
            logs.append(log)
        return taken, logs

    def _after_failure(self, tasks: Sequence[int], error: PlatformError) -> None:
        """Queue again what certainly did not arrive; what may have stays in doubt."""
        state = "sending" if error.status is None else "broken"
        arrived_not = error.resend in (Resend.UNSENT, Resend.REJECTED, Resend.NEVER)
        book.mark(self.connection, self.record, tasks, None if arrived_not else state)

    def _refused(self, tasks: Sequence[int], error: PlatformError) -> bool:
        """The log service does not take what we sent: find the one result that it is about, and leave that out."""
        if len(tasks) > 1:
            self._small = True
            return True
        book.mark(self.connection, self.record, tasks, "refused")
        self.trouble(f"one result is not taken by the platform and was left out: {error}")
        return True

    async def _clear_doubts(self) -> None:
        """Find out whether results of unknown fate have arrived; those that have not wait again."""
        pending = book.doubtful(self.connection, self.record)
        if self.unclear:
            broken = [task for task, state, _ in pending if state == "broken"]
            book.mark(self.connection, self.record, broken, None)
            return
        if not pending or self.now() - max(at for _, _, at in pending) < self.settle:
            return
        tasks = self.history.tasks_of(task for task, _, _ in pending)
        experiment = self.experiment()
        names = {(experiment.task_id(task.case_id), str(task.repeat)): key for key, task in tasks.items()}
        try:
            arrived = await self._arrived(sorted({name for name, _ in names}))
        except PlatformError as error:
            if error.resend is not Resend.NEVER:
                raise
            self.unclear = str(error)
            # The platform does not tell. It said itself that it could not take these in; of others nothing is known.
            broken = [task for task, state, _ in pending if state == "broken"]
            book.mark(self.connection, self.record, broken, None)
            return
        sent = [key for name, key in names.items() if name in arrived]
        book.mark(self.connection, self.record, sent, "sent")
        book.mark(self.connection, self.record, set(names.values()).difference(sent), None)

    async def _arrived(self, task_ids: Sequence[str]) -> set[tuple[str, str]]:
        """Which of our results the log store has."""
        found: set[tuple[str, str]] = set()
        since = (self.record.started_at or self.run.created_at) - 3600
        for start in range(0, len(task_ids), _ASKED_AT_ONCE):
            names = " or ".join(f'task_id: "{name}"' for name in task_ids[start : start + _ASKED_AT_ONCE])
            query = f'experiment_id: "{self.record.record_id}" and ({names})'
            async for log in self.client.get_logs(
                str(self.settings["project"]), DETAIL_STORE, query, since, self.now() + 3600
            ):
                if log.get("experiment_id") == self.record.record_id:
                    found.add((str(log.get("task_id")), str(log.get("repeat_id"))))
        return found


def record_name(plan_name: str, at: float) -> str:
    """``<plan> 2026/11/29 12:08:56``, in local time (contract, section 1.1)."""
    return f"{plan_name} {time.strftime('%Y/%m/%d %H:%M:%S', time.localtime(at))}"


def _told(counts: ReportCounts) -> dict[str, JsonValue]:
    return {"completedTasks": counts.succeeded, "failedTasks": counts.failed, "totalTasks": counts.total}
