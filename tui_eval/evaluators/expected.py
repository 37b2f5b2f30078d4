"""Where an evaluator's expected value comes from."""

from __future__ import annotations

from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.base import Subject
from tui_eval.spec.evaluator_options import NOT_GIVEN, EvaluatorOptions

VARIABLE = "expected_output"


def expected_value(given: Any, subject: Subject) -> JsonValue:
    """The ``expected`` of the plan, else the mapped ``expected_output`` of this case.

    A mapped null says that the case has no expected value (that is how missing cells arrive from JSON and Parquet);
    ``expected: null`` in the plan is a value like any other. Raises :class:`EvaluatorError` when there is none.
    """
    if given is not NOT_GIVEN:
        return given
    value = subject.variables.get(VARIABLE)
    if value is None:
        raise EvaluatorError(f"nothing to compare: case `{subject.case_id}` has no expected value (it is null)")
    return value


def score_name(options: EvaluatorOptions) -> str:
    """The name its scores carry: ``name``, else the kind."""
    return options.name or options.id
