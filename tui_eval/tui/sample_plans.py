"""New plans from the samples that come with tui_eval: the plan and the files that it needs beside it."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tui_eval.errors import UsageError

_FIRST = ("quickstart.yaml", "minimal.yaml")


def samples() -> list[tuple[str, str]]:
    """``(file name, what it shows)`` of each sample plan. Raises UsageError for a broken installation."""
    found = []
    for path in sorted(_folder().glob("*.yaml")):
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        found.append((path.name, first.lstrip("# ").strip()))
    found.sort(key=lambda each: _FIRST.index(each[0]) if each[0] in _FIRST else len(_FIRST))
    return found


def copy(sample: str, target: Path) -> list[Path]:
    """Copy a sample plan to ``target`` and the files it uses beside it; gives what was written.

    Nothing that is there is written over: a supporting file that exists stays as it is. Raises UsageError.
    """
    folder = _folder()
    text = (folder / sample).read_text(encoding="utf-8")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "x", encoding="utf-8") as file:
            file.write(text)
        written = [target]
        for name in supporting(sample):
            beside = target.parent / name
            if not beside.exists():
                beside.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / name, beside)
                written.append(beside)
    except FileExistsError as error:
        raise UsageError(f"{error.filename or target} is there already; choose another name") from error
    except OSError as error:
        raise UsageError(f"{error.filename or target} cannot be written: {error.strerror or error}") from error
    return written


def supporting(sample: str) -> list[str]:
    """The files below the samples' folder that a sample names, or whose folder it names as a ``path``."""
    folder = _folder()
    text = (folder / sample).read_text(encoding="utf-8")
    folders = set(re.findall(r"\bpath: ([\w-]+)\b(?![/.])", text))
    found = []
    for path in sorted(folder.glob("*/*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and (name in text or path.parent.name in folders):
            found.append(name)
    return found


def name_fault(text: str, workspace: Path) -> str:
    """Why a plan cannot be made under this name (a path from the workspace on); "" when it can."""
    if not text.strip():
        return "type a name, for example my-plan.yaml"
    if not text.isprintable():
        return "a name needs printable characters"
    path = workspace / text.strip()
    if path.suffix.lower() not in (".yaml", ".yml"):
        return "the name of a plan ends in .yaml"
    return "there is a file of this name already" if os.path.lexists(path) else ""


def _folder() -> Path:
    from tui_eval.demo.samples import samples_folder

    try:
        return samples_folder()
    except FileNotFoundError as error:
        raise UsageError(str(error)) from error
