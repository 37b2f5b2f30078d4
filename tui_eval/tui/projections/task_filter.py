"""The filter of the task table: ``refund outcome:failed,error``."""

from __future__ import annotations

from tui_eval.domain import Outcome


def parse(text: str) -> tuple[str, tuple[Outcome, ...], str]:
    """``(text to look for, outcomes, what is wrong)``; no outcome is all of them."""
    words: list[str] = []
    outcomes: list[Outcome] = []
    wrong: list[str] = []
    for word in text.split():
        field, colon, value = word.partition(":")
        if not colon or field not in ("outcome", "is"):
            words.append(word)
            continue
        for name in value.split(","):
            found = [outcome for outcome in Outcome if name and outcome.value.startswith(name.lower())]
            outcomes += found
            if not found:
                wrong.append(f"no outcome begins with {name!r} ({', '.join(outcome.value for outcome in Outcome)})")
    return " ".join(words), tuple(dict.fromkeys(outcomes)), "; ".join(wrong)


def literal(pattern: str) -> str:
    """The longest stretch of a pattern of messages that all of them share, to filter by."""
    parts = [pattern]
    for placeholder in ("<url>", "<text>", "<id>", "<n>"):
        parts = [piece for part in parts for piece in part.split(placeholder)]
    return max((part.strip() for part in parts), key=len, default="")
