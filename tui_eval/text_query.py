"""What one types to look for text: words that must all be there, ``!`` before those that must not, "quotes", patterns.

Each word is looked for as it stands, in upper or lower case, and also as a regular expression where it is one that is
quick for every text (:func:`repeats_of`): who types ``data.json`` or ``2 + 2`` need not know about regular expressions, who
types ``HTTP 5\\d\\d`` gets what it means.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

_WORD = re.compile(r'(!*+)(?:([a-z]+:)?"([^"]*)"?|(\S+))')
_SPECIAL = re.compile(r"[.*+?()\[\]|^$\\{]")
_BACK = re.compile(r"\\[1-9]")
_REPEAT = re.compile(r"[*+?]|\{\d*,\d*\}")  # {3} is none: it has only one way to match
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?:|\(\?|\{\d*,?\d*\}|.", re.DOTALL)
_PIECES = (1000, 1000, 200)
"""Characters of a long line that an expression with no, one and two repeats sees at once: its time grows with the
square or the third power of them."""
_MOST_OPTIONAL = 8


@dataclass(frozen=True, slots=True)
class Word:
    """One word as typed: ``!`` before it makes it ``excluded``, quotes keep blanks and what would mean a field.
    ``field`` is the name before a colon when it is one of those that mean something, else "" (and in the text)."""

    text: str
    excluded: bool = False
    quoted: bool = False
    field: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """A word to look for. ``folded`` is it without case; ``pattern`` is it as a regular expression, if it is one, which
    sees ``piece`` characters of a line at once."""

    folded: str
    excluded: bool = False
    pattern: re.Pattern[str] | None = None
    piece: int = _PIECES[0]

    def found_in(self, text: str, folded: str) -> bool:
        """Whether it is in ``text``, which is ``folded`` without case."""
        if self.folded in folded:
            return True
        return self.pattern is not None and any(self.pattern.search(each) for each in _pieces(text, self.piece))


@dataclass(frozen=True, slots=True)
class TextQuery:
    """Terms that must all hold. Without any, every text matches."""

    terms: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)

    def matches(self, text: str) -> bool:
        """Whether a text has every term, and none of the excluded ones."""
        folded = text.casefold()
        return all(term.found_in(text, folded) is not term.excluded for term in self.terms)

    def decides(self, beginning: str) -> bool | None:
        """What is certain about a text of which this is a part only; None when the rest decides."""
        folded = beginning.casefold()
        certain: bool | None = True
        for term in self.terms:
            found = term.found_in(beginning, folded)
            if found and term.excluded:
                return False
            if not found:
                certain = None
        return certain


def words(text: str, fields: Collection[str] = ()) -> list[Word]:
    """The words of what was typed; a lone ``!`` and an empty ``""`` are being typed still, and are none."""
    found = []
    for mark, prefix, quoted, plain in _WORD.findall(text):
        excluded = len(mark) % 2 == 1
        field, colon, value = (plain if plain else prefix + quoted).partition(":")
        if colon and field in fields and (plain or prefix):
            found.append(Word(value, excluded, not plain, field))
        elif plain or quoted:
            found.append(Word(plain or prefix + quoted, excluded, not plain))
    return found


def query(wanted: Iterable[Word]) -> TextQuery:
    """The query of some words."""
    return TextQuery(tuple(_term(word) for word in wanted))


def parse(text: str) -> TextQuery:
    """The query of what was typed, when none of its words is a field."""
    return query(words(text))


def _term(word: Word) -> Term:
    literal = Term(word.text.casefold(), word.excluded)
    repeats = None if word.quoted or not _SPECIAL.search(word.text) else repeats_of(word.text)
    if repeats is None:
        return literal
    try:
        with warnings.catch_warnings(action="ignore"):  # what a later Python may understand differently
            pattern = re.compile(word.text, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError):
        return literal
    return replace(literal, pattern=pattern, piece=_PIECES[repeats])


def repeats_of(pattern: str) -> int | None:
    """How many repeats a regular expression has, 2 at most; None for one that may take time without bounds: a repeat of
    what itself repeats or has alternatives, a back reference, a look around, many parts that may be missing."""
    repeats = optional = 0
    loose = [False]  # for each open group: whether it holds a repeat or an alternative
    closed = False  # whether a group that did ended just now
    for token in _TOKEN.findall(pattern):
        if token == "(?" or _BACK.fullmatch(token):
            return None
        if token in ("(", "(?:"):
            loose.append(False)
        elif token == ")":
            closed = loose.pop() if len(loose) > 1 else False
            loose[-1] = loose[-1] or closed
            continue
        elif closed and (token in "*+?" or token[0] == "{"):
            return None
        elif _REPEAT.fullmatch(token):
            repeats, optional = repeats + (token != "?"), optional + (token == "?")
            loose[-1] = True
        elif token == "|":
            loose[-1] = True
        closed = False
    return repeats if repeats < len(_PIECES) and optional <= _MOST_OPTIONAL else None


def _pieces(text: str, size: int) -> Iterator[str]:
    """The lines of a text; long ones in pieces that overlap by half."""
    for line in text.split("\n"):
        if len(line) <= size:
            yield line
        else:
            for start in range(0, len(line) - size // 2, size // 2):
                yield line[start : start + size]
