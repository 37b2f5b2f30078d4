"""What a plain (unquoted) scalar means: the core of YAML 1.2, narrowed so that nothing typed is silently changed.

A number is a number only when its usual text form is exactly what was typed (``10``, ``-3``, ``0.5``). So ``012``,
``1:30``, ``1.10``, ``1e3``, ``1_000``, ``0x1F``, ``2031-04-05``, ``no`` and ``.inf`` are the texts they look like.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
TRUE = frozenset({"true", "True", "TRUE"})
FALSE = frozenset({"false", "False", "FALSE"})

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")
_LOOKS_LIKE_A_NUMBER = re.compile(
    r"[+-]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?|0[xob][0-9a-fA-F_]+"
)
_OLD_BOOLEANS = frozenset({"yes", "no", "on", "off", "y", "n"})
_LONGEST_NUMBER = 1000


def plain_value(typed: str) -> bool | int | float | str | None:
    """The value of a plain scalar."""
    if typed in NULLS:
        return None
    if typed in TRUE:
        return True
    if typed in FALSE:
        return False
    if len(typed) > _LONGEST_NUMBER:
        return typed
    if _INTEGER.fullmatch(typed):
        return typed if typed == "-0" else int(typed)
    if _DECIMAL.fullmatch(typed):
        number = float(typed)
        if math.isfinite(number) and usual_text(number) == typed:
            return number
    return typed


def usual_text(number: float) -> str:
    """The shortest decimal text that is read back as ``number``, without an exponent."""
    return format(Decimal(repr(number)), "f")


def surprise(typed: str) -> str | None:
    """What another reader might take a plain scalar for that is a text here; None when there is no doubt.

    The answer is an advice: ``write 1000``, ``write false``.
    """
    if typed.lower() in _OLD_BOOLEANS:
        return f"write {'true' if typed.lower() in ('yes', 'on', 'y') else 'false'} for the truth value"
    if len(typed) <= 40 and _LOOKS_LIKE_A_NUMBER.fullmatch(typed):
        digits = typed.replace("_", "")
        number = math.nan if digits[:2] in ("0x", "0o", "0b") else float(digits)
        if math.isfinite(number):
            return f"write {_shortest(number)} for the number"
        return "write it in decimal digits for a number"
    return None


def _shortest(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else usual_text(number)
