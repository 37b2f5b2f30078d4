"""``python``: a function of the user's own, called in a worker process that can be killed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_eval.domain import Answer, JsonValue, as_text
from tui_eval.errors import Resend, SolutionError, WorkerDied, WorkerError, WorkerRaised, WorkerTimeout
from tui_eval.processes.workers import WorkerPool
from tui_eval.solutions.base import CallContext, SolutionSetup
from tui_eval.solutions.function_checks import check_function
from tui_eval.solutions.wording import seconds, snippet
from tui_eval.spec.rendered import Rendered
from tui_eval.spec.solution_options import PythonOptions

__all__ = ["PythonSolution", "check_function"]

MOST_WORKERS = 64
"""More calls than this wait for a free process, whatever the plan's concurrency: each is a whole interpreter."""

_UNNAMED = {"TRACEPARENT": "(made for each attempt)"}


class PythonSolution:
    """Calls ``f(case, **arguments)``, or ``f(task, pre_hook, **arguments)`` when it takes two (AgentLoop's form).

    ``case`` is a dict of the columns with the case's ``id``; ``task`` has ``id, input, ground_truth, metrics, tags,
    metadata``; ``pre_hook`` does nothing. What it returns is the output; an object or mapping with AgentLoop's fields
    ``success, output, trajectory, meta`` says itself whether it succeeded. ``TRACEPARENT`` is in ``os.environ`` during
    the call. What it prints becomes the answer's ``stderr``.
    """

    def __init__(self, options: PythonOptions, setup: SolutionSetup) -> None:
        self._options = options
        self._setup = setup
        self._pool: WorkerPool | None = None
        self._pool_env: dict[str, str] = {}

    async def call(self, request: Rendered, context: CallContext) -> Answer:
        call = self._prepared(request, request.sent, {"TRACEPARENT": context.trace.traceparent})
        answer = Answer(trace_id=context.trace.trace_id)
        pool = self._workers(call["env"])
        context.on_phase("calling")
        limit = context.limits.total

        def printed(text: str) -> None:
            answer.stderr = text

        try:
            reply = await pool.call(
                self._options.function,
                call["case"],
                timeout=limit,
                path=self._options.path,
                style="solution",
                arguments=call["arguments"],
                environment=call["call_env"],
                printed=printed,
            )
        except WorkerError as error:
            raise _as_solution_error(error, limit, answer) from error
        return self._answer(reply, answer)

    def host(self, request: Rendered) -> str | None:
        return None

    def preview(self, request: Rendered) -> dict[str, Any]:
        call = self._prepared(request, request.shown, _UNNAMED)
        folder = self._setup.folder / (self._options.path or ".")
        return {
            "function": self._options.function,
            "path": str(folder),
            "case": call["case"],
            "arguments": call["arguments"],
            "env": {**call["env"], **call["call_env"]},
        }

    async def aclose(self) -> None:
        if self._pool is not None:
            await self._pool.aclose()

    def _prepared(self, request: Rendered, fields: Mapping[str, Any], trace: Mapping[str, str]) -> dict[str, Any]:
        """What a call is made of; ``call_env`` is set for the call, ``env`` for the life of the worker."""
        return {
            "case": {"id": request.case_id, **request.case_input},
            "arguments": dict(fields.get("arguments") or {}),
            "env": {name: as_text(value) for name, value in (fields.get("env") or {}).items()},
            "call_env": dict(trace),
        }

    def _workers(self, env: dict[str, str]) -> WorkerPool:
        if self._pool is None:
            self._pool_env = env
            self._pool = WorkerPool(
                size=max(1, min(self._setup.concurrency, MOST_WORKERS)),
                folder=self._setup.folder,
                environment={**self._setup.environment, **env},
            )
        elif env != self._pool_env:
            raise SolutionError(
                "argument", "env of a python solution must be the same for all cases; use `arguments` for case data"
            )
        return self._pool

    def _answer(self, reply: JsonValue, answer: Answer) -> Answer:
        answer.output = reply["output"]
        answer.notes += reply["notes"]
        for name in ("trajectory", "meta"):
            if reply[name]:
                answer.detail[name] = reply[name]
        meta = reply["meta"] if isinstance(reply["meta"], dict) else {}
        if not reply["success"]:
            said = meta.get("error_message") or meta.get("error_type") or "no error_message in its meta"
            message = f"the function says that it did not succeed: {snippet(as_text(said))}"
            raise SolutionError("agent_error", message, Resend.MAYBE_RECEIVED, partial=answer)
        if answer.output is None and not self._options.allow_null:
            message = "the function returned None (allow_null: true takes it as an output)"
            raise SolutionError("bad_answer", message, Resend.MAYBE_RECEIVED, partial=answer)
        return answer


def _as_solution_error(error: WorkerError, limit: float | None, answer: Answer) -> SolutionError:
    if isinstance(error, WorkerTimeout):
        message = f"timed out after {seconds(limit or 0)} (attempt_timeout_seconds), the worker was killed"
        return SolutionError("timed_out", message, Resend.MAYBE_RECEIVED, partial=answer)
    if isinstance(error, WorkerRaised):
        if error.stage == "import":
            return SolutionError("start", f"could not start: {error}", partial=answer)
        if error.traceback:
            answer.detail["traceback"] = error.traceback
        kind = "bad_answer" if error.stage == "result" else "agent_error"
        return SolutionError(kind, str(error), Resend.MAYBE_RECEIVED, partial=answer)
    if isinstance(error, WorkerDied):
        return SolutionError("exit_code", str(error), Resend.MAYBE_RECEIVED, partial=answer)
    return SolutionError("start", str(error), Resend.UNSENT)
