"""Writing a launch as a plan file: whole or not at all, over another file only after a question."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.errors import TuiEvalError, UsageError
from tui_eval.tui.screens.dialogs import Confirm, Prompt

if TYPE_CHECKING:
    from tui_eval.tui.application import TuiEvalApp
    from tui_eval.tui.launch_check import Look
    from tui_eval.tui.launch_draft import Draft

_SUFFIXES = (".yaml", ".yml")


async def ask_and_save(app: TuiEvalApp, draft: Draft, look: Look) -> Path | None:
    """Ask for a name in the draft's folder and write the plan there; the file, or None when nothing was written."""
    from tui_eval.spec.compose import file_name, plan_text

    try:
        plan = plan_to_save(draft, look)
    except UsageError as error:
        app.notify(str(error), title="Not saved", severity="error", timeout=12)
        return None
    proposed = draft.path.name if draft.path is not None else file_name(str(plan.get("name", "plan")))
    name = await app.push_screen_wait(
        Prompt(f"Save as, in {draft.folder}", proposed, hint="nightly.yaml", check=partial(wrong_name, draft.folder))
    )
    if name is None:
        return None
    path = draft.folder / with_suffix(name.strip())
    replace = os.path.lexists(path)
    if replace:
        lines = [str(path), "What is in the file now, comments included, is lost."]
        if not await app.push_screen_wait(Confirm("Replace this file?", lines, yes="Replace", no="Keep it")):
            return None
    text = plan_text(plan, f"Made on the launch screen of tui-eval.\nRun it with: tui-eval run {path.name}")
    try:
        await app.history.call(partial(write_plan, path, text, replace=replace))
    except TuiEvalError as error:
        app.notify(str(error), title="Not saved", severity="error", timeout=12)
        return None
    return path


def plan_to_save(draft: Draft, look: Look) -> dict[str, Any]:
    """The data of the plan file: what was composed, or the opened plan with its changes.

    Raises UsageError for a plan that holds a typed credential: it would be copied to one more file.
    """
    from tui_eval.spec.credentials import hidden_places, hide_plan

    source = draft.source()
    composed = not isinstance(source, Path) and not draft.typed
    plan: Mapping[str, Any] = source if composed and isinstance(source, dict) else look.resolved
    if places := hidden_places(hide_plan(look.resolved)):
        raise UsageError(
            f"a credential is typed at {', '.join(places)}: put it into the environment and write ${{NAME}} there"
        )
    return dict(plan)


def wrong_name(folder: Path, name: str) -> str:
    """What is wrong with the name of a file to write in ``folder``, "" for nothing."""
    name = name.strip()
    if not name or name in (".", "..") or name.startswith("."):
        return "a file needs a name that does not begin with a dot"
    if "/" in name or "\\" in name or not name.isprintable():
        return f"write a name without a folder: paths in the plan start at {folder}"
    if len(name.encode("utf-8", "replace")) > 200:
        return "the name is too long"
    return "a folder is called that" if (folder / with_suffix(name)).is_dir() else ""


def with_suffix(name: str) -> str:
    """The name of a YAML file."""
    return name if name.lower().endswith(_SUFFIXES) else f"{name}.yaml"


def write_plan(path: Path, text: str, *, replace: bool = False) -> None:
    """Make ``path`` a file with this text, or leave everything as it was.

    Raises UsageError when it cannot be written, and when it is there already and not to be replaced.
    """
    draft = path.with_name(f".{path.stem[:40]}.{secrets.token_hex(6)}.part")
    try:
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "w", encoding="utf-8") as stream:
                stream.write(text)
            if replace:
                os.replace(draft, path.resolve() if path.is_symlink() else path)
            else:
                os.link(draft, path)  # unlike a rename, this never replaces what has come there meanwhile
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft)
    except FileExistsError:
        raise UsageError(f"{path} is there already: choose another name") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
