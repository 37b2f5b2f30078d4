"""What goes along with a run whose plan names AgentLoop: a record on the platform, its id in the calls, a reporter.

The run itself only ever waits for the making of the record, three seconds at most. Results are reported by a process of
its own, which reads the history like any viewer does: a platform that is slow or down costs the run nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.engine.companions import Companion
from tui_eval.engine.starting import Start
from tui_eval.errors import PlatformError
from tui_eval.jobs import Job
from tui_eval.platforms.agentloop.connecting import connected
from tui_eval.platforms.agentloop.result_dir import write_result_dir
from tui_eval.processes.strays import OURS
from tui_eval.spec.agentloop_options import AgentLoopOptions
from tui_eval.spec.loading import LoadedPlatform
from tui_eval.store import platform_records as book
from tui_eval.store.faults import explaining
from tui_eval.store.opening import open_for_writing
from tui_eval.store.platform_records import PlatformRecord
from tui_eval.store.records import RequestRecord

NAME = "agentloop"
EXPERIMENT = "traffic.agentloop.experiment.id"
ITEM = "traffic.agentloop.dataset.data_item_id"
BEGIN_SECONDS = 3.0
_LOOK_SECONDS = 1.0

_by_caller: ContextVar[bool] = ContextVar("agentloop_reported_by_caller", default=False)


@contextmanager
def reported_by_caller() -> Iterator[None]:
    """Inside, runs start no reporter of their own: whoever runs them reports them."""
    token = _by_caller.set(True)
    try:
        yield
    finally:
        _by_caller.reset(token)


class AgentLoopCompanion(Companion):
    """See the module, and ``engine.companions``."""

    def __init__(self, section: LoadedPlatform, start: Start, job: Job, environment: Mapping[str, str]) -> None:
        self._options: AgentLoopOptions = section.options
        self._start = start
        self._history = Path(job.history)
        self._parent = job.parent
        self._environment = environment
        self._records: dict[str, PlatformRecord] = {}
        self._looked = 0.0

    async def begin(self) -> None:
        """Make the records, here and on the platform, and start the reporter. Trouble is left to the reporter."""
        if not self._options.report:
            return
        await asyncio.to_thread(self._remember)
        if not self._records:
            return
        try:
            async with asyncio.timeout(BEGIN_SECONDS):
                await self._create()
        except (PlatformError, TimeoutError) as error:
            words = str(error) or f"the platform gave no answer within {BEGIN_SECONDS:g} s"
            self._log(f"agentloop: the record is made later: {words}")
        if not _by_caller.get():
            start_reporter(self._history, self._start.planned.run.run_id, self._environment)

    def baggage(self, request: str, case_input: Mapping[str, JsonValue]) -> Mapping[str, str]:
        record = self._records.get(request)
        if record is None:
            return {}
        if not record.record_id:
            record = self._looked_up(request, record)
        found = {EXPERIMENT: record.record_id} if record.record_id else {}
        item = case_input.get("id")
        if item is not None:
            found[ITEM] = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        return found

    async def end(self) -> None:
        folder = self._options.result_dir
        if folder is not None:
            place = self._start.loaded.folder / folder
            await asyncio.to_thread(write_result_dir, self._history, self._start.planned.run.run_id, place)

    # -- parts --

    def _reported(self) -> list[RequestRecord]:
        ours = {request.name for request in self._start.loaded.requests if request.dataset.platform == NAME}
        return [request for request in self._start.planned.requests if request.name in ours]

    def _remember(self) -> None:
        """Keep in the history which requests are reported, and how."""
        requests = self._reported()
        with explaining(self._history), closing(open_for_writing(self._history)) as connection:
            there = {record.request: record for record in book.of_run(connection, self._start.planned.run.id, NAME)}
            for request in requests:
                record = there.get(request.id)
                if record is None:
                    detail = self._detail(connection, request)
                    if detail is None:
                        self._log(f"agentloop: {request.name} is not reported: nothing is known of its platform plan")
                        continue
                    settings = {**self._settings(request, len(requests)), **detail}
                    new = PlatformRecord(request.run, request.id, NAME, settings)
                    record = book.add(connection, new)
                self._records[request.name] = record

    def _settings(self, request: RequestRecord, count: int) -> dict[str, JsonValue]:
        options = self._options
        group = options.experiment_name or "experimentA"
        return {
            "agent_space": options.agent_space,
            "plan_id": options.experiment_plan_id,
            "region_id": options.region_id,
            "vpc": options.vpc,
            "custom_agentloop_endpoint": options.custom_agentloop_endpoint,
            "custom_sls_endpoint": options.custom_sls_endpoint,
            "group": group if count == 1 else f"{group}-{request.name}",
            "experiment_config": options.experiment_config,
            "wait_for_scores_seconds": options.wait_for_scores_seconds,
        }

    def _detail(self, connection: Any, request: RequestRecord) -> Mapping[str, JsonValue] | None:
        """What was found out about the platform's plan: just now, or for the run that this one takes up."""
        for entry in self._start.preflight.requests if self._start.preflight is not None else ():
            if entry.request.name == request.name and entry.source is not None:
                found = getattr(entry.source, "found", None)
                return dict(found.detail) if found is not None else None
        parent = self._start.planned.run.parent_run_id
        if parent is None:
            return None
        before = self._start.history.run(parent)
        names = {one.id: one.name for one in self._start.history.requests(before)}
        known = ("plan_name", "dataset", "project", "judged", "result_types")
        for record in book.of_run(connection, before.id, NAME):
            if names.get(record.request) == request.name:
                return {name: record.settings[name] for name in known if name in record.settings}
        return None

    async def _create(self) -> None:
        missing = [name for name, record in self._records.items() if not record.record_id]
        if not missing:
            return
        async with connected(self._options, self._environment) as client:
            for name in missing:
                record = self._records[name]
                made = await client.create_run(
                    self._options.experiment_plan_id, str(record.settings["group"]), tries=1, seconds=BEGIN_SECONDS
                )
                self._records[name] = await asyncio.to_thread(self._made, record, made)

    def _made(self, record: PlatformRecord, record_id: str) -> PlatformRecord:
        with explaining(self._history), closing(open_for_writing(self._history)) as connection:
            return book.change(connection, record, record_id=record_id, status="created")

    def _looked_up(self, request: str, record: PlatformRecord) -> PlatformRecord:
        """The record as the reporter may have made it meanwhile; looked at once a second at most."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return record
        self._looked = now
        for found, _ in book.reported(self._history, record.run, NAME):
            for name, known in self._records.items():
                if known.id == found.id:
                    self._records[name] = found
        return self._records[request]

    def _log(self, message: str) -> None:
        from tui_eval.store.records import LogLine

        self._start.writer.log(self._start.planned.run.id, LogLine(time.time(), "warning", message))


def start_reporter(history: Path, run_id: str, environment: Mapping[str, str]) -> None:
    """Start the process that reports a run. It belongs to nobody: it outlives the run, the terminal and the screens."""
    package = str(Path(__file__).parents[3])
    path = os.pathsep.join(part for part in (package, environment.get("PYTHONPATH", "")) if part)
    inherited = {name: value for name, value in environment.items() if name not in OURS}
    child = subprocess.Popen(
        [sys.executable, "-m", "tui_eval.platforms.agentloop.reporter"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
        env={**inherited, "PYTHONPATH": path},
    )
    assert child.stdin is not None
    with child.stdin as stdin:
        stdin.write(json.dumps({"history": str(history.absolute()), "run_id": run_id}).encode())
    # Whoever stays (the screens) must not keep an ended process as a zombie.
    threading.Thread(target=child.wait, name=f"reporter-{child.pid}", daemon=True).start()
