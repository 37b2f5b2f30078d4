"""A solution that is a function of the calling Python program, run in its event loop. No plan file can name it.

Importing this module registers the kind; only functions that were handed over with :func:`offered` can be called.
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from pydantic import Field, field_validator

from tui_eval.domain import Answer, Case, JsonValue
from tui_eval.errors import Resend, SolutionError
from tui_eval.platforms.agentloop.functions import SolutionFunction, Task, task_of
from tui_eval.solutions.base import CallContext, SolutionSetup
from tui_eval.spec import kinds
from tui_eval.spec.model import Strict
from tui_eval.spec.rendered import Rendered
from tui_eval.store.encoding import to_json

KIND = "in_process"
_EXPERIMENT = "traffic.agentloop.experiment.id"
_offered: dict[str, Callable[..., Any]] = {}


class InProcessOptions(Strict):
    """``handle`` stands for a function of this process; ``function`` is its name, for the reader."""

    type: Literal["in_process"] = "in_process"
    handle: str
    function: str = ""
    ground_truth_field: str = Field("")

    @field_validator("handle")
    @classmethod
    def _of_this_process(cls, handle: str) -> str:
        if handle not in _offered:
            raise ValueError(
                "this was a function of a Python program (run_experiment), which is not there any more: run the program again"
            )
        return handle


kinds.IN_PROCESS[KIND] = kinds.Kind(
    "tui_eval.platforms.agentloop.in_process:InProcessOptions",
    "tui_eval.platforms.agentloop.in_process:InProcessSolution",
)


@contextmanager
def offered(function: Callable[..., Any], ground_truth_field: str = "") -> Iterator[dict[str, Any]]:
    """The solution section that stands for ``function``; it can be called while this is entered."""
    handle = secrets.token_hex(16)
    _offered[handle] = function
    try:
        yield {
            "type": KIND,
            "handle": handle,
            "function": _name(function),
            "ground_truth_field": ground_truth_field,
        }
    finally:
        del _offered[handle]


def _name(function: Callable[..., Any]) -> str:
    named = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{getattr(function, '__module__', '') or '?'}:{named}"


def pre_hook(*arguments: Any, **keywords: Any) -> None:
    """The platform's hook for an agent's messages; accepted, and without effect here."""


class InProcessSolution:
    """Calls ``f(task, pre_hook)`` or ``f(task)``, async or not. What it returns is the output; an object or mapping with
    ``success`` and ``output`` says itself whether it succeeded. What it raises is its own task's error."""

    def __init__(self, options: InProcessOptions, setup: SolutionSetup) -> None:
        self._function = _offered[options.handle]
        self._truth = options.ground_truth_field
        self._sent: dict[int, dict[str, JsonValue]] = {}

    async def call(self, request: Rendered, context: CallContext) -> Answer:
        case = Case(request.case_id, request.case_input)
        task = task_of(case, self._truth, context.trace.baggage.get(_EXPERIMENT, ""))
        context.on_phase("calling")
        if isinstance(self._function, SolutionFunction):
            try:
                answer, self._sent[id(request)] = await self._function.answer(task, context)
            except SolutionError as error:
                if error.partial is not None and "request" in error.partial.detail:
                    self._sent[id(request)] = error.partial.detail.pop("request")
                raise
            return answer
        try:
            async with asyncio.timeout(context.limits.total):
                value = await self._called(task)
        except TimeoutError as error:
            message = f"timed out after {context.limits.total or 0:g} s"
            raise SolutionError("timed_out", message, Resend.MAYBE_RECEIVED) from error
        return _answer_of(value, context.trace.trace_id)

    async def _called(self, task: Task) -> Any:
        arguments: tuple[Any, ...] = (task, pre_hook) if _takes_two(self._function) else (task,)
        try:
            if inspect.iscoroutinefunction(self._function):
                return await self._function(*arguments)
            value = await asyncio.to_thread(self._function, *arguments)
            return await value if inspect.isawaitable(value) else value
        except (SolutionError, TimeoutError):
            raise
        except Exception as error:  # a user's function: it costs its own task only
            message = f"{type(error).__name__}: {error}"
            raise SolutionError("agent_error", message, Resend.MAYBE_RECEIVED) from error

    def host(self, request: Rendered) -> str | None:
        return None

    def preview(self, request: Rendered) -> dict[str, Any]:
        sent = self._sent.pop(id(request), None)
        return sent if sent is not None else {"function": _name(self._function)}

    async def aclose(self) -> None:
        if isinstance(self._function, SolutionFunction):
            await self._function.aclose()


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    many = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
    return many or sum(each.kind in by_position for each in parameters) > 1


def _answer_of(value: Any, trace_id: str) -> Answer:
    """What a function returned as an answer."""
    fields: dict[str, Any] = {"success": True, "output": value, "trajectory": None, "meta": None}
    if isinstance(value, dict) and {"success", "output"} <= value.keys() and isinstance(value["success"], bool):
        fields.update(value)
    elif hasattr(value, "success") and hasattr(value, "output"):
        fields.update({name: getattr(value, name, None) for name in fields})
    meta = fields["meta"] if isinstance(fields["meta"], dict) else {}
    answer = Answer(output=_as_json(fields["output"]), trace_id=str(meta.get("traceId") or trace_id))
    if fields["trajectory"]:
        answer.detail["trajectory"] = _as_json(fields["trajectory"])
    if meta:
        answer.detail["meta"] = _as_json(meta)
    if isinstance(meta.get("status_code"), int):
        answer.status_code = meta["status_code"]
    if not fields["success"]:
        said = meta.get("error_message") or meta.get("error_type") or "the function says that it did not succeed"
        kind = str(meta.get("error_type") or "agent_error")
        raise SolutionError(kind[:60], str(said), Resend.MAYBE_RECEIVED, partial=answer)
    return answer


def _as_json(value: Any) -> JsonValue:
    """``value`` as JSON; what JSON does not have becomes its text."""
    import json

    try:
        return json.loads(to_json(value))
    except (TypeError, ValueError, RecursionError):
        return str(value)
