"""What viewers ask of a live run, carried out. Every command gets an answer, whatever stands in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tui_eval.errors import TuiEvalError

if TYPE_CHECKING:
    from tui_eval.engine.orchestration import Orchestration
    from tui_eval.engine.slots import Slots
    from tui_eval.store.reader import History
    from tui_eval.store.records import Command

MOST_SLOTS = 4096
"""The most tasks in flight that can be asked for, as in a plan."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What commands act on."""

    orchestration: Orchestration
    slots: Slots
    history: History
    set_concurrency: Callable[[int], None]


def asked(command: Command) -> str:
    """A command in one line for the run's log: ``cancel_request request=prod drain=True``."""
    return " ".join([command.kind, *(f"{name}={value}" for name, value in command.arguments.items())])


def obey(command: Command, parts: Parts) -> str:
    """Do what a viewer asks and say what was done, or why not."""
    who = f"cancelled by {command.given_by or 'a viewer'}"
    arguments = command.arguments
    match command.kind:
        case "cancel_run":
            return _cancel_run(parts, who, drain=bool(arguments.get("drain")))
        case "cancel_request":
            name = str(arguments.get("request", ""))
            done = parts.orchestration.cancel_request(name, who, drain=bool(arguments.get("drain")))
            return f"cancelling request {name}" if done else f"no live request is called {name}"
        case "cancel_task":
            return _cancel_task(parts, who, arguments.get("task"))
        case "pause" | "resume":
            return _pause(parts, pause=command.kind == "pause")
        case "set_concurrency":
            return _set_concurrency(parts, arguments.get("value"))
    return f"unknown command {command.kind}"


def _cancel_run(parts: Parts, who: str, *, drain: bool) -> str:
    parts.orchestration.cancel_run(who, drain=drain)
    # A task in flight that waits to try again needs a slot for that; nothing new is started any more.
    parts.slots.paused = False
    return "cancelling the run, tasks in flight are finished first" if drain else "cancelling the run"


def _cancel_task(parts: Parts, who: str, key: Any) -> str:
    if not isinstance(key, int) or isinstance(key, bool) or not 0 < key < 2**63:
        return f"a task is named by its key in the history, not {key!r}"
    if parts.orchestration.cancel_task(key, who):
        return "cancelling the task"
    try:
        task = parts.history.task(key)
    except TuiEvalError as error:
        return str(error)
    if not task.outcome.final and parts.orchestration.cancel_queued(task.request, key, task.position, who):
        return "the task will not be started"
    return "the task has ended already" if task.outcome.final else "the task is not in flight"


def _pause(parts: Parts, *, pause: bool) -> str:
    if parts.orchestration.ending:
        return "the run is being stopped"
    parts.slots.paused = pause
    return "paused: tasks in flight are finished, no other is started" if pause else "running"


def _set_concurrency(parts: Parts, value: Any) -> str:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_SLOTS:
        return f"task_concurrency is a whole number from 1 to {MOST_SLOTS}, not {value!r}"
    parts.set_concurrency(value)
    return f"task_concurrency is {value}"
