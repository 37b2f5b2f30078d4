"""The filter of the task table: ``refund !late outcome:failed,error``."""

from __future__ import annotations

from tui_eval.domain import Outcome
from tui_eval.text_query import TextQuery, query, words

_FIELDS = ("outcome", "is")


def parse(text: str) -> tuple[TextQuery, tuple[Outcome, ...], str]:
    """``(what to look for, outcomes, what is wrong)``; no outcome is all of them. ``!outcome:passed`` is all others."""
    rest = []
    wanted: dict[Outcome, None] = {}
    unwanted: set[Outcome] = set()
    wrong: list[str] = []
    for word in words(text, _FIELDS):
        if not word.field:
            rest.append(word)
            continue
        for name in word.text.split(","):
            found = [outcome for outcome in Outcome if name and outcome.value.startswith(name.lower())]
            if not found:
                wrong.append(f"no outcome begins with {name!r} ({', '.join(outcome.value for outcome in Outcome)})")
            elif word.excluded:
                unwanted.update(found)
            else:
                wanted.update(dict.fromkeys(found))
    if unwanted:
        wanted = dict.fromkeys(outcome for outcome in wanted or Outcome if outcome not in unwanted)
    return query(rest), tuple(wanted), "; ".join(wrong)
