"""Judging an answer: every evaluator gives a score, whatever happens in it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tui_eval.domain import Answer, Case, JsonValue, Score
from tui_eval.engine.retry import Again, RetryRules, decide, host_wait
from tui_eval.engine.slots import Slots
from tui_eval.errors import EvaluatorError, SolutionError, TuiEvalError, innermost
from tui_eval.evaluators.base import Ask, Evaluator, Subject
from tui_eval.evaluators.variables import variables_for
from tui_eval.net.trace import TraceContext
from tui_eval.solutions.base import CallContext, Limits, Solution, SolutionSetup
from tui_eval.spec.evaluator_options import JudgeOptions


@dataclass(frozen=True, slots=True)
class PreparedEvaluator:
    """One evaluator of a request. ``instant`` ones never wait and run in place; the others side by side."""

    name: str
    evaluator: Evaluator
    mapping: Mapping[str, str]
    negate: bool
    timeout: float
    instant: bool


async def judge_answer(
    evaluators: Sequence[PreparedEvaluator], case: Case, answer: Answer, sent: JsonValue
) -> list[Score]:
    """A score of each evaluator, in their order. An evaluator that cannot decide gives a score with an ``error``."""
    if sum(not evaluator.instant for evaluator in evaluators) < 2:
        return [await _score(evaluator, case, answer, sent) for evaluator in evaluators]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_score(evaluator, case, answer, sent)) for evaluator in evaluators]
    return [task.result() for task in tasks]


async def _score(evaluator: PreparedEvaluator, case: Case, answer: Answer, sent: JsonValue) -> Score:
    try:
        variables = variables_for(evaluator.mapping, case=case, output=answer.output, sent=sent)
        subject = Subject(case.id, variables, answer.trace_id)
        if evaluator.instant:
            score = await evaluator.evaluator.evaluate(subject)
        else:
            async with asyncio.timeout(evaluator.timeout) as limit:
                _LIMIT.set(limit)
                score = await evaluator.evaluator.evaluate(subject)
    except TimeoutError:
        return Score(evaluator.name, error=f"evaluator timed out ({evaluator.timeout:g} s)")
    except EvaluatorError as error:
        return Score(evaluator.name, error=str(error), detail=getattr(error, "detail", None) or {})
    except TuiEvalError as error:
        return Score(evaluator.name, error=str(error))
    except Exception as error:
        # A fault in an evaluator must cost its own score and nothing else.
        cause = innermost(error)
        return Score(evaluator.name, error=f"evaluator broke: {type(cause).__name__}: {cause}")
    return _negated(score) if evaluator.negate else score


def _negated(score: Score) -> Score:
    if score.passed is None:
        return score
    return replace(score, passed=not score.passed, reason=f"not: {score.reason}" if score.reason else "not")


_LIMIT: ContextVar[asyncio.Timeout] = ContextVar("limit of the evaluator at work")


@contextmanager
def _not_counted() -> Iterator[None]:
    """What is done here does not count for the evaluator's time limit: waiting for one's turn at a host that the plan
    limits is no fault of the judge."""
    limit = _LIMIT.get(None)
    due = limit.when() if limit is not None else None
    if limit is None or due is None:
        yield
        return
    clock = asyncio.get_running_loop().time
    began = clock()
    limit.reschedule(None)
    yield
    limit.reschedule(due + clock() - began)


def judge_asker(
    options: JudgeOptions, slots: Slots, limits: Limits, setup: SolutionSetup
) -> tuple[Solution, Callable[[str], Ask]]:
    """The way to a judge's endpoint: a chat solution, with retries, limits and the host limits of the plan applied; and
    what asks one of its models there ("": that of ``options``)."""
    from tui_eval.solutions.chat import ChatSolution, chat_options_for

    chat = ChatSolution(chat_options_for(options), setup)
    rules = RetryRules(options.max_retries, (), min_delay=1.0, max_delay=30.0, resend=True)

    async def ask(messages: list[dict[str, Any]], model: str) -> str:
        request = chat.request_for(messages)
        if model:
            named = {"model": model}
            request = replace(request, sent={**request.sent, **named}, shown={**request.shown, **named})
        host = chat.host(request) or ""
        retries = 0
        while True:
            try:
                async with AsyncExitStack() as held:
                    with _not_counted():
                        await held.enter_async_context(slots.place_at(host))
                    try:
                        answer = await chat.call(request, CallContext(limits, TraceContext.new()))
                    except SolutionError as error:
                        slots.close_host(host, asyncio.get_running_loop().time() + host_wait(error, rules))
                        raise
            except SolutionError as error:
                decision = decide(error, retries, rules, random.random)
                if not isinstance(decision, Again):
                    raise EvaluatorError(f"the judge gave no answer: {_of_a_judge(decision.message)}") from error
                retries += 1
                await asyncio.sleep(decision.delay)
            else:
                return str(answer.output)

    return chat, lambda model: partial(ask, model=model)


def _of_a_judge(message: str) -> str:
    """What a solution says of an agent, said of the judge that was called by it."""
    for of_agent, of_judge in (
        ("the agent says", "it says"),
        ("is the agent running?", "is it running?"),
        ("the agent points to", "it points to"),
    ):
        message = message.replace(of_agent, of_judge, 1)
    return message
