"""Values of environment variables that a plan needs and our environment has not: typed unseen, kept in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tui_eval.tui.screens.dialogs import Prompt

if TYPE_CHECKING:
    from tui_eval.store.records import RunRecord
    from tui_eval.tui.application import TuiEvalApp


async def ask_value(app: TuiEvalApp, name: str, purpose: str) -> str | None:
    """The value of one variable as the user types it, without blanks around; None when none was typed."""
    title = f"Value of {name}, for this {purpose} only (kept in memory, not shown)"
    text = await app.push_screen_wait(Prompt(title, secret=True, hint="empty: leave it as it is", check=no_value))
    return None if text is None or not text.strip() else text.strip()


async def ask_missing(app: TuiEvalApp, run: RunRecord, purpose: str) -> dict[str, str] | None:
    """Ask for every variable that the plan of a run refers to and that is not set here, one after the other.

    None as soon as one is not given: the run could not begin.
    """
    from tui_eval.spec.references import find_references

    return await ask_each(app, missing(find_references(run.plan), os.environ), purpose)


async def ask_each(app: TuiEvalApp, names: Iterable[str], purpose: str) -> dict[str, str] | None:
    """Ask for these variables, one after the other; None (and told) as soon as one is not given."""
    typed: dict[str, str] = {}
    for name in names:
        value = await ask_value(app, name, purpose)
        if value is None:
            app.notify(f"Not started: {name} is not set.", severity="warning")
            return None
        typed[name] = value
    return typed


def missing(names: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    """Those of the variables that are not set, or to nothing, in the order of the alphabet."""
    from tui_eval.spec.references import is_missing

    return sorted(name for name in names if is_missing(name, environment))


def no_value(text: str) -> str:
    """What is wrong with a value of an environment variable, "" when nothing is. Never says the value."""
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        return "the value holds a character that an environment variable cannot have"
    return "the value holds a NUL character" if b"\0" in encoded else ""
