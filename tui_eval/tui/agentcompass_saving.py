"""Writing an orchestration as a file that ``agentcompass launch`` takes: whole or not at all, never over another unasked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.errors import TuiEvalError
from tui_eval.tui.agentcompass_draft import CompassDraft
from tui_eval.tui.launch_saving import with_suffix, write_plan, wrong_name
from tui_eval.tui.screens.dialogs import Choose, Confirm, Option, Prompt

if TYPE_CHECKING:
    from tui_eval.tui.application import TuiEvalApp


async def ask_and_save(app: TuiEvalApp, draft: CompassDraft) -> Path | None:
    """Ask for a name in the draft's folder and write the file there; the file, or None when nothing was written."""
    from tui_eval.spec.compose import file_name

    proposed = draft.path.name if draft.path is not None else file_name(str(draft.data.get("name") or "orchestration"))
    name = await app.push_screen_wait(
        Prompt(f"Save as, in {draft.folder}", proposed, hint="nightly.yaml", check=partial(wrong_name, draft.folder))
    )
    if name is None:
        return None
    path = draft.folder / with_suffix(name.strip())
    data = await _without_credentials(app, draft.data)
    if data is None:
        return None
    replace = os.path.lexists(path)
    if replace:
        lines = [str(path), "What is in the file now, comments included, is lost."]
        if not await app.push_screen_wait(Confirm("Replace this file?", lines, yes="Replace", no="Keep it")):
            return None
    try:
        await app.history.call(partial(write_plan, path, text_of(data, path.name), replace=replace))
    except TuiEvalError as error:
        app.notify(str(error), title="Not saved", severity="error", timeout=12)
        return None
    return path


def text_of(data: Mapping[str, Any], name: str) -> str:
    """The file: read back to the same data by AgentCompass (YAML 1.1) and by this program."""
    from tui_eval.spec.compose import plan_text

    heading = f"Run it with: agentcompass launch {name}\nor, kept in the history: tui-eval run {name}"
    return plan_text(data, heading)


async def _without_credentials(app: TuiEvalApp, data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The data as they may be written: typed credentials become references unless the user insists; None: not at all."""
    from tui_eval.platforms.agentcompass.credentials import hidden, hidden_places

    places = hidden_places(hidden(dict(data)))
    if not places:
        return data
    referring, names = with_references(data)
    text = (
        f"A credential is typed at {', '.join(places)}. A file is easily shared or committed: write a reference, and set "
        "the variable where it is launched."
    )
    options = [
        Option("refer", f"Write {', '.join(f'${{{name}}}' for name in names)} instead", "proposed"),
        Option("as-typed", "Write it as it is typed"),
        Option("", "Do not save"),
    ]
    answer = await app.push_screen_wait(Choose("A credential in the file?", options, text=text))
    if answer == "refer":
        return referring
    return data if answer == "as-typed" else None


def with_references(data: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A copy in which each typed credential is a reference, and the variables: ``API_KEY``, ``API_KEY_2``, one a value."""
    from tui_eval.platforms.agentcompass.credentials import moved_out

    moved, values = moved_out(dict(data))
    names: dict[str, str] = {}
    for moved_name, value in values.items():
        names.setdefault(value, "API_KEY" if not names else f"API_KEY_{len(names) + 1}")
        moved = _renamed(moved, f"${{{moved_name}}}", f"${{{names[value]}}}")
    return moved, list(names.values())


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _renamed(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, old, new) for item in value]
    return new if value == old else value
