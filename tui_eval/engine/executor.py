"""Where tasks are carried out. One implementation so far: in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tui_eval.engine.data import Progress, TaskDescription, TaskResult
from tui_eval.engine.prepare import PreparedRequest
from tui_eval.engine.task import Surroundings, run_task


class Executor(Protocol):
    """Carries out described tasks. A description and a result serialise, so an executor may be on another machine."""

    async def run(self, task: TaskDescription, progress: Progress) -> TaskResult:
        """The end of ``task``. ``progress`` is kept current meanwhile. Cancelling the call cancels the task."""
        ...


class LocalExecutor:
    """Runs tasks in this process with the prepared requests it is given, by name."""

    def __init__(self, requests: Mapping[str, PreparedRequest], around: Surroundings) -> None:
        self._requests = requests
        self._around = around

    async def run(self, task: TaskDescription, progress: Progress) -> TaskResult:
        return await run_task(task, self._requests[task.request], self._around, progress)
