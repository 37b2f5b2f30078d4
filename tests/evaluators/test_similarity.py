"""``similarity``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluators.asking import evaluator, judged, setup
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.base import Subject
from tui_eval.evaluators.similarity import similarity
from tui_eval.processes.workers import WorkerPool

METHODS = ["ratio", "partial_ratio", "token_sort_ratio", "token_set_ratio", "levenshtein", "jaro_winkler"]


@pytest.mark.parametrize("method", METHODS)
def test_equal_texts_are_1_and_strangers_fail(method: str) -> None:
    assert judged("similarity", "", "", method=method).value == 1
    assert judged("similarity", "the cat", "the cat", method=method).value == 1
    assert judged("similarity", "the cat", "zq", method=method).passed is False
    assert judged("similarity", "", "zq", method=method).value == 0


@given(st.sampled_from(METHODS), st.text(), st.text())
def test_a_similarity_is_between_0_and_1(method: str, one: str, other: str) -> None:
    assert 0 <= similarity(method, one, other) <= 1


def test_it_passes_from_the_threshold_on() -> None:
    assert judged("similarity", "abcd", "abcx", method="levenshtein", threshold=0.75).passed is True
    assert judged("similarity", "abcd", "abcx", method="levenshtein", threshold=0.76).passed is False
    score = judged("similarity", "ABC", "abc", ignore_case=True)
    assert (score.value, score.passed) == (1, True)


def test_without_a_threshold_it_only_informs() -> None:
    score = judged("similarity", "abcd", "abcx", method="levenshtein", threshold=None)
    assert (score.value, score.passed, score.error) == (0.75, None, "")


async def test_very_long_texts_are_compared_where_they_can_be_stopped() -> None:
    subject = Subject("case-1", {"output": "ab" * 4_000, "expected_output": "ba" * 3_000})
    options = {"variable_mapping": {"expected_output": "dataset.e"}, "method": "partial_ratio"}
    with pytest.raises(EvaluatorError, match="too long"):
        await evaluator("similarity", **options).evaluate(subject)
    pool = WorkerPool(size=1, folder=Path.cwd(), environment=os.environ)
    try:
        patient = evaluator("similarity", with_setup=setup(workers=pool, timeout=30), **options)
        assert (await patient.evaluate(subject)).value > 0.9
        hasty = evaluator("similarity", with_setup=setup(workers=pool, timeout=0.05), **options)
        slow = Subject(
            "case-1",
            {"output": "".join(map(str, range(20_000))), "expected_output": "".join(map(str, range(9_000, 0, -1)))},
        )
        with pytest.raises(EvaluatorError, match="could not be compared"):
            await hasty.evaluate(slow)
    finally:
        await pool.aclose()
