"""The nearest valid word to one that is not valid: the "did you mean" of every message."""

from __future__ import annotations

from collections.abc import Iterable

LISTED = 12
"""Most words that are listed when none is near."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that ``word`` was probably meant to be, None when none is near. Case does not count."""
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(word.lower()[:200], by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def suggestion(word: str, known: Iterable[str], *, label: str = "known here") -> str:
    """A hint for a fault: ``did you mean `url`?``, or the known words when there are few, or nothing."""
    names = sorted(set(known))
    near = nearest(word, names)
    if near is not None:
        return f"did you mean `{near}`?"
    if not names or len(names) > LISTED:
        return ""
    return f"{label}: {', '.join(names)}"
