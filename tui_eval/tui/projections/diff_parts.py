"""Two texts compared word by word, as parts of a text: ``[-only before-]{+only after+}``, the signs of git."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from tui_eval.analysis.text_diff import Kind, word_diff
from tui_eval.tui.widgets.styled_text import Part

_NORMALISED_UP_TO = 1_000_000


def compared(before: str, after: str, sides: tuple[str, str]) -> Iterator[Part]:
    """The comparison with a legend; ``sides`` is what is said of what only the first, and only the second, has."""
    diff = word_diff(before, after)
    if diff.same:
        yield "✓ Both are the same.\n\n", "passed"
        yield before if before else "(empty)", "" if before else "muted"
        return
    yield f"[-{sides[0]}-]", "removed"
    yield "  ", ""
    yield f"{{+{sides[1]}+}}", "added"
    remark = difference(before, after)
    yield f"   {remark}" if remark else "", "warning"
    yield "   Much is different: compared in large pieces." if diff.coarse else "", "muted"
    yield "\n\n", ""
    for piece in diff.pieces:
        if piece.kind is Kind.SAME:
            yield piece.text, ""
        elif piece.kind is Kind.REMOVED:
            yield f"[-{_shown(piece.text)}-]", "removed"
        else:
            yield f"{{+{_shown(piece.text)}+}}", "added"


def difference(before: str, after: str) -> str:
    """What two different texts differ in when it cannot be seen, "" when it can."""
    if "".join(before.split()) == "".join(after.split()):
        return "They differ in white space only."
    if before.casefold() == after.casefold():
        return "They differ in upper and lower case only."
    if len(before) + len(after) <= _NORMALISED_UP_TO:
        if unicodedata.normalize("NFC", before) == unicodedata.normalize("NFC", after):
            return "They look the same: their characters are composed differently (Unicode normalisation)."
        if unicodedata.normalize("NFKC", before) == unicodedata.normalize("NFKC", after):
            return "They look alike: compatible forms of the same characters (Unicode NFKC)."
    return ""


def _shown(text: str) -> str:
    """A change of line breaks has to be seen."""
    return text.replace("\n", "⏎\n")
