"""Two texts word by word: what stayed, what went, what came. Bounded in time whatever the texts are.

The comparison is that of Myers, "An O(ND) Difference Algorithm" (1986), over words with the white space behind them;
each Han, Kana or Hangul character is a word. Texts that differ in too much are compared by lines first, and what is
still too different stands as one removal and one addition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

_WIDE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"(?:[{_WIDE}]|(?:(?![{_WIDE}])\w)+|[^\w\s])\s*|\s+")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
MOST_WORDS = 50_000
MOST_LINES = 200_000
"""Words and lines of one text that are compared one by one."""
LONGEST_WORD = 200
"""Characters that are looked back over for the beginning of a word."""
MOST_CHANGES = 700
"""Removed and added words that are looked for in one comparison; the work grows with their square."""


class Kind(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text. ``same`` and ``removed`` joined are the text before, ``same`` and ``added`` that after."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class TextDiff:
    """``coarse``: too much was different to be compared word by word everywhere."""

    pieces: tuple[Piece, ...]
    coarse: bool = False

    @property
    def same(self) -> bool:
        return all(piece.kind is Kind.SAME for piece in self.pieces)


def word_diff(before: str, after: str) -> TextDiff:
    """Compare two texts; of 5 MB each it takes well under a second."""
    if before == after:
        return TextDiff((Piece(Kind.SAME, before),) if before else ())
    start = _common_start(before, after)
    end = _common_end(before[start:], after[start:])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    changes = _by_words(old, new)
    coarse = changes is None
    if changes is None:
        changes = _by_lines(old, new)
    tail = [Piece(Kind.SAME, before[len(before) - end :])] if end else []
    return TextDiff(tuple(_merged([Piece(Kind.SAME, before[:start]), *changes, *tail])), coarse)


def _by_words(old: str, new: str) -> list[Piece] | None:
    """Word by word, None when that would take too long."""
    words, new_words = _split(_WORD, old, MOST_WORDS), _split(_WORD, new, MOST_WORDS)
    return None if words is None or new_words is None else _pieces(words, new_words)


def _by_lines(old: str, new: str) -> list[Piece]:
    """Line by line, and word by word where few lines were replaced; as a whole when even that is too much."""
    whole = [Piece(Kind.REMOVED, old), Piece(Kind.ADDED, new)]
    lines, new_lines = _split(_LINE, old, MOST_LINES), _split(_LINE, new, MOST_LINES)
    pieces = None if lines is None or new_lines is None else _pieces(lines, new_lines)
    if pieces is None:
        return whole
    refined: list[Piece] = []
    budget = 20  # comparisons that may turn out to be too long
    for piece in _merged(pieces):
        previous = refined[-1] if refined else None
        if piece.kind is Kind.ADDED and previous is not None and previous.kind is Kind.REMOVED and budget:
            words = _by_words(previous.text, piece.text)
            if words is not None:
                refined[-1:] = words
                continue
            budget -= 1
        refined.append(piece)
    return refined


def _split(pattern: re.Pattern[str], text: str, most: int) -> list[str] | None:
    """The words of a text; None when there are more than ``most``."""
    words = [found[0] for found in islice(pattern.finditer(text), most + 1)]
    return words if len(words) <= most else None


def _pieces(old: Sequence[str], new: Sequence[str]) -> list[Piece] | None:
    trace = _search(old, new)
    if trace is None:
        return None
    pieces = [_piece(kind, old, new, x, y) for kind, x, y in _walk(trace, len(old), len(new))]
    pieces.reverse()
    return pieces


def _search(old: Sequence[str], new: Sequence[str]) -> list[list[int]] | None:
    """How far each diagonal came with 0, 1, 2 … changes (Myers, figure 2); None when it takes too many of them.

    The list for ``d`` changes holds the diagonals ``-d, -d + 2 … d``.
    """
    count, new_count = len(old), len(new)
    trace: list[list[int]] = []
    before: list[int] = []
    for changes in range(min(MOST_CHANGES, count + new_count) + 1):
        reached: list[int] = []
        for place in range(changes + 1):
            diagonal = 2 * place - changes
            if not changes:
                x = 0
            elif place == 0 or (place != changes and before[place - 1] < before[place]):
                x = before[place]  # one down: a word of the new text
            else:
                x = before[place - 1] + 1  # one to the right: a word of the old text is gone
            y = x - diagonal
            while x < count and 0 <= y < new_count and old[x] == new[y]:
                x += 1
                y += 1
            reached.append(x)
            if x >= count and y >= new_count:
                trace.append(reached)
                return trace
        trace.append(reached)
        before = reached
    return None


def _walk(trace: list[list[int]], x: int, y: int) -> Iterator[tuple[Kind, int, int]]:
    """The steps from the end to the beginning: ``(kind, words of the old text before it, words of the new one)``."""
    for changes in range(len(trace) - 1, 0, -1):
        before = trace[changes - 1]
        place = (x - y + changes) // 2
        down = place == 0 or (place != changes and before[place - 1] < before[place])
        start = before[place] if down else before[place - 1] + 1
        while x > start:
            x, y = x - 1, y - 1
            yield Kind.SAME, x, y
        if down:
            y -= 1
            yield Kind.ADDED, x, y
        else:
            x -= 1
            yield Kind.REMOVED, x, y
    while x > 0:
        x, y = x - 1, y - 1
        yield Kind.SAME, x, y


def _piece(kind: Kind, old: Sequence[str], new: Sequence[str], x: int, y: int) -> Piece:
    return Piece(kind, new[y] if kind is Kind.ADDED else old[x])


def _merged(pieces: Sequence[Piece]) -> list[Piece]:
    """Neighbours of one kind as one piece; within a stretch of changes what was removed stands first."""
    merged: list[Piece] = []
    texts: dict[Kind, list[str]] = {Kind.SAME: [], Kind.REMOVED: [], Kind.ADDED: []}

    def flush(*kinds: Kind) -> None:
        for kind in kinds:
            text = "".join(texts[kind])
            if text:
                merged.append(Piece(kind, text))
            texts[kind].clear()

    for piece in pieces:
        if piece.kind is Kind.SAME:
            flush(Kind.REMOVED, Kind.ADDED)
        else:
            flush(Kind.SAME)
        texts[piece.kind].append(piece.text)
    flush(Kind.SAME, Kind.REMOVED, Kind.ADDED)
    return merged


def _common_start(before: str, after: str) -> int:
    """Characters that both texts begin with, back to the beginning of a word."""
    low, high = 0, min(len(before), len(after))
    while low < high:  # slices are compared at the speed of memory
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    for place in range(low, max(-1, low - LONGEST_WORD), -1):
        if _begins_word(before, place) and _begins_word(after, place):
            return place
    return low


def _common_end(before: str, after: str) -> int:
    """Characters that both texts end with, from the beginning of a word on."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[len(before) - middle : len(before) - low] == after[len(after) - middle : len(after) - low]:
            low = middle
        else:
            high = middle - 1
    for length in range(low, max(-1, low - LONGEST_WORD), -1):
        if _begins_word(before, len(before) - length) and _begins_word(after, len(after) - length):
            return length
    return low


def _begins_word(text: str, place: int) -> bool:
    """Whether a word begins at ``place`` for certain: behind white space, and not with white space."""
    return place == 0 or (place < len(text) and text[place - 1].isspace() and not text[place].isspace())
