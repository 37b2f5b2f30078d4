"""What becomes of an evaluator that breaks, and of a judge that does not answer."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.solutions.http_calls import SETUP
from tests.support.player import answer, play
from tui_eval.domain import Answer, Case, Score
from tui_eval.engine.judging import PreparedEvaluator, judge_answer, judge_asker
from tui_eval.engine.slots import Slots
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.base import Subject
from tui_eval.solutions.base import Limits
from tui_eval.spec.evaluator_options import JudgeOptions


class BreaksInAGroup:
    async def evaluate(self, subject: Subject) -> Score:
        async def divide() -> float:
            return 1 / 0

        async with asyncio.TaskGroup() as group:
            group.create_task(divide())
        raise AssertionError


async def test_what_broke_inside_a_task_group_is_named_itself() -> None:
    broken = PreparedEvaluator("own", BreaksInAGroup(), {}, negate=False, timeout=5.0, instant=True)
    (score,) = await judge_answer([broken], Case("c", {}), Answer(output="x"), None)
    assert score.error == "evaluator broke: ZeroDivisionError: division by zero"


async def asked(base_url: str) -> str:
    options = JudgeOptions(id="judge", rubric="good?", base_url=base_url, model="m", max_retries=0)
    chat, ask = judge_asker(options, Slots(1), Limits(total=5.0), SETUP)
    try:
        return await ask("")([{"role": "user", "content": "x"}])
    finally:
        await chat.aclose()


async def test_a_judge_without_an_answer_is_not_called_the_agent() -> None:
    with pytest.raises(
        EvaluatorError, match=r"^the judge gave no answer: connection refused by .* \(is it running\?\)"
    ):
        await asked("http://127.0.0.1:1")
    reply = json.dumps({"error": {"message": "the agent says no"}})
    async with play({"paths": {"/chat/completions": answer(reply)}}) as server:
        with pytest.raises(EvaluatorError, match=r"^the judge gave no answer: it says: the agent says no$"):
            await asked(server.base_url)
