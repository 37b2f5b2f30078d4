"""Marks on the fields of options models that say how the loader checks and uses them.

A mark stands in an ``Annotated`` type: ``url: Annotated[str, Template]``. Third-party kinds may use them too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo


class TemplateMark:
    """``{{ … }}`` and ``${NAME}`` in the field's strings, at any depth, are rendered for each case."""


@dataclass(frozen=True, slots=True)
class ExpressionMark:
    """A JMESPath expression (for a map: its keys are), compiled when the plan is loaded. Where ``may_be_empty``, an
    empty text means the same as none."""

    may_be_empty: bool = False


class PatternMark:
    """A regular expression of Python's ``re`` (for a list: each item is), compiled when the plan is loaded."""


class SchemaMark:
    """A JSON Schema (draft 2020-12), checked when the plan is loaded."""


@dataclass(frozen=True, slots=True)
class AddressMark:
    """A URL; ``schemes`` are the ones that can be used."""

    schemes: tuple[str, ...] = ("http", "https")


class ResolvedMark:
    """``${NAME}`` is resolved when the plan is loaded; in other fields whoever uses them resolves it."""


class HeaderMark:
    """A map of HTTP headers; names and values are checked when the plan is loaded."""


# RFC 9110, section 7.6.1: these belong to the connection, which is not the user's. The length is what is sent.
HEADERS_OF_THE_CONNECTION = frozenset(
    (
        "connection",
        "content-length",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)


class VariableMark:
    """A map of environment variables; names and values are checked when the plan is loaded."""


class VerbatimMark:
    """Handed on as typed: ``${NAME}`` in it is somebody else's (a shell's)."""


Template = TemplateMark()
Expression = ExpressionMark()
OptionalExpression = ExpressionMark(may_be_empty=True)
Pattern = PatternMark()
Schema = SchemaMark()
Address = AddressMark()
ProxyAddress = AddressMark()
Resolved = ResolvedMark()
HeaderEntries = HeaderMark()
VariableEntries = VariableMark()
Verbatim = VerbatimMark()


KNOWN_MODELS = 256
"""Most models whose marks are kept: a plan of thousands of requests uses a handful of kinds."""


@lru_cache(maxsize=KNOWN_MODELS)
def field_marks(model: type[BaseModel]) -> Mapping[str, tuple[Any, ...]]:
    """Every mark of every field of a model, also those inside ``… | None``, by the field's name."""
    return {name: tuple(_marks(field)) for name, field in model.model_fields.items()}


def _marks(field: FieldInfo) -> list[Any]:
    found = list(field.metadata)
    pending = [field.annotation]
    while pending:
        annotation = pending.pop()
        found.extend(getattr(annotation, "__metadata__", ()))
        pending.extend(get_args(annotation))
    return found


def marked(model: type[BaseModel], mark: type) -> list[str]:
    """Names of the fields that carry a mark of this class."""
    return [name for name, marks in field_marks(model).items() if any(isinstance(item, mark) for item in marks)]


@lru_cache(maxsize=KNOWN_MODELS)
def inner_models(model: type[BaseModel]) -> Mapping[str, type[BaseModel] | None]:
    """The options model that each field holds (alone, or as a member of a union), None when it holds none."""
    return {name: _inner_model(field) for name, field in model.model_fields.items()}


def _inner_model(field: FieldInfo) -> type[BaseModel] | None:
    pending = [field.annotation]
    while pending:
        annotation = pending.pop()
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return annotation
        pending.extend(get_args(annotation))
    return None
