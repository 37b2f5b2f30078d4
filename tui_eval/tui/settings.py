"""What a user has set: ``config.yaml`` in the user's configuration folder, read with every fault told, written whole."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tui_eval.errors import UsageError

FILE_NAME = "config.yaml"
ELSEWHERE = frozenset(("agentcompass",))
"""Keys of the file that are read by others: ``agentcompass: {python: PATH}``."""
_HEAD = "# Settings of tui_eval. The settings screen rewrites this file; keys it does not know are kept.\n"


@dataclass(frozen=True, slots=True)
class Settings:
    """``mouse`` None is automatic (off over SSH). ``workspace`` and ``history`` are paths, "" for the defaults.

    ``keymap`` maps a binding's id to the keys that replace its own (``table.down: "n,down"``).
    """

    theme: str = ""
    mouse: bool | None = None
    workspace: str = ""
    history: str = ""
    keymap: dict[str, str] = field(default_factory=dict)


def folder() -> Path:
    """The user's configuration folder (``~/.config/tui_eval`` on Linux)."""
    from platformdirs import user_config_path

    return user_config_path("tui_eval")


def default_path() -> Path:
    return folder() / FILE_NAME


def read(path: Path) -> tuple[Settings, list[str]]:
    """The settings, and what is wrong with the file, one sentence each. What is wrong falls back to the default."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return Settings(), []
    except (OSError, UnicodeDecodeError) as error:
        return Settings(), [f"{path} cannot be read: {error}"]
    data, problem = _mapping(path, text)
    settings = Settings()
    problems = [problem] if problem else []
    values: dict[str, Any] = {}
    for name, value in data.items():
        if name in ELSEWHERE:
            continue
        fault = _fault(name, value)
        if fault:
            problems.append(f"{path}: {fault}")
        else:
            values[name] = value
    return Settings(**{**_values(settings), **values}), problems


def write(path: Path, settings: Settings) -> None:
    """Replace the file in one step, mode 0600 in a folder 0700. Raises UsageError when that is not possible."""
    import yaml

    data: dict[str, Any] = {}
    if path.exists():
        data, problem = _mapping(path, path.read_text(encoding="utf-8-sig", errors="replace"))
        if problem:
            raise UsageError(f"{problem}; mend or remove it, then save again")
    default = _values(Settings())
    for name, value in _values(settings).items():
        data[name] = value
        if value == default[name]:
            del data[name]
    text = _HEAD + (yaml.safe_dump(data, sort_keys=False, allow_unicode=True) if data else "")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # made with mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise UsageError(f"the settings cannot be written to {path}: {error.strerror or error}") from error


def _values(settings: Settings) -> dict[str, Any]:
    return {each.name: getattr(settings, each.name) for each in fields(Settings)}


def _mapping(path: Path, text: str) -> tuple[dict[str, Any], str]:
    import yaml

    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        return {}, f"{place} is no YAML: {getattr(error, 'problem', None) or error}"
    if data is None:
        return {}, ""
    if not isinstance(data, dict) or not all(isinstance(name, str) for name in data):
        return {}, f"{path} is not a mapping of settings"
    return data, ""


def _fault(name: str, value: Any) -> str:
    """What is wrong with one setting, "" when nothing is."""
    known = [each.name for each in fields(Settings)]
    if name not in known:
        return f"there is no setting {name!r}; the settings are {', '.join(known)}"
    if name == "mouse":
        return "" if value is None or isinstance(value, bool) else "mouse is true, false or left out"
    if name == "keymap":
        is_keymap = isinstance(value, dict) and all(isinstance(text, str) for pair in value.items() for text in pair)
        return "" if is_keymap else "keymap maps ids of keys to texts such as 'n,down'"
    return "" if isinstance(value, str) else f"{name} is a text"
