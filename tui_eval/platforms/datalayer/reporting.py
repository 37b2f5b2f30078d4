"""Reporting a run to the platform: the evalset, an experiment an agentspec, a run record for each time all cases ran.

What is to be reported is what stands in the history (``store.platform_records``): a finished task that has no row there
waits. So a platform that is down, slow or gone costs no result; ``tui-eval datalayer sync RUN`` sends what is left. Every
step is remembered before it is taken, and looked up on the platform when its end is not known, so nothing is made twice.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_eval.domain import Outcome
from tui_eval.errors import PlatformError
from tui_eval.platforms.datalayer.client import Evals, view_url
from tui_eval.platforms.datalayer.metrics import case_result, run_metrics, usage_of
from tui_eval.reports.stored import task_views
from tui_eval.reports.view import TaskView
from tui_eval.spec.evalset import Evalset
from tui_eval.store import platform_records as book
from tui_eval.store.faults import explaining
from tui_eval.store.liveness import state_now
from tui_eval.store.opening import open_for_writing
from tui_eval.store.platform_records import PlatformRecord
from tui_eval.store.reader import History
from tui_eval.store.records import RequestRecord, RunRecord, RunState

NAME = "datalayer"
FINAL = ("completed", "failed", "cancelled")


@dataclass(slots=True)
class Settings:
    """What reporting needs to know beside the history; kept with the run's records, so that it can be done later."""

    evalset_name: str
    spec: dict[str, Any]
    run_mode: str
    run_environment: str
    execution_target: str
    environment_name: str
    launch_source: str
    grading: str
    gates: list[float]
    api_url: str | None = None
    account_uid: str | None = None

    def data(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def settings_for(options: Any, evalset: Evalset, now: float) -> Settings:
    """The settings of a run that begins ``now`` (seconds since the epoch); ``options`` are the plan's section."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    name = options.evalset_name or f"{evalset.spec.name}-{options.run_environment}-{stamp}"
    gates = evalset.gates if options.grading == "strict" else evalset.compat_gates
    return Settings(
        evalset_name=name,
        spec={**copy.deepcopy(evalset.raw), "name": name},
        run_mode=evalset.spec.kind,
        run_environment=options.run_environment,
        execution_target=options.execution_target,
        environment_name=options.cloud.environment,
        launch_source=options.launch_source,
        grading=options.grading,
        gates=list(gates),
        api_url=options.api_url,
        account_uid=options.account_uid,
    )


def remember(history: Path, requests: Sequence[RequestRecord], settings: Settings) -> None:
    """Keep in the history that these requests are reported, and how. Raises HistoryError."""
    with explaining(history), closing(open_for_writing(history)) as connection:
        for request in requests:
            book.add(connection, PlatformRecord(request.run, request.id, NAME, settings.data()))


@dataclass(slots=True)
class Reported:
    """What the platform has of a run: ids in the order of the requests. ``left`` says what is not there yet."""

    evalset_id: str = ""
    evalset_name: str = ""
    view_url: str = ""
    experiment_ids: list[str] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    left: str = ""


@dataclass(slots=True)
class RunReporter:
    """Reports one run, as far as it has got, with every :meth:`round`. One process at a time."""

    history: Path
    run_id: str
    environment: Mapping[str, str]
    log: Callable[[str, str], None] = lambda level, message: None

    async def round(self) -> bool:
        """Report what there is; True when nothing is left, also later. Raises PlatformError, UsageError, HistoryError."""
        with History(self.history) as stored, explaining(self.history):
            run = stored.run(self.run_id)
            with closing(open_for_writing(self.history)) as connection:
                records = book.of_run(connection, run.id, NAME)
                if not records or all(record.status in FINAL for record in records):
                    return True
                settings = Settings(**records[0].settings)
                async with Evals(self.environment, settings.api_url, settings.account_uid) as evals:
                    steps = _Steps(self, stored, run, connection, settings, evals)
                    try:
                        return await steps.take(records)
                    except PlatformError as error:
                        for record in records:
                            book.change(connection, record, error=str(error))
                        raise


@dataclass(slots=True)
class _Steps:
    reporter: RunReporter
    stored: History
    run: RunRecord
    connection: Any
    settings: Settings
    evals: Evals

    async def take(self, records: list[PlatformRecord]) -> bool:
        evalset_id = await self._evalset(records)
        records = self._again(records)
        requests = {request.id: request for request in self.stored.requests(self.run)}
        state = state_now(self.run)
        for record in records:
            request = requests[record.request]
            record = await self._experiment(record, request, evalset_id)
            record = await self._runs(record, request, state)
            await self._finish(record, request, state)
        return all(record.status in FINAL for record in self._again(records))

    def _again(self, records: Sequence[PlatformRecord]) -> list[PlatformRecord]:
        keys = {record.id for record in records}
        return [one for one in book.of_run(self.connection, self.run.id, NAME) if one.id in keys]

    def _tell(self, record: PlatformRecord, **told: Any) -> PlatformRecord:
        return book.change(self.connection, record, told={**record.told, **told}, error="")

    async def _evalset(self, records: list[PlatformRecord]) -> str:
        found = next((str(record.told["evalset_id"]) for record in records if record.told.get("evalset_id")), "")
        name = self.settings.evalset_name
        if not found and records[0].told.get("importing"):
            found = await self.evals.evalset_called(name)
        if not found:
            records[0] = self._tell(records[0], importing=True)
            found = await self.evals.import_evalset(self.settings.spec, self.settings.run_environment)
            self.reporter.log("info", f"datalayer: created evalset {found} ({name})")
        url = view_url(self.reporter.environment, found)
        for record in self._again(records):
            if record.told.get("evalset_id") != found:
                self._tell(record, evalset_id=found, evalset_name=name, view_url=url)
        return found

    async def _experiment(self, record: PlatformRecord, request: RequestRecord, evalset_id: str) -> PlatformRecord:
        if record.record_id:
            return record
        settings = self.settings
        name = f"evals-{request.name}-{self.run.run_id}"
        found = ""
        if record.told.get("creating"):
            there = await self.evals.experiments(evalset_id)
            found = next((str(one["id"]) for one in there if one.get("name") == name and one.get("id")), "")
        if not found:
            record = self._tell(record, creating=True)
            config = {
                "run_mode": settings.run_mode,
                "execution_target": settings.execution_target,
                "agent_spec_id": request.name,
                "environment_name": settings.environment_name,
            }
            found = await self.evals.create_experiment(
                {
                    "name": name,
                    "evalset_id": evalset_id,
                    "description": "Executed by tui-eval.",
                    "status": "running",
                    "config": config,
                    "summary": self._origin(request),
                    "tags": list(self.run.tags),
                }
            )
        return book.change(self.connection, record, record_id=found, record_name=name, status="running", error="")

    def _origin(self, request: RequestRecord) -> dict[str, Any]:
        settings = self.settings
        return {
            "launch_source": settings.launch_source,
            "run_mode": settings.run_mode,
            "run_environment": settings.run_environment,
            "execution_target": settings.execution_target,
            "agent_spec_id": request.name,
            "tui_eval_run_id": self.run.run_id,
        }

    async def _runs(self, record: PlatformRecord, request: RequestRecord, state: RunState) -> PlatformRecord:
        """A run record for every repeat whose tasks have all ended."""
        outcomes: dict[int, list[Outcome]] = {}
        for task in self.stored.iter_tasks(self.run, request=request.id):
            outcomes.setdefault(task.repeat, []).append(task.outcome)
        for repeat in sorted(outcomes):
            runs = dict(record.told.get("runs") or {})
            if str(repeat) in runs or not _over(outcomes[repeat], state):
                continue
            of_repeat = [view for view in task_views(self.stored, self.run, [request]) if view.task.repeat == repeat]
            body = self._run_record(request, repeat, of_repeat)
            found = ""
            if record.told.get("posting") == repeat:
                there = await self.evals.runs(record.record_id)
                found = next((str(one.get("id", "")) for one in there if _same(one, body)), "")
            if not found:
                record = self._tell(record, posting=repeat)
                found = await self.evals.create_run(record.record_id, body)
                self.reporter.log("info", f"datalayer: created run {found} of {request.name}")
            record = self._tell(record, runs={**runs, str(repeat): found}, posting=None)
            ours = set(book.waiting(self.connection, record, 10**6)) & {view.task.id for view in of_repeat}
            book.mark(self.connection, record, ours, "sent")
        return record

    def _run_record(self, request: RequestRecord, repeat: int, views: Sequence[TaskView]) -> dict[str, Any]:
        """Each prompt and output once, in ``metrics``: the reference has them three times."""
        settings = self.settings
        failures = [
            {
                "stage": "runtime_execution",
                "type": view.task.error_kind,
                "message": view.task.message,
                "case": case_result(view)["name"],
            }
            for view in views
            if view.task.outcome is Outcome.ERROR
        ]
        summary = {**self._origin(request), "case_failures": len(failures), "run_index": repeat}
        usage = usage_of(views)
        if usage:
            summary["usage"] = usage
        if failures:
            summary["failure_cause"] = failures[0]
        return {
            "status": "failed" if failures else "completed",
            "metrics": run_metrics(views, settings.grading, settings.gates),
            "summary": summary,
            "report": {"note": f"Executed by tui-eval, graded {settings.grading}.", "failure_causes": failures},
        }

    async def _finish(self, record: PlatformRecord, request: RequestRecord, state: RunState) -> None:
        """The final status, once nothing more can come: a run that was interrupted can be resumed."""
        if state.live or state is RunState.INTERRUPTED or record.status in FINAL:
            return
        status = "cancelled" if state is RunState.CANCELLED else "failed" if request.counters.error else "completed"
        if not await self.evals.set_experiment(record.record_id, {"status": status}):
            self.reporter.log("info", "datalayer: the platform has no way to change the status of an experiment")
        book.change(self.connection, record, status=status, error="")


def finish_cloud(history: Path, run: RunRecord, environment: Mapping[str, str]) -> None:
    """Close the records of a run that the platform executed: it has made and filled its own. One that was interrupted
    stays open, for ``resume`` to take up its launch. Raises HistoryError."""
    if run.state is RunState.INTERRUPTED:
        return
    with explaining(history), closing(open_for_writing(history)) as connection:
        for record in book.of_run(connection, run.id, NAME):
            evalset_id = str(record.told.get("evalset_id", ""))
            told = {**record.told, "view_url": view_url(environment, evalset_id)} if evalset_id else record.told
            status = "completed" if run.state is RunState.COMPLETED else "cancelled"
            tasks = book.waiting(connection, record, 10**6)
            book.mark(connection, record, tasks, "sent")
            book.change(connection, record, told=told, status=status)


def _over(outcomes: Sequence[Outcome], state: RunState) -> bool:
    """Whether a repeat has ended: all its tasks have, and none of them would be run again by ``resume``."""
    if state is RunState.INTERRUPTED and Outcome.CANCELLED in outcomes:
        return False
    return all(outcome.final for outcome in outcomes)


def _same(run: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Whether a run record on the platform is the one we would make."""
    theirs, ours = run.get("summary"), body["summary"]
    names = ("tui_eval_run_id", "run_index")
    return isinstance(theirs, Mapping) and all(theirs.get(name) == ours[name] for name in names)


def reported(history: Path, run: int) -> Reported:
    """What the platform has of a run by now. Raises HistoryError."""
    found = Reported()
    left: list[str] = []
    for record, counts in book.reported(history, run, NAME):
        told = record.told
        found.evalset_id = found.evalset_id or str(told.get("evalset_id", ""))
        found.evalset_name = str(told.get("evalset_name") or record.settings.get("evalset_name", ""))
        found.view_url = found.view_url or str(told.get("view_url", ""))
        if record.record_id:
            found.experiment_ids.append(record.record_id)
        runs = told.get("runs") or {}
        found.run_ids += [runs[key] for key in sorted(runs, key=int)]
        if record.status not in FINAL:
            left.append(record.error or f"{counts.waiting} results wait")
    found.left = "; ".join(dict.fromkeys(left))
    return found


async def report_all(reporter: RunReporter, patience: float) -> str:
    """Report until nothing is left, through trouble that may pass, ``patience`` seconds at most; what is in the way then,
    empty when nothing is. Raises UsageError, HistoryError."""
    deadline = asyncio.get_running_loop().time() + patience
    pause = 0.5
    while True:
        try:
            return "" if await reporter.round() else "the run can be resumed; the rest is reported then"
        except PlatformError as error:
            wait = max(pause, error.retry_after or 0.0)
            if error.resend.value == "never" or asyncio.get_running_loop().time() + wait > deadline:
                return str(error)
        await asyncio.sleep(wait)
        pause = min(pause * 2, 10.0)
