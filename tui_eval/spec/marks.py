"""Marks on the fields of options models that say how the loader checks and uses them.

A mark stands in an ``Annotated`` type: ``url: Annotated[str, Template]``. Third-party kinds may use them too.
"""

from __future__ import annotations

from dataclasses import dataclass
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
ProxyAddress = AddressMark(("http", "https", "socks5", "socks5h"))
Resolved = ResolvedMark()
HeaderEntries = HeaderMark()
VariableEntries = VariableMark()
Verbatim = VerbatimMark()


def marks(field: FieldInfo) -> list[Any]:
    """Every mark of a field, also those inside ``… | None``."""
    found = list(field.metadata)
    pending = [field.annotation]
    while pending:
        annotation = pending.pop()
        found.extend(getattr(annotation, "__metadata__", ()))
        pending.extend(get_args(annotation))
    return found


def marked(model: type[BaseModel], mark: type) -> list[str]:
    """Names of the fields that carry a mark of this class."""
    return [name for name, field in model.model_fields.items() if any(isinstance(item, mark) for item in marks(field))]


def mark_of(field: FieldInfo, mark: type) -> Any:
    """The field's mark of this class, None when it has none."""
    return next((item for item in marks(field) if isinstance(item, mark)), None)


def inner_model(field: FieldInfo) -> type[BaseModel] | None:
    """The options model that a field holds (alone, or as a member of a union), None when it holds none."""
    pending = [field.annotation]
    while pending:
        annotation = pending.pop()
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return annotation
        pending.extend(get_args(annotation))
    return None
