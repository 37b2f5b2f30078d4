"""Checking what is written in another language inside a plan: JMESPath, regular expressions, JSON Schema, addresses.

Each function returns what is wrong, with the position (from 1) where the language gives one, or None.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import urlsplit

from tui_eval.spec.nearest import suggestion


def expression_fault(text: str) -> str | None:
    """What is wrong with a JMESPath expression."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        with warnings.catch_warnings():  # an old way to write literals that still works
            warnings.simplefilter("ignore")
            parsed = jmespath.compile(text)
    except JMESPathError as error:
        at = getattr(error, "lex_position", None)
        where = f" at character {at + 1}" if isinstance(at, int) and at >= 0 else ""
        return f"not a JMESPath expression{where}: {_in_words(error)}"
    except (RecursionError, ValueError) as error:
        return f"not a JMESPath expression: {type(error).__name__}"
    try:
        return next(_call_faults(cast(dict[str, Any], parsed.parsed)), None)
    except RecursionError:
        return "not a JMESPath expression: too deeply nested"


def _in_words(error: Exception) -> str:
    """What is wrong, without the names that JMESPath's own parser has for its tokens."""
    from jmespath.exceptions import IncompleteExpressionError, LexerError, ParseError

    if isinstance(error, LexerError):
        reason = str(error).splitlines()[0].partition(": ")[2].rstrip(": ")
        advice = '; a key that is no plain word stands in double quotes: "a-b"' if reason.startswith("Unknown") else ""
        return reason[:1].lower() + reason[1:] + advice
    if isinstance(error, IncompleteExpressionError) or getattr(error, "token_type", "") == "EOF":
        return "it ends before it is complete"
    if isinstance(error, ParseError):
        return f"`{error.token_value}` is not expected there"
    return str(error).splitlines()[0].partition(": ")[2].rstrip(": ") or type(error).__name__


def _call_faults(tree: dict[str, Any]) -> Iterator[str]:
    """Functions that do not exist, or get the wrong number of arguments: JMESPath itself says so only when called."""
    from jmespath.functions import Functions

    table: dict[str, Any] = Functions.FUNCTION_TABLE
    if tree.get("type") == "function_expression":
        name, given = str(tree["value"]), len(tree["children"])
        if name not in table:
            hint = suggestion(name, table)
            yield f"JMESPath has no function `{name}`{f': {hint}' if hint else ''}"
        else:
            signature = table[name]["signature"]
            variadic = bool(signature) and signature[-1].get("variadic", False)
            if given < len(signature) or (given > len(signature) and not variadic):
                yield f"`{name}` takes {len(signature)}{' or more' if variadic else ''} arguments, not {given}"
    for child in tree.get("children", ()):
        if isinstance(child, dict):
            yield from _call_faults(child)


def pattern_fault(text: str) -> str | None:
    """What is wrong with a regular expression."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(text)
    except re.error as error:
        where = f" at character {error.pos + 1}" if error.pos is not None else ""
        return f"not a regular expression{where}: {error.msg}"
    except (RecursionError, OverflowError) as error:
        return f"not a regular expression: {error}"
    return None


def schema_fault(schema: Any) -> str | None:
    """What is wrong with a JSON Schema (draft 2020-12 unless ``$schema`` says otherwise). Nothing is fetched."""
    import jsonschema
    from jsonschema.validators import validator_for

    if isinstance(schema, bool):
        return None
    for keyword, value in _keywords(schema):
        if keyword in ("$ref", "$dynamicRef") and isinstance(value, str) and not value.startswith("#"):
            return f"`{keyword}: {value}` points outside the schema: nothing is fetched, put the part under `$defs`"
        if keyword == "pattern" and isinstance(value, str) and (fault := pattern_fault(value)):
            return f"`pattern`: {fault}"
    if "$schema" in schema and validator_for(schema, default=None) is None:  # type: ignore[arg-type]
        return f"`$schema` names no known draft: {schema['$schema']!r}"
    validator = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        where = "/".join(str(step) for step in error.absolute_path)
        return f"not a JSON Schema{f' at `{where}`' if where else ''}: {error.message[:200]}"
    except RecursionError:
        return "not a JSON Schema: too deeply nested"
    return None


def _keywords(schema: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key not in ("const", "default", "enum", "examples"):
                yield key, value
                yield from _keywords(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _keywords(item)


def address_fault(text: str, schemes: tuple[str, ...]) -> str | None:
    """What is wrong with an address, as far as it is written out: what comes from ``{{ … }}`` or ``${NAME}`` is
    not known here."""
    opened = [at for at in (text.find("{{"), text.find("{%"), text.find("${")) if at >= 0]
    written = text[: min(opened)] if opened else text
    allowed = " or ".join(f"{scheme}://" for scheme in schemes[:2])
    if not text.strip():
        return f"an address is needed: it starts with {allowed}"
    if opened and not written:
        return None
    if any(character.isspace() for character in written):
        return "an address holds no white space"
    scheme, separator, rest = written.partition("://")
    if not separator:
        if opened and _could_become_scheme(written, schemes):
            return None
        return f"an address starts with {allowed}, not `{_without_credentials(written)[:30]}`"
    if scheme.lower() not in schemes:
        return f"`{scheme[:30]}://` cannot be used here: an address starts with {allowed}"
    if not opened:
        return _host_fault(written)
    return "the address has no host" if rest.startswith("/") else None


def _could_become_scheme(written: str, schemes: tuple[str, ...]) -> bool:
    return any(f"{scheme}://".startswith(written.lower()) for scheme in schemes)


_HOST = re.compile(r"[A-Za-z0-9._~:-]+")  # what can be called: no zone of an IPv6 address, nothing percent-encoded


def _host_fault(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        return f"not an address: {error}"
    if not host:
        return "the address has no host"
    if host.isascii() and not _HOST.fullmatch(host):
        return f"`{host[:60]}` cannot be the name of a host"
    return "port 0 cannot be called" if port == 0 else None


_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110, section 5.6.2


_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NOT_WRITTEN_OUT = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\$\{[^}]*\}", re.DOTALL)


def header_fault(name: str, value: str) -> str | None:
    """What is wrong with an HTTP header as it is written."""
    if not _HEADER_NAME.fullmatch(name):
        return f"{name[:60]!r} cannot be the name of a header"
    written = _NOT_WRITTEN_OUT.sub("", value).strip(" \t")
    if _CONTROL.search(written):
        return "the value of a header holds no line break or other control character"
    if any(character > "\xff" for character in written):
        return "a header can carry Latin-1 only: encode what is beyond it (`| urlencode` in a template)"
    return None


def variable_fault(name: str, value: str) -> str | None:
    """What is wrong with an environment variable as it is written."""
    if not name or "=" in name or "\0" in name:
        return f"{name[:60]!r} cannot be the name of a variable"
    return "the value of a variable holds no NUL" if "\0" in value else None


def _without_credentials(text: str) -> str:
    return text.rpartition("@")[2]
