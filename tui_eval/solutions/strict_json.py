"""JSON from outside, read strictly (RFC 8259) and safely, with errors in words.

``json.loads`` takes NaN, Infinity and 1e999 (which nothing after us could store), raises RecursionError for deep nesting,
and gives half surrogates that cannot be written as UTF-8. Positions count characters from 0.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn

from tui_eval.domain import JsonValue


class InvalidJson(ValueError):
    """The text is not one JSON value. The message says what is wrong and at which character."""


_WORDS = {
    "Unterminated string starting at": "text not closed",
    "Extra data": "extra data after the first value",
    "Expecting value": "a value was expected",
    "Expecting ',' delimiter": "a comma or a closing bracket was expected",
    "Expecting ':' delimiter": "a colon was expected",
    "Expecting property name enclosed in double quotes": "a key in double quotes was expected",
    "Illegal trailing comma before end of object": "a comma before the closing bracket",
    "Illegal trailing comma before end of array": "a comma before the closing bracket",
    "Invalid control character at": "a control character inside a text",
    "Invalid control character": "a control character inside a text",
    "Invalid \\escape": "an unknown escape in a text",
    "Invalid \\uXXXX escape": "a broken \\u escape in a text",
}
DEEPEST = 256
"""Most levels of nesting. Deeper JSON can be parsed, but writing it again may break the one who tries."""

_SHOWN_KEYS = 3
_SHOWN_KEY = 60
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _no_constant(name: str) -> NoReturn:
    raise InvalidJson(f"invalid JSON, {name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidJson("invalid JSON, a number is too large")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)


class RepeatedKeys:
    """Collects the keys that an object has more than once, over any number of texts of one answer. RFC 8259 (section 4)
    leaves open which value counts; here it is the last, as in most readers."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def decode(self, text: str) -> Any:
        """The value of ``text`` as Python's reader gives it."""
        reader = _readers.pop() if _readers else _Reader()
        reader.repeated = self._names
        try:
            return reader.decoder.decode(text)
        finally:
            _readers.append(reader)

    def notes(self) -> list[str]:
        """What a reader should know of it."""
        if not self._names:
            return []
        shown = ", ".join(f"`{mend(name[:_SHOWN_KEY])}`" for name in list(self._names)[:_SHOWN_KEYS])
        more = f" and {len(self._names) - _SHOWN_KEYS} more" if len(self._names) > _SHOWN_KEYS else ""
        return [f"an object of the answer has a key more than once ({shown}{more}): its last value counts"]


class _Reader:
    """A decoder that notes what is ``repeated``. Kept from text to text: making one costs more than a short text."""

    def __init__(self) -> None:
        self.repeated: dict[str, None] = {}
        self.decoder = json.JSONDecoder(
            parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=self._object
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            self.repeated.update(dict.fromkeys(name for name, count in counts.items() if count > 1))
        return built


_readers: list[_Reader] = []
"""Those not at work: as many as threads have read at once (taking one and giving it back cannot be interrupted)."""


def parse_json(text: str, *, keep_halves: bool = False, repeated: RepeatedKeys | None = None) -> JsonValue:
    """The one JSON value in ``text`` (a BOM before it is allowed). Raises :class:`InvalidJson`. Keys that are there more
    than once are told to ``repeated``.

    Half a surrogate pair becomes U+FFFD, unless ``keep_halves``: for the pieces of a stream, whose next piece may begin
    with the other half (:func:`mend` what they make together).
    """
    try:
        decode = _DECODER.decode if repeated is None else repeated.decode
        value = decode(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise InvalidJson(_in_words(error)) from error
    except InvalidJson:
        raise
    except RecursionError as error:
        raise InvalidJson("invalid JSON, nested too deeply") from error
    except ValueError as error:  # Python's limit on the digits of an integer
        raise InvalidJson("invalid JSON, a number has too many digits") from error
    if text.count("[") + text.count("{") > DEEPEST and _is_deeper(value, DEEPEST):
        raise InvalidJson(f"invalid JSON, nested too deeply (more than {DEEPEST} levels)")
    return value if keep_halves or not _SURROGATE_ESCAPE.search(text) else mend_value(value)


def _is_deeper(value: Any, levels: int) -> bool:
    """True when lists and objects in ``value`` lie within each other at more than ``levels`` levels."""
    row = [value]
    for _ in range(levels + 1):
        below: list[Any] = []
        for item in row:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        row = [item for item in below if isinstance(item, dict | list)]
        if not row:
            return False
    return True


def _in_words(error: json.JSONDecodeError) -> str:
    what = _WORDS.get(error.msg.partition(": ")[0], error.msg)
    if error.pos >= len(error.doc.rstrip()) and error.msg == "Expecting value":
        what = "it ends where a value was expected,"
    return f"invalid JSON, {what} at character {error.pos}"


def mend(text: str) -> str:
    """``text`` as it can be written in UTF-8: surrogate halves joined, lone ones as U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def mend_value(value: Any) -> Any:
    """:func:`mend` for all texts in a JSON value."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, list):
        return [mend_value(item) for item in value]
    if isinstance(value, dict):
        return {mend(key): mend_value(item) for key, item in value.items()}
    return value
