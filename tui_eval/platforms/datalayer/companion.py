"""What goes along with a run whose plan has a ``datalayer`` section: its agents, its launches, what is reported."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tui_eval.engine.companions import Companion
from tui_eval.engine.starting import Start
from tui_eval.jobs import Job
from tui_eval.platforms.datalayer.hosting import LocalHost, sweep
from tui_eval.solutions.agent_runtimes import AGENT_HOST
from tui_eval.spec.datalayer_options import DatalayerOptions
from tui_eval.spec.loading import LoadedPlatform
from tui_eval.store.place import log_path
from tui_eval.store.records import LogLine

NAME = "datalayer"


class DatalayerCompanion(Companion):
    """See the module, and ``engine.companions``."""

    def __init__(self, section: LoadedPlatform, start: Start, job: Job, environment: Mapping[str, str]) -> None:
        self._options: DatalayerOptions = section.options
        self._start = start
        self._history = Path(job.history)
        self._environment = environment
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

    async def begin(self) -> None:
        await sweep(self._history, self._options, self._environment, self._log)

    def services(self) -> Mapping[str, Any]:
        return {AGENT_HOST: self._host}

    async def close(self) -> None:
        await self._host.close()

    def _log(self, level: str, message: str) -> None:
        self._start.writer.log(self._start.planned.run.id, LogLine(time.time(), level, message))
