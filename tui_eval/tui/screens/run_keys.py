"""What one asks of a run from its screen: cancel, pause, run again, finish, export, go to its relatives."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ClassVar

from tui_eval.errors import TuiEvalError
from tui_eval.store.records import Counters, RequestState, RunRecord, RunState
from tui_eval.tui import keys
from tui_eval.tui.run_reading import RunView
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.line_table import LineTable

_OPENS = {0: "its tasks", 2: "its tasks", 4: "whole line"}
"""What enter does in a panel, where it is not to open a task."""


class RunKeys(BaseScreen):
    """The actions of the run's keys; ``RunScreen`` adds what is shown."""

    BINDINGS: ClassVar = keys.bindings("run")
    HINTS = (
        "table.select",
        "run.cancel_run",
        "run.pause",
        "run.continue",
        "run.rerun_all",
        "run.rerun",
        "run.filter",
        "run.cycle",
        "run.export",
    )

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self.run_id = run_id
        self.view: RunView | None = None
        self.panel = 1

    @property
    def LABELS(self) -> Mapping[str, str]:  # noqa: N802 (what the line of keys asks a screen for)
        """What a key means now: the one that pauses resumes a paused run, enter depends on the panel."""
        paused = self.view is not None and self.view.state is RunState.PAUSED
        opens = _OPENS.get(self.panel, "open")
        return {"table.select": opens, **({"run.pause": "resume"} if paused else {})}

    def table(self, name: str) -> LineTable:
        """One of the tables by its name."""
        return self.query_one(f"#{name}", LineTable)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        state = None if self.view is None else self.view.state
        if action in ("cancel_run", "cancel_chosen", "pause", "concurrency"):
            return state is not None and state.live
        if action == "continue_run":
            return state in (RunState.INTERRUPTED, RunState.CANCELLED, RunState.TIMED_OUT)
        if action == "rerun_chosen" and self.panel != 1:
            return False  # "this" is a task
        if action in ("rerun", "rerun_chosen"):
            return state is not None and not state.live
        return True

    def action_cancel_run(self) -> None:
        from tui_eval.tui.run_commands import cancel_run

        self._do(lambda run, total: cancel_run(self.tui, run))

    def action_concurrency(self) -> None:
        from tui_eval.tui.run_commands import change_concurrency

        self._do(lambda run, total: change_concurrency(self.tui, run))

    def action_pause(self) -> None:
        from tui_eval.tui.run_commands import command

        paused = self.view is not None and self.view.state is RunState.PAUSED
        self._do(lambda run, total: command(self.tui, run, "resume" if paused else "pause", {}))

    def action_cancel_chosen(self) -> None:
        self._do(self._cancel_chosen)

    async def _cancel_chosen(self, run: RunRecord, total: Counters) -> None:
        from tui_eval.tui.run_commands import command
        from tui_eval.tui.screens.dialogs import Confirm

        assert self.view is not None
        if self.panel == 0:
            key = self.table("requests").cursor_key
            request = next((each for each in self.view.requests if each.id == key), None)
            if request is None or request.state not in (RequestState.PENDING, RequestState.RUNNING):
                return
            if await self.app.push_screen_wait(Confirm("Cancel this request?", [request.name], yes="Cancel it")):
                await command(self.tui, run, "cancel_request", {"request": request.name})
            return
        table = self.table("slots" if self.panel == 3 else "tasks")
        for key in table.chosen():
            await command(self.tui, run, "cancel_task", {"task": key})
        table.drop_marks()

    def action_rerun(self) -> None:
        from tui_eval.tui.run_commands import choose_rerun

        self._do_and_open(lambda run, total: choose_rerun(self.tui, run, total))

    def action_rerun_chosen(self) -> None:
        from tui_eval.tui.run_commands import rerun_tasks

        chosen = [key for key in self.table("tasks").chosen() if isinstance(key, int)]
        if chosen:
            self._do_and_open(lambda run, total: rerun_tasks(self.tui, run, total, chosen))

    def action_continue_run(self) -> None:
        from tui_eval.tui.run_commands import continue_run

        self._do_and_open(lambda run, total: continue_run(self.tui, run, total))

    def action_export(self) -> None:
        from tui_eval.tui.run_commands import export

        self._do(lambda run, total: export(self.tui, run))

    def action_note(self) -> None:
        from tui_eval.tui.run_actions import change_note

        self._do(lambda run, total: change_note(self.tui, run))

    def action_tags(self) -> None:
        from tui_eval.tui.run_actions import change_tags

        self._do(lambda run, total: change_tags(self.tui, [run]))

    @asks("command")
    async def _do(self, what: Callable[[RunRecord, Counters], Coroutine[Any, Any, Any]]) -> None:
        if self.view is not None:
            await what(self.view.run, self.view.total)
            self.ask_again()

    @asks("command")
    async def _do_and_open(self, what: Callable[[RunRecord, Counters], Coroutine[Any, Any, str | None]]) -> None:
        if self.view is None:
            return
        run_id = await what(self.view.run, self.view.total)
        if run_id is not None and run_id != self.run_id:
            self.tui.open("run", run_id=run_id)
        self.ask_again()

    # -- parents and children --

    def action_parent(self) -> None:
        parent = None if self.view is None else self.view.run.parent_run_id
        if parent is None:
            self.notify("This run is not a re-run of another one.")
        else:
            self.tui.open("run", run_id=parent)

    @asks("command")
    async def action_children(self) -> None:
        from tui_eval.tui.screens.dialogs import Choose, Option

        try:
            children = await self.tui.history.read(lambda history: history.children(self.run_id))
        except TuiEvalError as error:
            self.notify(str(error), severity="error")
            return
        if not children:
            self.notify("This run has no re-run.")
            return
        options = [Option(run.run_id, run.run_id, run.name) for run in children]
        chosen: str | None = children[0].run_id
        if len(children) > 1:
            chosen = await self.app.push_screen_wait(Choose(f"Re-runs of {self.run_id}", options))
        if chosen:
            self.tui.open("run", run_id=chosen)
