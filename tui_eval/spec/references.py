"""``${NAME}`` in what a user writes: a value of the environment, put in at the moment of use.

* ``$${NAME}`` is the literal text ``${NAME}``; ``$${`` is ``${`` whatever follows.
* Inside ``{{ … }}`` and ``{% … %}`` it is not special, and never in data.
* Unset, empty and blank are errors: nothing is ever sent with a hole in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tui_eval.errors import Fault, SpecError

REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OPENING = re.compile(r"(?<!\$)\$\{")
_MISSING = re.compile(r"the environment variable `([^`]+)` is (?:not set|set but)")


def replace_references(text: str, value_of: Callable[[str], str]) -> str:
    """``text`` with each reference replaced by ``value_of(NAME)`` and each ``$${`` by ``${``. No template syntax is
    looked for: the text must be one that is not a template, or a part of one that is no expression."""
    if "${" not in text:
        return text
    return REFERENCE.sub(lambda match: "${" if match.group(1) is None else value_of(match.group(1)), text)


def resolve(text: str, environment: Mapping[str, str]) -> str:
    """``text`` with the values of its references. For options that are not templates.

    Raises :class:`SpecError` naming a variable that is unset, empty or blank.
    """

    def value_of(name: str) -> str:
        if is_missing(name, environment):
            raise SpecError([missing(name, environment)])
        return environment[name]

    return replace_references(text, value_of)


def is_missing(name: str, environment: Mapping[str, str]) -> bool:
    """True for a variable that is unset, or has nothing but white space in it."""
    return not environment.get(name, "").strip()


def missing(name: str, environment: Mapping[str, str]) -> Fault:
    """The fault of a variable that :func:`is_missing`."""
    state = "is not set"
    if name in environment:
        state = "is set but holds only white space" if environment[name] else "is set but empty"
    return Fault(
        f"the environment variable `{name}` {state}",
        hint=f"`export {name}=…` before you start tui-eval; $${{{name}}} stands for the text itself",
    )


def missing_variable(message: str) -> str:
    """The variable that the message of a fault says is missing, "" for any other message. AgentCompass's loader words
    it the same way."""
    match = _MISSING.match(message)
    return match[1] if match else ""


def resolve_value(value: Any, environment: Mapping[str, str]) -> Any:
    """Like :func:`resolve` for every string in plain data (keys stay as they are)."""
    if isinstance(value, str):
        return resolve(value, environment)
    if isinstance(value, dict):
        return {key: resolve_value(item, environment) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [resolve_value(item, environment) for item in value]
    return value


def find_references(value: Any, *, template: bool = True) -> set[str]:
    """Names of the variables that the strings in ``value`` refer to. With ``template`` what stands inside ``{{ … }}``
    does not count."""
    names: set[str] = set()
    for text in _strings(value):
        if "${" in text:
            for part in data_parts(text) if template else (text,):
                names.update(match.group(1) for match in REFERENCE.finditer(part) if match.group(1))
    return names


def malformed(text: str, *, template: bool = True) -> str | None:
    """A ``${`` that is no reference, such as ``${NAME:-default}``, as it stands there; None when there is none."""
    if "${" not in text:
        return None
    for part in data_parts(text) if template else (text,):
        rest = REFERENCE.sub("", part)
        match = _OPENING.search(rest)
        if match:
            return rest[match.start() : match.start() + 40].partition("}")[0] + "}"
    return None


def data_parts(text: str) -> Iterator[str]:
    """The parts of a template that are not expressions, statements or comments; the whole text when it has none of
    these, or cannot be read as a template."""
    if not is_template(text):
        yield text
        return
    from jinja2 import TemplateSyntaxError

    from tui_eval.spec.sandbox import ENVIRONMENT

    try:
        parts = [part for _, token, part in ENVIRONMENT.lexer.tokeniter(text, None) if token == "data"]
    except TemplateSyntaxError:
        parts = [text]
    yield from parts


def is_template(text: str) -> bool:
    """True when ``text`` has something for the template engine to do."""
    return "{{" in text or "{%" in text or "{#" in text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
