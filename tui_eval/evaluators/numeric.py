"""``numeric``: the output is a number near enough to the expected one.

Numbers are compared exactly, as decimals: a JSON number by its shortest decimal form, an integer of any size as it
is. How a text is read as a number is written at :class:`~tui_eval.spec.evaluator_options.NumericOptions`.
"""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal

from tui_eval.domain import JsonValue, Score
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.base import EvaluatorSetup, Subject
from tui_eval.evaluators.differences import shown
from tui_eval.evaluators.expected import expected_value, score_name
from tui_eval.spec.evaluator_options import NumericOptions

MOST_DIGITS = 10_000
"""Digits, and size of the decimal exponent, up to which a number is read."""

_MINUS = "\u2212"
_PLAIN = re.compile(r"[+\-\u2212]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?")
_EXACT = Context(prec=8 * MOST_DIGITS)

# In running text: a word (which may hold digits: GPT-4, v1.2, x_5), or a number with all that is joined to it without
# a space, so that 1/2, 12:30, 2026-01-02, 3-4 and 1.2.3 are seen as one thing that is not a plain number.
_IN_TEXT = re.compile(
    r"(?P<word>[^\W\d_]\w*(?:[-.'’]\w+)*)"
    r"|(?P<sign>[+\-\u2010-\u2015\u2212])?"
    r"(?P<number>(?:(?<![0-9])\.)?[0-9]+(?:[eE][+\-]?[0-9]+|[.,:/'’_*^×÷+\-\u2010-\u2015\u2212\u00a0\u2009\u202f][0-9]+)*)"
    r"(?P<unit>[^\W_]*)"
)
_MAGNITUDES = frozenset({"k", "K", "M", "B", "T", "bn", "mn", "G"})


class Numeric:
    """The output is within tolerance of the expected number."""

    def __init__(self, options: NumericOptions, setup: EvaluatorSetup) -> None:
        self._options = options
        self._name = score_name(options)
        self._absolute = Decimal(repr(options.absolute))
        self._relative = Decimal(repr(options.relative))

    async def evaluate(self, subject: Subject) -> Score:
        options = self._options
        given = expected_value(options.expected, subject)
        try:
            expected = number_in(given, "whole", options.thousands)
        except ValueError as error:
            raise EvaluatorError(f"nothing to compare: the expected value is no usable number: {error}") from None
        try:
            found = number_in(subject.variables["output"], options.find, options.thousands)
        except ValueError as error:
            return Score(self._name, 0.0, False, f"the output is no usable number: {error}")
        difference = _EXACT.abs(_EXACT.subtract(found, expected))
        allowed = max(self._absolute, _EXACT.multiply(self._relative, _EXACT.abs(expected)))
        passed = difference <= allowed
        reason = f"{_brief(found)}, expected {_brief(expected)}"
        if difference:
            reason += f" (difference {_brief(difference)}, allowed {_brief(allowed)})"
        return Score(self._name, float(passed), passed, reason)


def number_in(value: JsonValue, find: str, thousands: str | None = None) -> Decimal:
    """The number that ``value`` is (``find="whole"``) or the first or last one in a text, exactly.

    Raises :class:`ValueError` with the reason when there is none, or none that can be read in only one way.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{shown(value)} is no number")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is no finite number")
        return Decimal(repr(value))
    if isinstance(value, int):
        return _bounded(Decimal(value), str(value.bit_length()) + " bits")
    if find == "whole":
        return _plain(value.strip(), thousands)
    return _in_text(value, find, thousands)


def _plain(text: str, thousands: str | None) -> Decimal:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"{shown(text)} is too long for a number")
    grouped = thousands and re.fullmatch(
        rf"[+\-\u2212]?[0-9]{{1,3}}(?:{re.escape(thousands)}[0-9]{{3}})+(?:\.[0-9]+)?", text
    )
    plain = text.replace(str(thousands), "") if grouped else text
    if not _PLAIN.fullmatch(plain):
        if not text:
            raise ValueError("the text is empty")
        groups = "; digit groups need `thousands`" if re.search(r"[0-9][,'_][0-9]{3}", text) and not thousands else ""
        raise ValueError(f"{shown(text)} is no plain number{groups}")
    return _bounded(Decimal(plain.replace(_MINUS, "-")), text)


def _in_text(text: str, find: str, thousands: str | None) -> Decimal:
    chosen: re.Match[str] | None = None
    for match in _IN_TEXT.finditer(text):
        if match["number"] is not None:
            chosen = match
            if find == "first":
                break
    if chosen is None:
        raise ValueError(f"there is no number in {shown(text)}")
    sign, number, unit = chosen["sign"] or "", chosen["number"], chosen["unit"]
    joined = text[chosen.start() - 1 : chosen.start()] if chosen.start() else ""
    if sign and (joined.isalnum() or joined in (")", "]")):
        raise ValueError(f"{shown(joined + chosen[0])} may be a calculation or a range")
    if unit in _MAGNITUDES or any(character.isdigit() for character in unit) or sign not in ("", "+", "-", _MINUS):
        raise ValueError(f"{shown(chosen[0])} is no plain number")
    return _plain(sign + number, thousands)


def _bounded(number: Decimal, text: str) -> Decimal:
    digits = len(number.as_tuple().digits)
    if number and (digits > MOST_DIGITS or abs(number.adjusted()) > MOST_DIGITS):
        raise ValueError(f"{shown(text)} is beyond {MOST_DIGITS} digits")
    return number if number else Decimal(0)


def _brief(number: Decimal) -> str:
    """At most 15 significant digits, exact when that is enough."""
    return f"{number:.15g}" if number else "0"
