"""The user's own words on a run that is to be launched: its tags and its note."""

from __future__ import annotations

from typing import Any

from textual.app import App

from tui_eval.tui.screens.dialogs import Prompt


async def ask_tags(app: App[Any], tags: tuple[str, ...]) -> tuple[str, ...] | None:
    """In a worker: the tags that the user wants, each once; None when the question was left."""
    text = await app.push_screen_wait(
        Prompt("Tags of the run, with commas between", ", ".join(tags), hint="nightly, baseline")
    )
    if text is None:
        return None
    return tuple(dict.fromkeys(tag.strip() for tag in text.split(",") if tag.strip()))


async def ask_note(app: App[Any], note: str) -> str | None:
    """In a worker: the note that the user wants; None when the question was left."""
    text = await app.push_screen_wait(Prompt("Note on the run", note, hint="what is worth remembering"))
    return None if text is None else text.strip()
