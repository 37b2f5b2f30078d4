"""What becomes of an evaluator that breaks."""

from __future__ import annotations

import asyncio

from tui_eval.domain import Answer, Case, Score
from tui_eval.engine.judging import PreparedEvaluator, judge_answer
from tui_eval.evaluators.base import Subject


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
