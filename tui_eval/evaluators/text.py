"""``exact`` and ``contains``. What they compare is written at their options, :mod:`tui_eval.spec.evaluator_options`."""

from __future__ import annotations

from tui_eval.domain import JsonValue, Score
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.base import EvaluatorSetup, Subject
from tui_eval.evaluators.differences import first_difference, shown, text_form
from tui_eval.evaluators.expected import expected_value, score_name
from tui_eval.spec.evaluator_options import ContainsOptions, ExactOptions


class Exact:
    """Output and expected value are the same."""

    def __init__(self, options: ExactOptions, setup: EvaluatorSetup) -> None:
        self._options = options
        self._name = score_name(options)

    async def evaluate(self, subject: Subject) -> Score:
        expected = expected_value(self._options.expected, subject)
        found = subject.variables["output"]
        if self._options.as_text:
            found, expected = text_form(found), text_form(expected)
        difference = first_difference(found, expected, self._normal)
        if difference is None:
            return Score(self._name, 1.0, True, "equal")
        return Score(self._name, 0.0, False, difference)

    def _normal(self, text: str) -> str:
        if self._options.strip:
            text = text.strip()
        return text.casefold() if self._options.ignore_case else text


class Contains:
    """Expected texts occur in the output."""

    def __init__(self, options: ContainsOptions, setup: EvaluatorSetup) -> None:
        self._options = options
        self._name = score_name(options)

    async def evaluate(self, subject: Subject) -> Score:
        wanted = self._wanted(expected_value(self._options.expected, subject), subject.case_id)
        output = text_form(subject.variables["output"])
        text = self._folded(output)
        missing = [item for item in wanted if self._folded(item) not in text]
        if self._options.mode == "any":
            passed = len(missing) < len(wanted)
            listed = "none of " + ", ".join(shown(item) for item in wanted[:3]) + (" …" if len(wanted) > 3 else "")
            reason = "contains one" if passed else f"{listed} is in {shown(output)}"
        else:
            passed = not missing
            reason = "contains it" if len(wanted) == 1 else f"contains all {len(wanted)}"
            if missing:
                more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
                hint = "" if missing[0].casefold() not in text.casefold() else "; it is there in another case"
                reason = f"{shown(missing[0])}{more} is not in {shown(output)}{hint}"
        return Score(self._name, float(passed), passed, reason)

    def _wanted(self, expected: JsonValue, case_id: str) -> list[str]:
        wanted = [text_form(item) for item in (expected if isinstance(expected, list) else [expected])]
        if not wanted or not all(self._folded(item) for item in wanted):
            # An empty text is in every output and an empty list asks for nothing: a pass would mean nothing.
            what = "the list of expected texts is empty" if not wanted else "an expected text is empty"
            raise EvaluatorError(f"nothing to compare: {what} (case `{case_id}`)")
        return wanted

    def _folded(self, text: str) -> str:
        return text.casefold() if self._options.ignore_case else text
