"""Credentials typed into an orchestration: hidden in what is stored, handed to AgentCompass in the environment.

AgentCompass takes ``${NAME}`` as a whole value, so a typed key can be moved out of the file that it is started with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tui_eval.platforms.agentcompass.references import name_of
from tui_eval.spec.credentials import HIDDEN, is_secret_name

VARIABLE = "TUI_EVAL_AGENTCOMPASS_KEY_"
"""Beginning of the names of the variables that carry typed credentials to AgentCompass."""
_CONTAINERS = frozenset(("auth", "authentication", "credentials", "headers"))
_NOT_SECRET = frozenset(("wrap_api_key",))


def hidden(data: Any) -> Any:
    """A copy of plain data with typed credentials replaced by :data:`HIDDEN`."""
    return _changed(data, lambda _: HIDDEN)


def typed_values(data: Any) -> list[str]:
    """The credentials that stand in the data."""
    found: list[str] = []

    def keep(text: str) -> str:
        found.append(text)
        return text

    _changed(data, keep)
    return found


def moved_out(data: Any) -> tuple[Any, dict[str, str]]:
    """A copy with a reference in place of each typed credential, and the variables that the references need."""
    variables: dict[str, str] = {}

    def move(text: str) -> str:
        name = f"{VARIABLE}{len(variables) + 1}"
        variables[name] = text
        return f"${{{name}}}"

    return _changed(data, move), variables


def filled(stored: Any, original: Any) -> Any:
    """A copy of stored data with its hidden values taken from the same places of ``original``."""
    if isinstance(stored, Mapping) and isinstance(original, Mapping):
        return {key: filled(item, original[key]) if key in original else item for key, item in stored.items()}
    if isinstance(stored, list) and isinstance(original, list) and len(stored) == len(original):
        return [filled(item, other) for item, other in zip(stored, original, strict=True)]
    return original if stored == HIDDEN and isinstance(original, str) else stored


def hidden_places(data: Any, path: str = "") -> list[str]:
    """Where credentials are hidden."""
    if isinstance(data, Mapping):
        return [place for key, item in data.items() for place in hidden_places(item, f"{path}.{key}".lstrip("."))]
    if isinstance(data, list):
        return [place for index, item in enumerate(data) for place in hidden_places(item, f"{path}.{index}")]
    return [path] if data == HIDDEN else []


def _changed(value: Any, change: Callable[[str], str], *, secret: bool = False) -> Any:
    if isinstance(value, Mapping):
        return {key: _changed(item, change, secret=secret or _is_secret(str(key), item)) for key, item in value.items()}
    if isinstance(value, list):
        return [_changed(item, change, secret=secret) for item in value]
    if secret and isinstance(value, str) and value.strip() and name_of(value) is None and value != HIDDEN:
        return change(value)
    return value


def _is_secret(key: str, value: Any) -> bool:
    if key.lower() in _NOT_SECRET:
        return False
    if isinstance(value, Mapping):
        return key.lower() in _CONTAINERS
    return is_secret_name(key)
