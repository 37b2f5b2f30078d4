"""What is wrong with an evaluator's options that can be said before anything runs."""

from __future__ import annotations

from pydantic import BaseModel

from tui_eval.domain import as_text
from tui_eval.spec.evaluator_options import NOT_GIVEN, ContainsOptions, JsonOptions, NumericOptions, RegexOptions


def check_options(options: BaseModel) -> list[str]:
    """The faults of ``options`` beyond what its model checks; empty for kinds that have none. Executes nothing."""
    if isinstance(options, JsonOptions):
        from tui_eval.evaluators.structure import check_json_options

        return check_json_options(options)
    if isinstance(options, ContainsOptions) and options.expected is not NOT_GIVEN:
        wanted = options.expected if isinstance(options.expected, list) else [options.expected]
        if not wanted or not all(as_text(item) for item in wanted):
            return ["expected: an empty text or list is in every output; give the text to look for"]
    if isinstance(options, RegexOptions) and not options.pattern and options.match == "search":
        return [
            "pattern: an empty pattern is found in every output; give what to look for (or `^$` for an empty output)"
        ]
    if isinstance(options, NumericOptions) and options.expected is not NOT_GIVEN:
        from tui_eval.evaluators.numeric import number_in

        try:
            number_in(options.expected, "whole", options.thousands)
        except ValueError as error:
            return [f"expected: {error}"]
    return []
