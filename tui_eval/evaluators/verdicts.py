"""Reading a judge model's reply: exactly one JSON object with a ``score``, or no verdict at all.

Nothing is guessed: a number in prose, a score on another scale, a cut reply or a second verdict is an
:class:`~tui_eval.errors.EvaluatorError` that says which, and the answer stays unscored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tui_eval.domain import JsonValue
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.differences import shown, text_form

KEY = "score"
LONGEST_WORD = 200
"""Characters of a further text in a verdict that is kept by its key; a longer one is in the reply."""

# Where an object may begin. Braces of prose, LaTeX and templates ({braces}, {{name}}) are passed over.
_START = re.compile(r"\{(?=\s*(?:[\"'}/]|score\s*:))")
_MENTIONS_SCORE = re.compile(r"[\"']?\bscore\b[\"']?\s*:")
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_COMMENT = r"//[^\n]*+|/\*.*?\*/"
_TOKEN = re.compile(rf'{_STRING}|[{{}}"]', re.DOTALL)
_TOKEN_OR_COMMENT = re.compile(rf'{_STRING}|{_COMMENT}|/\*|[{{}}"]', re.DOTALL)
_STRING_OR_COMMENT = re.compile(rf"({_STRING})|{_COMMENT}", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS = {"yes": True, "no": False, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge said: ``value`` in the declared range (1.0 or 0.0 for yes or no), its reason, and what a reader
    should know about how it was read. ``words`` are other short texts of its object, by their keys."""

    value: float
    reason: str = ""
    notes: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(slots=True)
class _Found:
    """One ``{…}`` of the reply: its values by key (in order, keys may repeat), or why it is no JSON object."""

    pairs: list[tuple[str, JsonValue]] | None
    fault: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_verdict(self) -> bool:
        return self.pairs is None or any(key == KEY for key, _ in self.pairs)


class _Literal(float):
    """NaN, Infinity or -Infinity: what Python's reader takes and JSON does not."""


class _LongInteger(float):
    """An integer with more digits than Python reads; as a float it is infinite, so it is outside every range."""


def read_verdict(
    reply: str,
    *,
    answer_type: Literal["score", "yes_no"],
    low: float,
    high: float,
    which: Literal["only", "last"],
    repair: bool,
) -> Verdict:
    """The verdict in ``reply``.

    Objects inside the verdict, and objects without a top-level ``score``, are no verdicts. With ``which="last"`` the
    last of several is taken. ``repair`` allows comments in its JSON. Raises :class:`EvaluatorError`.
    """
    verdicts = [found for found in _objects(reply, repair) if found.is_verdict]
    if not verdicts:
        raise EvaluatorError(f"no verdict: {_why_none(reply)}")
    if len(verdicts) > 1 and which == "only":
        raise EvaluatorError(f"more than one verdict: the reply has {len(verdicts)} objects with a `{KEY}`")
    chosen = verdicts[-1]
    if chosen.pairs is None:
        raise EvaluatorError(f"no verdict: {chosen.fault}")
    scores = [value for key, value in chosen.pairs if key == KEY]
    if len(scores) > 1:
        raise EvaluatorError(f"more than one verdict: `{KEY}` is there {len(scores)} times in one object")
    value, notes = _yes_no(scores[0]) if answer_type == "yes_no" else _score(scores[0], low, high)
    reason = dict(chosen.pairs).get("reason", "")
    words = {
        _safe_text(key): _safe_text(word)
        for key, word in chosen.pairs
        if key not in (KEY, "reason") and isinstance(word, str) and len(word) <= LONGEST_WORD
    }
    return Verdict(value, "" if reason is None else _safe_text(reason), (*chosen.notes, *notes), words)


def _score(value: JsonValue, low: float, high: float) -> tuple[float, tuple[str, ...]]:
    notes: tuple[str, ...] = ()
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        notes = ("number given as text",)
        value = float(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or isinstance(value, _Literal):
        raise EvaluatorError(f"score is not a number: {_spelled(value)}")
    if not low <= value <= high:
        raise EvaluatorError(f"score outside {low:g} to {high:g}: {_spelled(value)}")
    return float(value), notes


def _yes_no(value: JsonValue) -> tuple[float, tuple[str, ...]]:
    if isinstance(value, bool):
        return float(value), ()
    if isinstance(value, str) and value.strip().casefold() in _WORDS:
        return float(_WORDS[value.strip().casefold()]), ("answer given as text",)
    raise EvaluatorError(f"score is not yes or no: {_spelled(value)}")


def _spelled(value: JsonValue) -> str:
    if isinstance(value, _Literal):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(float(value), "NaN")
    if isinstance(value, float):
        if math.isinf(value):
            return "beyond any range"
        short = f"{value:g}"
        return short if float(short) == value else repr(value)  # 1.0000000001 must not be told as 1
    return shown(value)


def _safe_text(value: JsonValue) -> str:
    """The text form, with half surrogate pairs (which no file can hold) as escapes."""
    return text_form(value).encode("utf-8", "backslashreplace").decode("utf-8")


def _why_none(reply: str) -> str:
    if not reply.strip():
        return "the reply is empty"
    if _START.search(reply):
        return f"no JSON object of the reply has a `{KEY}` at its top level"
    return "the reply holds no JSON object"


def _objects(reply: str, repair: bool) -> Iterator[_Found]:
    """The outermost ``{…}`` of the reply that are JSON objects or look like a verdict. Takes time linear in its size."""
    position = 0
    while start := _START.search(reply, position):
        end = _closing(reply, start.start(), repair)
        if end is None:
            # Everything behind an open object is inside it: an inner object must not pass for the verdict.
            if _MENTIONS_SCORE.search(reply, start.start()):
                yield _Found(None, "the reply ends inside its JSON object (cut, or a quote or brace is missing)")
            return
        text = reply[start.start() : end]
        found = _parsed(text, repair)
        if found.pairs is not None or _MENTIONS_SCORE.search(text):
            yield found
        position = end


def _closing(reply: str, start: int, repair: bool) -> int | None:
    """Where the object that begins at ``start`` ends; None when it does not, or one of its texts does not."""
    depth = 0
    for token in (_TOKEN_OR_COMMENT if repair else _TOKEN).finditer(reply, start):
        if token[0] in ('"', "/*"):
            return None
        if token[0] == "{":
            depth += 1
        elif token[0] == "}":
            depth -= 1
            if not depth:
                return token.end()
    return None


def _parsed(text: str, repair: bool) -> _Found:
    """Strict JSON first, so that no kindness can damage a valid reply; then with line breaks inside texts; then, when
    allowed, without comments."""
    try:
        return _Found(_pairs(text, strict=True))
    except ValueError as error:
        fault = str(error)
    try:
        return _Found(_pairs(text, strict=False), notes=("line break or other control character inside a text",))
    except ValueError:
        pass  # the first fault is the one to tell
    if repair:
        bare = _STRING_OR_COMMENT.sub(lambda match: match[1] or " ", text)
        try:
            return _Found(_pairs(bare, strict=False), notes=("comments in the JSON were left out",))
        except ValueError:
            pass  # the first fault is the one to tell
    elif "//" in text or "/*" in text:
        fault += "; `repair: true` accepts comments"
    return _Found(None, f"its object is not valid JSON: {fault}")


def _pairs(text: str, *, strict: bool) -> list[tuple[str, JsonValue]]:
    """The pairs of the outermost object. Raises :class:`ValueError` with a short reason."""
    try:
        # The hook is called for inner objects first and for the outermost one last; only that one is asked for pairs.
        outermost = _Outermost()
        json.loads(
            text,
            strict=strict,
            object_pairs_hook=outermost,
            parse_constant=_constant,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg}, line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return outermost.pairs


class _Outermost:
    """A hook for :func:`json.loads` that remembers the pairs of the object that was read last."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, JsonValue]] = []

    def __call__(self, pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        self.pairs = pairs
        return dict(pairs)


def _constant(name: str) -> float:
    return _Literal(name.replace("Infinity", "inf"))


def _integer(text: str) -> float | int:
    try:
        return int(text)
    except ValueError:
        return _LongInteger("-inf" if text.startswith("-") else "inf")
