"""What goes along with a run whose plan has a ``datalayer`` section: its agents, its launches, what is reported."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tui_eval.engine.companions import Companion
from tui_eval.engine.starting import Start
from tui_eval.errors import PlatformError, SpecError, TuiEvalError
from tui_eval.jobs import Job
from tui_eval.platforms.datalayer.cloud import Launches
from tui_eval.platforms.datalayer.hosting import LocalHost, sweep
from tui_eval.platforms.datalayer.report import create_report
from tui_eval.platforms.datalayer.reporting import (
    RunReporter,
    Settings,
    finish_cloud,
    remember,
    report_all,
    settings_for,
)
from tui_eval.solutions.agent_runtimes import AGENT_HOST
from tui_eval.solutions.datalayer_cloud import CLOUD_HOST
from tui_eval.spec.datalayer_options import DatalayerOptions
from tui_eval.spec.evalset import Evalset, load_evalset
from tui_eval.spec.loading import LoadedPlatform
from tui_eval.store.place import log_path
from tui_eval.store.records import LogLine

CLOUD_KIND = "datalayer_cloud"
LOOK_SECONDS = 2.0
"""How often a live run is looked at for what can be reported."""
END_SECONDS = 10.0
"""How long the end of a run waits for a platform that is in trouble; the rest is for ``tui-eval datalayer sync``."""


class DatalayerCompanion(Companion):
    """See the module, and ``engine.companions``."""

    def __init__(self, section: LoadedPlatform, start: Start, job: Job, environment: Mapping[str, str]) -> None:
        self._options: DatalayerOptions = section.options
        self._start = start
        self._history = Path(job.history)
        self._environment = environment
        self._reporting: asyncio.Task[None] | None = None
        run_id = start.planned.run.run_id
        self._host = LocalHost(
            options=self._options,
            run_id=run_id,
            history=self._history,
            folder=start.loaded.folder,
            log_file=log_path(self._history, f"{run_id}.agent-server"),
            environment=environment,
            log=self._log,
        )
        self._evalset = evalset_of(start, self._options)
        self._settings: Settings | None = None
        if self._evalset is not None:
            self._settings = settings_for(self._options, self._evalset, start.planned.run.created_at)
        self._launches = self._cloud()

    def _cloud(self) -> Launches | None:
        """The launches of a run on the platform, None for a local one."""
        specs = [one.solution.agentspec for one in self._start.loaded.requests if one.solution_type == CLOUD_KIND]
        if not specs or self._evalset is None or self._settings is None:
            return None
        return Launches(
            options=self._options.cloud,
            settings=self._settings,
            evalset=self._evalset,
            agentspecs=specs,
            history=self._history,
            run=self._start.planned.run.id,
            environment=self._environment,
            log=self._log,
        )

    async def begin(self) -> None:
        await sweep(self._history, self._options, self._environment, self._log)
        if self._launches is not None or self._options.report:
            await self._begin_reporting()

    def services(self) -> Mapping[str, Any]:
        services: dict[str, Any] = {AGENT_HOST: self._host}
        if self._launches is not None:
            services[CLOUD_HOST] = self._launches
        return services

    async def close(self) -> None:
        try:
            if self._reporting is not None:
                self._reporting.cancel()
                await asyncio.gather(self._reporting, return_exceptions=True)
        finally:
            if self._launches is not None:
                await self._launches.close()
            await self._host.close()

    async def end(self) -> None:
        """The last of what is reported, then the report. What cannot be reported now stays in the history's queue."""
        try:
            await self._end_reporting()
        finally:
            if self._options.report_folder is not None:
                await self._write_report(self._start.loaded.folder / Path(self._options.report_folder).expanduser())

    # -- parts --

    async def _write_report(self, folder: Path) -> None:
        run_id = self._start.planned.run.run_id
        await self._start.writer.flush()
        try:
            report = await asyncio.to_thread(create_report, self._history, run_id, folder)
        except TuiEvalError as error:
            self._log("warning", f"datalayer: {error} (tui-eval datalayer report {run_id} --into FOLDER)")
        else:
            self._log("info", f"datalayer: wrote {report.markdown_path} and {report.csv_path.name}")

    async def _end_reporting(self) -> None:
        if self._launches is not None:
            await asyncio.to_thread(finish_cloud, self._history, self._start.planned.run, self._environment)
        if self._reporting is None:
            return
        run_id = self._start.planned.run.run_id
        await self._start.writer.flush()
        left = await report_all(self._reporter(), END_SECONDS)
        if left:
            self._log("warning", f"datalayer: not everything is reported: {left} (tui-eval datalayer sync {run_id})")

    async def _begin_reporting(self) -> None:
        if self._evalset is None or self._settings is None:
            self._log("warning", "datalayer: nothing is reported: no request's dataset is an evalset")
            return
        ours = {request.name for request in self._start.loaded.requests if request.dataset.platform is None}
        requests = [request for request in self._start.planned.requests if request.name in ours]
        await asyncio.to_thread(remember, self._history, requests, self._settings)
        if self._launches is not None:
            return  # the platform has made its own records
        self._reporting = asyncio.create_task(self._report())

    async def _report(self) -> None:
        """While the run goes on: make the evalset and its experiments, post every repeat when it has ended."""
        reporter = self._reporter()
        pause = LOOK_SECONDS
        while True:
            try:
                if await reporter.round():
                    return
                pause = LOOK_SECONDS
            except PlatformError as error:
                pause = min(max(pause * 2, error.retry_after or 0.0), 30.0)
            except TuiEvalError as error:
                self._log("warning", f"datalayer: nothing is reported: {error}")
                return
            await asyncio.sleep(pause)

    def _reporter(self) -> RunReporter:
        return RunReporter(self._history, self._start.planned.run.run_id, self._environment, self._log)

    def _log(self, level: str, message: str) -> None:
        self._start.writer.log(self._start.planned.run.id, LogLine(time.time(), level, message))


def evalset_of(start: Start, options: DatalayerOptions) -> Evalset | None:
    """The evalset that a plan is about: the one in its section, else the first of its datasets that is one."""
    if options.spec is not None:
        return load_evalset(options.spec)
    for request in start.loaded.requests:
        dataset = request.dataset
        if dataset.path is not None and (dataset.format == "evalset" or ".evalset." in dataset.path):
            try:
                return load_evalset(start.loaded.folder / dataset.path.replace("$${", "${"))
            except SpecError:
                return None
    return None
