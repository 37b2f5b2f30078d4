"""One task from start to end: render, attempts, scores. A coroutine that touches nothing but what it is given."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tui_eval.domain import Answer, Case, JsonValue, Outcome, as_text, outcome_of, why_not_passed
from tui_eval.engine.data import Progress, TaskDescription, TaskResult, answer_from_json, answer_to_json
from tui_eval.engine.judging import judge_answer
from tui_eval.engine.prepare import PreparedRequest
from tui_eval.engine.retry import GiveUp, decide, host_wait
from tui_eval.engine.slots import Slots
from tui_eval.errors import Resend, SolutionError, TemplateError, innermost
from tui_eval.net.trace import TraceContext
from tui_eval.solutions.base import PREPARING, CallContext, Limits
from tui_eval.spec.rendered import Rendered
from tui_eval.store.records import AttemptPayload, AttemptRecord


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a task shares with the others. ``wall`` is seconds since the epoch, ``draw`` a random number from 0 to 1."""

    slots: Slots
    wall: Callable[[], float] = time.time
    draw: Callable[[], float] = random.random
    changed: Callable[[Progress], None] = lambda progress: None


def begin(task: TaskDescription, wall: Callable[[], float] = time.time) -> Progress:
    """The progress of a task that is about to run; ``run_task`` fills it in."""
    now = wall()
    result = TaskResult(
        task=task.task,
        request=task.request_key,
        outcome=Outcome.QUEUED,
        started_at=now,
        finished_at=now,
        attempts=[],
        scores=[],
    )
    return Progress(result=result, since=now)


async def run_task(
    task: TaskDescription, request: PreparedRequest, around: Surroundings, progress: Progress
) -> TaskResult:
    """Carry out one task and return its end. Everything that can go wrong with an agent or an evaluator is in the
    result; only cancellation and faults of the engine itself are raised. Texts are whole: the history replaces secrets
    in them before it cuts them."""
    result = progress.result
    case = Case(task.case_id, task.case_input, task.line)
    if task.work == "score":
        result.latency = task.latency
        async with around.slots.slot(request.lane):
            await _score(
                case, answer_from_json(task.answer or {}), _sent_again(case, task, request), request, around, progress
            )
    else:
        try:
            rendered = request.template.render(case, task.repeat)
        except TemplateError as error:
            _fail(result, "template", str(error))
        else:
            await _call_and_score(task, case, rendered, request, around, progress)
    result.finished_at = around.wall()
    return result


async def _call_and_score(
    task: TaskDescription,
    case: Case,
    rendered: Rendered,
    request: PreparedRequest,
    around: Surroundings,
    progress: Progress,
) -> None:
    host = request.solution.host(rendered)
    result = progress.result
    deadline: float | None = None
    failure: SolutionError | None = None
    retries = 0
    while True:
        try:
            if deadline is None:
                hold = await around.slots.take(request.lane, first=retries > 0, host=host)
            else:
                async with asyncio.timeout_at(deadline):
                    hold = await around.slots.take(request.lane, first=retries > 0, host=host)
        except TimeoutError:
            assert failure is not None, "the task's limit begins with its first attempt"
            return _fail(result, failure.kind, _no_time_left(failure, request))
        try:
            if not retries:
                result.started_at = around.wall()
                deadline = _deadline(request.task_timeout)
            limits, by_task = _limits(request.limits, deadline)
            try:
                answer = await _attempt(task, rendered, request, limits, around, progress)
            except SolutionError as error:
                failure = error
                if host is not None and (wait := host_wait(error, request.rules)):
                    # While this task still has its place: the next one in the queue must not slip through.
                    around.slots.close_host(host, asyncio.get_running_loop().time() + wait)
            else:
                hold.release_host()  # judging must not keep others from the agent
                await _score(case, answer, main_input(rendered.shown, case), request, around, progress)
                return None
        finally:
            hold.end()
        delay = _delay_or_end(failure, retries, deadline, by_task, request, around)
        if isinstance(delay, str):
            return _fail(result, failure.kind, delay)
        await _wait(delay, failure, around, progress)
        retries += 1


def _delay_or_end(
    failure: SolutionError,
    retries: int,
    deadline: float | None,
    by_task: bool,
    request: PreparedRequest,
    around: Surroundings,
) -> float | str:
    """Seconds to wait before the next attempt, or the message of a task that ends here."""
    decision = decide(failure, retries, request.rules, around.draw)
    if isinstance(decision, GiveUp):
        by_limit = failure.kind == "timed_out" and by_task
        return decision.message + (f" (task_timeout_seconds: {request.task_timeout:g})" if by_limit else "")
    if deadline is not None and asyncio.get_running_loop().time() + decision.delay >= deadline:
        return _no_time_left(failure, request)
    return decision.delay


async def _attempt(
    task: TaskDescription,
    rendered: Rendered,
    request: PreparedRequest,
    limits: Limits,
    around: Surroundings,
    progress: Progress,
) -> Answer:
    """One call of the solution, kept as an attempt however it ends."""
    result = progress.result
    number = task.attempts_made + len(result.attempts) + 1
    trace = TraceContext.new(request.baggage(task.case_input) if request.baggage is not None else None)
    started, clock = around.wall(), time.perf_counter()

    def phase(name: str) -> None:
        nonlocal clock
        if progress.phase == PREPARING:
            clock, record.started_at = time.perf_counter(), around.wall()
        progress.phase, progress.since = name, around.wall()
        around.changed(progress)

    record = AttemptRecord(number=number, started_at=started, seconds=0.0, trace_id=trace.trace_id)
    progress.attempt, progress.until, progress.detail = number, None, ""
    phase("calling")
    answer: Answer | None = None
    try:
        answer = await _guarded(request, rendered, CallContext(limits, trace, phase), limits)
        record.trace_id = answer.trace_id or trace.trace_id
        return answer
    except SolutionError as error:
        answer = error.partial
        record.error_kind, record.message = error.kind, error.message
        raise
    except asyncio.CancelledError:
        record.error_kind, record.message = "cancelled", "cancelled while the agent was being called"
        raise
    finally:
        record.seconds = result.latency = time.perf_counter() - clock
        if answer is not None:
            record.status_code = answer.status_code
            _add_usage(result, answer)
        shown = request.solution.preview(rendered)
        record.payload = AttemptPayload(shown, answer_to_json(answer) if answer is not None else None)
        result.trace_id = record.trace_id
        result.attempts.append(record)


async def _guarded(request: PreparedRequest, rendered: Rendered, context: CallContext, limits: Limits) -> Answer:
    """The call behind a last line of defence: a solution that ignores its limits, or breaks, costs its own task only."""
    try:
        if request.keeps_limits or limits.total is None:
            return await request.solution.call(rendered, context)
        async with asyncio.timeout(limits.total + limits.grace + 5.0):
            return await request.solution.call(rendered, context)
    except TimeoutError as error:
        message = f"timed out: the solution did not keep its limit of {limits.total or 0:g} s"
        raise SolutionError("timed_out", message, Resend.MAYBE_RECEIVED) from error
    except SolutionError:
        raise
    except Exception as error:
        cause = innermost(error)
        message = f"the solution broke: {type(cause).__name__}: {cause}"
        raise SolutionError("internal", message, Resend.NEVER) from error


async def _wait(delay: float, failure: SolutionError, around: Surroundings, progress: Progress) -> None:
    """Wait before a retry, without a slot, visibly."""
    now = around.wall()
    progress.phase, progress.since, progress.until = "waiting", now, now + delay
    status = failure.partial.status_code if failure.partial else None
    progress.detail = str(status) if status else failure.kind
    around.changed(progress)
    await asyncio.sleep(delay)


async def _score(
    case: Case,
    answer: Answer,
    sent: JsonValue,
    request: PreparedRequest,
    around: Surroundings,
    progress: Progress,
) -> None:
    result = progress.result
    progress.phase, progress.since = "judging", around.wall()
    around.changed(progress)
    result.output = as_text(answer.output)
    result.trace_id = result.trace_id or answer.trace_id
    result.scores = await judge_answer(request.evaluators, case, answer, sent)
    result.outcome = outcome_of(result.scores)
    result.message = why_not_passed(result.outcome, result.scores)


def _no_time_left(failure: SolutionError, request: PreparedRequest) -> str:
    return f"{failure.message}; no time left to try again (task_timeout_seconds: {request.task_timeout:g})"


def _fail(result: TaskResult, kind: str, message: str) -> None:
    result.outcome = Outcome.ERROR
    result.error_kind = kind
    result.message = message


def _add_usage(result: TaskResult, answer: Answer) -> None:
    usage = answer.usage
    if usage is None:
        return
    for name, value in (
        ("input_tokens", usage.input_tokens),
        ("output_tokens", usage.output_tokens),
        ("cost", usage.cost),
    ):
        if value is not None:
            setattr(result, name, (getattr(result, name) or 0) + value)


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else asyncio.get_running_loop().time() + timeout


def _limits(limits: Limits, deadline: float | None) -> tuple[Limits, bool]:
    """The attempt's limits, cut to what the task has left; and whether the task's limit is the shorter one."""
    if deadline is None:
        return limits, False
    left = max(0.001, deadline - asyncio.get_running_loop().time())
    if limits.total is not None and limits.total <= left:
        return limits, False
    return replace(limits, total=left), True


def _sent_again(case: Case, task: TaskDescription, request: PreparedRequest) -> JsonValue:
    """What was sent for an answer that is only judged again; None when it cannot be rendered any more."""
    try:
        return main_input(request.template.render(case, task.repeat).shown, case)
    except TemplateError:
        return None


def main_input(shown: Mapping[str, Any], case: Case) -> JsonValue:
    """``experiment_input``: the part of a request that carries the question. The body of a call, its messages, a
    command's arguments; the case's columns when the request has none of these (AgentLoop contract, section 5.1)."""
    for name in ("body", "messages", "prompt", "form", "text", "stdin_text", "argv"):
        if shown.get(name) is not None:
            return shown[name]
    return dict(case.input)
