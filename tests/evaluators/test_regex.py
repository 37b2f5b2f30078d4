"""The ``regex`` evaluator: what it matches, and that no pattern holds anybody up."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.base import EvaluatorSetup, Subject
from tui_eval.evaluators.regex import Regex
from tui_eval.processes.workers import WorkerPool
from tui_eval.spec.evaluator_options import RegexOptions
from tui_eval.spec.expressions import pattern_fault


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[EvaluatorSetup]:
    pool = WorkerPool(size=1, folder=tmp_path, environment=dict(os.environ))
    yield EvaluatorSetup(folder=tmp_path, environment=os.environ, workers=pool)
    await pool.aclose()


async def verdict(setup: EvaluatorSetup, pattern: str, output: Any, **options: Any) -> bool | None:
    score = await Regex(RegexOptions(pattern=pattern, **options), setup).evaluate(Subject("c1", {"output": output}))
    assert score.value == float(bool(score.passed))
    return score.passed


@pytest.mark.parametrize(
    ("pattern", "output", "options", "expected"),
    [
        (r"\d+", "room 9691", {}, True),
        (r"\d+", "no number", {}, False),
        (r"\d+", "room 9691", {"match": "full"}, False),
        (r"room \d+", "room 9691", {"match": "full"}, True),
        ("blue", "BLUE", {}, False),
        ("blue", "BLUE", {"ignore_case": True}, True),
        ("^b$", "a\nb\nc", {}, False),
        ("^b$", "a\nb\nc", {"multiline": True}, True),
        ("a.c", "a\nc", {}, False),
        ("a.c", "a\nc", {"dotall": True}, True),
        ("plain", "a plain text", {}, True),
        ("plain", "a plain text", {"match": "full"}, False),
        ("plain", "plain", {"match": "full"}, True),
        ("", "", {}, True),
        (r'"a": 1', {"a": 1}, {}, True),
        (r"^null$", None, {}, True),
    ],
)
async def test_the_pattern_is_looked_for_in_the_text_form(
    setup: EvaluatorSetup, pattern: str, output: Any, options: dict[str, Any], expected: bool
) -> None:
    assert await verdict(setup, pattern, output, **options) is expected


async def test_the_reason_says_what_matched_and_where(setup: EvaluatorSetup) -> None:
    score = await Regex(RegexOptions(pattern=r"\d+", name="room"), setup).evaluate(
        Subject("c", {"output": "room 9691"})
    )
    assert score.evaluator == "room"
    assert "9691" in score.reason
    assert "character 6" in score.reason


async def test_a_pattern_that_never_ends_is_stopped_and_the_next_answer_is_judged(
    cases: Path, setup: EvaluatorSetup
) -> None:
    hostile = (cases / "38-regex-backtracking/output.txt").read_text()
    await verdict(setup, r"\d", "warm")
    begun = time.monotonic()
    with pytest.raises(EvaluatorError, match=r"evaluator timed out \(0\.3 s\)"):
        await verdict(setup, r"^(\w+\s?)*$", hostile, timeout_seconds=0.3)
    assert time.monotonic() - begun < 1.5
    assert await verdict(setup, r"^(\w+\s?)*$", "fine") is True


async def test_without_workers_only_plain_texts_are_looked_for(tmp_path: Path) -> None:
    setup = EvaluatorSetup(folder=tmp_path, environment={})
    assert await verdict(setup, "plain", "a plain text") is True
    with pytest.raises(EvaluatorError, match="worker"):
        await verdict(setup, "a|b", "a")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(unclosed", "at character 1"),
        ("ab[", "at character 3"),
        ("a**", "at character 3: multiple repeat"),
        (r"(?P<n>a)(?P<n>b)", "redefinition"),
        ("a\n(b", "at character 3"),
        ("a{99999999999999999999}", "not a regular expression"),
    ],
)
def test_a_bad_pattern_is_told_with_its_position_before_a_run(pattern: str, words: str) -> None:
    assert words in (pattern_fault(pattern) or "")


def test_a_good_pattern_has_no_fault() -> None:
    assert pattern_fault(r"^(\w+\s?)*$") is None
