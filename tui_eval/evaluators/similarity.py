"""``similarity``: how alike two texts are, by rapidfuzz."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tui_eval.domain import Score
from tui_eval.errors import EvaluatorError, WorkerError
from tui_eval.evaluators.base import EvaluatorSetup, Subject
from tui_eval.evaluators.differences import text_form
from tui_eval.evaluators.expected import expected_value, score_name
from tui_eval.spec.evaluator_options import SimilarityOptions

QUICK_STEPS = 400_000_000
"""Size of a comparison (see :func:`_steps`) up to which it takes about 10 ms and is done in place; a larger one goes
to a worker process that can be killed, because it may take minutes and nothing could stop it."""


class Similarity:
    """Similarity of output and expected text, 0 to 1."""

    def __init__(self, options: SimilarityOptions, setup: EvaluatorSetup) -> None:
        self._options = options
        self._name = score_name(options)
        self._setup = setup

    async def evaluate(self, subject: Subject) -> Score:
        options = self._options
        found = text_form(subject.variables["output"])
        expected = text_form(expected_value(options.expected, subject))
        if options.ignore_case:
            found, expected = found.casefold(), expected.casefold()
        if found == expected or _steps(options.method, found, expected) <= QUICK_STEPS:
            value = similarity(options.method, found, expected)
        else:
            value = await self._in_worker(found, expected)
        passed = None if options.threshold is None else value >= options.threshold
        reason = f"{options.method} {value:.4g}"
        if options.threshold is not None:
            reason += f", threshold {options.threshold:g}"
        return Score(self._name, value, passed, reason)

    async def _in_worker(self, found: str, expected: str) -> float:
        sizes = f"{len(found):,} and {len(expected):,} characters"
        if self._setup.workers is None:
            raise EvaluatorError(f"the texts are too long to compare here ({sizes})")
        argument = {"method": self._options.method, "found": found, "expected": expected}
        try:
            value = await self._setup.workers.call(
                f"{__name__}:similarity_in_worker", argument, timeout=self._setup.timeout_seconds
            )
        except WorkerError as error:
            raise EvaluatorError(f"texts of {sizes} could not be compared: {error}") from error
        return float(value)


def similarity(method: str, found: str, expected: str) -> float:
    """0 (nothing in common) to 1; equal texts, two empty ones included, are 1 by every method."""
    if found == expected:
        return 1.0
    # Rounded, so that a share such as 0.7 is not missed by the last bit of a division.
    return round(_method(method)(found, expected), 12)


def similarity_in_worker(argument: dict[str, Any]) -> float:
    """:func:`similarity` for the worker process."""
    return similarity(argument["method"], argument["found"], argument["expected"])


def _method(name: str) -> Callable[[str, str], float]:
    from rapidfuzz import fuzz
    from rapidfuzz.distance import JaroWinkler, Levenshtein

    if name == "levenshtein":
        return Levenshtein.normalized_similarity
    if name == "jaro_winkler":
        return JaroWinkler.similarity
    scorer = getattr(fuzz, name)
    return lambda found, expected: float(scorer(found, expected)) / 100


def _steps(method: str, found: str, expected: str) -> int:
    """Measured with rapidfuzz 3: the product of the lengths; ``partial_ratio`` slides the shorter text along."""
    steps = len(found) * len(expected)
    return steps * min(len(found), len(expected)) if method == "partial_ratio" else steps
