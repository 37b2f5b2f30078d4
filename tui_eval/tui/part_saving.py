"""Saving a solution or an evaluator in a file of its own: never over another unasked, never with a credential unasked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.display import short_path
from tui_eval.domain import JsonValue
from tui_eval.errors import TuiEvalError, UsageError
from tui_eval.tui.launch_saving import with_suffix, write_plan, wrong_name
from tui_eval.tui.screens.dialogs import Choose, Confirm, Option, Prompt

if TYPE_CHECKING:
    from tui_eval.tui.application import TuiEvalApp
    from tui_eval.tui.part_reading import PartOf


async def ask_and_save(
    app: TuiEvalApp, of: PartOf, section: Mapping[str, JsonValue], *, path: Path | None = None
) -> tuple[Path, dict[str, JsonValue]] | None:
    """Ask for a name in the workspace's folder and write the part there; the file and what is in it now, or None when
    nothing was written. ``path`` is the file it came from, which is proposed again."""
    from tui_eval.spec.compose import data_text
    from tui_eval.spec.names import safe_name

    folder = path.parent if path is not None else app.workspace / f"{of}s"
    proposed = path.name if path is not None else f"{safe_name(str(section.get('name') or _called(section, of)))}.yaml"
    check = partial(wrong_name, folder)
    name = await app.push_screen_wait(Prompt(f"Save as, in {folder}", proposed, hint="prod.yaml", check=check))
    if name is None:
        return None
    target = folder / with_suffix(name.strip())
    kept = await _without_credentials(app, target.stem, section)
    if kept is None:
        return None
    replace = os.path.lexists(target)
    if replace:
        lines = [str(target), "What is in the file now, comments included, is lost."]
        if not await app.push_screen_wait(Confirm("Replace this file?", lines, yes="Replace", no="Keep it")):
            return None
    try:
        await app.history.call(partial(_write, target, data_text(kept), replace))
    except TuiEvalError as error:
        app.notify(str(error), title="Not saved", severity="error", timeout=12)
        return None
    app.notify(
        f"{short_path(target, app.workspace)}\nA plan in {_plan_folder(target, of)} takes it with: use: {_used(target, of)}",
        title="Saved",
    )
    return target, kept


def _called(section: Mapping[str, JsonValue], of: PartOf) -> str:
    return str(section.get("type" if of == "solution" else "id") or of)


def _plan_folder(path: Path, of: PartOf) -> Path:
    from tui_eval.tui.part_reading import part_folder

    return part_folder(path, of)


def _used(path: Path, of: PartOf) -> str:
    return path.relative_to(_plan_folder(path, of)).as_posix()


def _write(path: Path, text: str, replace: bool) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {path.parent} cannot be made: {error.strerror or error}") from error
    write_plan(path, text, replace=replace)


async def _without_credentials(
    app: TuiEvalApp, stem: str, section: Mapping[str, JsonValue]
) -> dict[str, JsonValue] | None:
    """The section as it may be written: typed credentials become references unless the user insists; None: not at all."""
    from tui_eval.spec.credentials import typed_credentials
    from tui_eval.spec.nodes import dotted

    typed = typed_credentials(section)
    if not typed:
        return dict(section)
    referring, names = with_references(section, stem)
    places = ", ".join(dotted(each.path) for each in typed)
    text = (
        f"A credential is typed at {places}. A file is easily shared or committed: write a reference, and set the "
        "variable where tui-eval runs."
    )
    references = ", ".join(f"${{{name}}}" for name in names)
    options = [
        Option("refer", f"Write {references} instead", "proposed"),
        Option("as-typed", "Write it as it is typed"),
        Option("", "Do not save"),
    ]
    answer = await app.push_screen_wait(Choose("A credential in the file?", options, text=text))
    if answer == "refer":
        return referring
    return dict(section) if answer == "as-typed" else None


def with_references(section: Mapping[str, JsonValue], stem: str) -> tuple[dict[str, JsonValue], list[str]]:
    """A copy in which each typed credential is a reference, and the names of the variables: ``PROD_AUTHORIZATION``."""
    from tui_eval.spec.credentials import typed_credentials

    data: dict[str, Any] = deepcopy(dict(section))
    names: list[str] = []
    for typed in typed_credentials(section):
        holder: Any = data
        for step in typed.path[:-1]:
            holder = holder[step]
        last = typed.path[-1]
        value = holder[last]
        secrets = _secrets_in(value, typed.values)
        for secret in secrets:
            words = [step for step in typed.path if isinstance(step, str)][-1:]
            name = _free(_variable(stem, *words), names)
            names.append(name)
            value = f"${{{name}}}" if not isinstance(value, str) else value.replace(secret, f"${{{name}}}", 1)
        holder[last] = value
    return data, names


def _secrets_in(value: Any, values: tuple[str, ...]) -> list[str]:
    """The parts of a text that are secret: ``Bearer x`` is kept but for the ``x``; an address may hold several."""
    if not isinstance(value, str):
        return list(values[:1])
    if values and values[0] == value:  # the whole text, then what is behind its scheme
        inner = [each for each in values[1:] if each in value]
        return inner[:1] or [value]
    return list(dict.fromkeys(values))


def _variable(*words: str) -> str:
    name = re.sub(r"[^A-Z0-9]+", "_", "_".join(words).upper()).strip("_")
    return f"_{name}" if not name or name[0].isdigit() else name


def _free(name: str, taken: list[str]) -> str:
    number, found = 2, name
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found
