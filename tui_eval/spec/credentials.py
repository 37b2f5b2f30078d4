"""Credentials typed into a plan: finding them, hiding them in what is stored and shown, and putting them back.

A credential should stand in a plan as ``${NAME}``. One that is typed all the same is used, but it is never written
down: where it stood, the stored plan has :data:`HIDDEN`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tui_eval.domain import JsonValue
from tui_eval.spec import kinds
from tui_eval.spec.nodes import Path, dotted

HIDDEN = "********"
"""Stands where a credential was."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_ENDING_WORDS = frozenset(
    "authorization auth authentication cookie cookies password passwd passphrase pwd secret secrets credential "  # noqa: SIM905
    "credentials bearer jwt apikey accesskey secretkey privatekey authkey".split()
)
_RUN_TOGETHER = re.compile(
    r"(?:(?:api|access|secret|private|auth|subscription|master|signing|encryption)_?key"
    r"|(?:access|auth|bearer|refresh|session|security|api|id|csrf|xsrf)_?token|client_?secret|password|passwd|passphrase)$"
)
_PLAIN_TOKENS = frozenset(
    "stop start end eos bos pad unk mask sep cls next previous prev page continuation cursor first last per each "  # noqa: SIM905
    "special image max min sample sampled output input prompt word sub".split()
)
_KEY_OWNERS = frozenset(
    "api access secret private auth subscription encryption signing master admin account service functions license "  # noqa: SIM905
    "client shared security".split()
)
_HEADER_LIKE = frozenset(("headers", "params", "env", "form", "query"))
_DATA = frozenset(("cases", "equals", "expected", "json_schema", "rubric", "schema", "variable_mapping"))
_USERINFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^/\s:@?#]*:)([^/\s?#]+)(?=@)")
_TOKEN_AS_USER = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/\s:@?#]{16,})(?=@)")
_QUERY = re.compile(r"([?&;]([^=&#?\s]+)=)([^&#\s]+)")
_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)(=(.*))?", re.DOTALL)


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """True when a header, option, variable or parameter of this name holds a credential (``X-Api-Key``,
    ``access_token``, ``dbPassword``, ``OPENAI_KEY``), false for ``max_tokens``, ``token_count``, ``keyboard``."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _ENDING_WORDS or _RUN_TOGETHER.search("".join(words[-2:])) or _RUN_TOGETHER.search(last):
        return True
    if last == "token":
        return before not in _PLAIN_TOKENS
    if last == "key":
        return before in _KEY_OWNERS or not before or name.isupper()
    # OPENAI_API_KEY_2, PASSWORD_1: a number does not make it something else.
    return last.isdecimal() and len(words) > 1 and is_secret_name("_".join(words[:-1]))


@dataclass(frozen=True, slots=True)
class Typed:
    """A credential that was typed: where it stands, and the texts that must not be written anywhere."""

    path: Path
    values: tuple[str, ...]


def hide_credentials(section: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A copy of a solution's or an evaluator's options in which typed credentials are :data:`HIDDEN`."""
    return dict(_hide_section(section, []))


def typed_credentials(section: Mapping[str, JsonValue]) -> list[Typed]:
    """Every credential that is typed into a solution's or an evaluator's options."""
    found: list[Typed] = []
    _hide_section(section, found)
    return found


def _hide_section(section: Mapping[str, JsonValue], found: list[Typed]) -> dict[str, JsonValue]:
    return {
        name: value if name in _DATA else _hide(value, (name,), _secret_entry(name, ()), found)
        for name, value in section.items()
    }


def _secret_entry(name: str, path: Path) -> bool:
    if path[-1:] == ("tls",):  # paths of files: `client_key` says where the key lies
        return False
    if name.lower() == "key":  # too common a word to be one anywhere else
        return any(step in _HEADER_LIKE for step in path)
    return is_secret_name(name)


def _hide(value: JsonValue, path: Path, secret: bool, found: list[Typed]) -> JsonValue:
    if isinstance(value, dict):
        return {key: _hide(item, (*path, key), _secret_entry(key, path), found) for key, item in value.items()}
    if isinstance(value, list):
        return _hide_list(value, path, secret, found)
    if secret and isinstance(value, int | float) and not isinstance(value, bool):
        found.append(Typed(path, (str(value),)))
        return HIDDEN
    if isinstance(value, str):
        hidden, values = _hide_text(value, secret)
        if values:
            found.append(Typed(path, tuple(values)))
        return hidden
    return value


def _hide_list(items: list[JsonValue], path: Path, secret: bool, found: list[Typed]) -> list[JsonValue]:
    """A list of arguments has credentials behind an option of a telling name: ``--api-key``, ``x``."""
    result: list[JsonValue] = []
    after_option = False
    for index, item in enumerate(items):
        match = _OPTION.fullmatch(item) if isinstance(item, str) else None
        option = match is not None and is_secret_name(match[1])
        if match is not None and option and match[2]:
            hidden, values = _hide_text(match[3], True)
            if values:
                found.append(Typed((*path, index), tuple(values)))
            result.append(item[: match.start(3)] + hidden)
        else:
            result.append(_hide(item, (*path, index), secret or (after_option and match is None), found))
        after_option = option and match is not None and not match[2]
    return result


def _is_open(text: str) -> bool:
    """Nothing that was typed as a credential: a reference, a template, nothing at all, or hidden already."""
    return not text.strip() or "${" in text or "{{" in text or text == HIDDEN


def _hide_text(text: str, secret: bool) -> tuple[str, list[str]]:
    if secret:
        return (text, []) if _is_open(text) else (HIDDEN, _credential_texts(text))
    if "://" not in text and "=" not in text:
        return text, []
    values: list[str] = []

    def hide(match: re.Match[str], group: int) -> str:
        if _is_open(match[group]):
            return match[0]
        values.append(match[group])
        return match[1] + HIDDEN

    if "://" in text:
        text = _USERINFO.sub(lambda match: hide(match, 2), text)
        text = _TOKEN_AS_USER.sub(lambda match: hide(match, 2), text)
    text = _QUERY.sub(lambda match: hide(match, 3) if is_secret_name(match[2]) else match[0], text)
    return text, values


def _credential_texts(text: str) -> list[str]:
    """The texts to keep out of everything: the whole value, and without its scheme (``Bearer …``, ``Basic …``)."""
    texts = [text]
    scheme, _, rest = text.strip().partition(" ")
    if rest and scheme.isalpha():
        texts.append(rest.strip())
        if scheme.lower() == "basic":
            try:
                decoded = base64.b64decode(rest.strip(), validate=True).decode("utf-8")
            except (binascii.Error, UnicodeDecodeError):
                decoded = ""
            texts.extend(part for part in (decoded, decoded.partition(":")[2]) if part)
    return texts


def hide_plan(plan: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A copy of a resolved plan in which typed credentials are :data:`HIDDEN`."""
    hidden = {**plan, "requests": [_hide_request(request) for request in plan.get("requests", [])]}
    for name in kinds.PLATFORMS:
        section = plan.get(name)
        if isinstance(section, dict) and isinstance(section.get("server"), dict):
            hidden[name] = {**section, "server": hide_credentials(section["server"])}
    return hidden


def _hide_request(request: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    hidden = dict(request)
    if isinstance(hidden.get("solution"), dict):
        hidden["solution"] = hide_credentials(hidden["solution"])
    hidden["evaluators"] = [
        hide_credentials(options) if isinstance(options, dict) else options for options in request.get("evaluators", [])
    ]
    return hidden


def restore_hidden(stored: Mapping[str, JsonValue], original: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A copy of a stored plan with its hidden places filled from ``original``, a resolved plan that is not hidden
    (``LoadedPlan.resolved`` of the same file).

    A place is filled when the request of the same name has, at the same path, what looks the same once hidden.
    What could not be filled is still :data:`HIDDEN`: :func:`hidden_places` lists it.
    """
    hidden = hide_plan(original)
    by_name = {request.get("name"): index for index, request in enumerate(original.get("requests", []))}
    result = dict(stored)
    result["requests"] = []
    for request in stored.get("requests", []):
        index = by_name.get(request.get("name"))
        if index is None:
            result["requests"].append(request)
        else:
            result["requests"].append(_fill(request, original["requests"][index], hidden["requests"][index]))
    return result


def _fill(stored: JsonValue, original: JsonValue, hidden: JsonValue) -> JsonValue:
    if isinstance(stored, dict) and isinstance(original, dict):
        return {
            key: _fill(item, original[key], hidden[key]) if key in original else item for key, item in stored.items()
        }
    if isinstance(stored, list) and isinstance(original, list) and len(stored) == len(original):
        return [_fill(*items) for items in zip(stored, original, hidden, strict=True)]
    if isinstance(stored, str) and HIDDEN in stored and stored == hidden:
        return original
    return stored


def hidden_places(value: JsonValue, path: Path = ()) -> list[str]:
    """Paths of the texts that hold :data:`HIDDEN` (requests by name): a plan with one cannot be run."""
    return [dotted(place) for place in _hidden_paths(value, path)]


def _hidden_paths(value: JsonValue, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _hidden_paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            named = path == ("requests",) and isinstance(item, dict) and isinstance(item.get("name"), str)
            yield from _hidden_paths(item, (*path, item["name"] if named else index))
    elif isinstance(value, str) and HIDDEN in value:
        yield path
