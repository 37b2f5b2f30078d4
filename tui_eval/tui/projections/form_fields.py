"""A model class as fields of a form, and what is typed into them as the values of a plan file.

The model is the only declaration: keys, kinds of input, defaults and descriptions all come from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tui_eval.domain import JsonValue, as_text

Path = tuple[str, ...]
UNSET: Any = type("Unset", (), {"__repr__": lambda self: "unset"})()
"""The value of a field that is left empty: the key is not written."""

SEVERAL_LINES = frozenset(("system", "prompt", "text", "stdin_text", "rubric", "command", "description", "note"))
"""Names of text fields that usually hold several lines. Another one says ``json_schema_extra={"multiline": True}``."""


class FieldKind(Enum):
    """How a field is filled in."""

    TEXT = auto()  # one line
    PROSE = auto()  # a text of several lines
    NUMBER = auto()
    CHOICE = auto()  # one of a few values; true and false are
    LINES = auto()  # a list of texts, one a line
    MAPPING = auto()  # key: value, one a line
    DATA = auto()  # anything, as YAML or JSON


@dataclass(frozen=True, slots=True)
class FormField:
    """One field. ``path`` are the keys as a plan file has them; a nested model's fields have several.

    ``default`` is how the default reads, "" for none. ``choices`` are labels with values. ``optional`` says that null
    may be given. ``texts`` marks mappings whose values are texts.
    """

    path: Path
    kind: FieldKind
    required: bool = False
    description: str = ""
    default: str = ""
    choices: tuple[tuple[str, JsonValue], ...] = ()
    optional: bool = False
    texts: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.path)


def fields_of(model: type[BaseModel], skip: Sequence[str] = (), above: Path = ()) -> list[FormField]:
    """The fields of a model in its order, those of nested models in the place of the field that holds them."""
    found: list[FormField] = []
    for name, info in model.model_fields.items():
        key = info.alias or name
        if key in skip:
            continue
        annotation, optional = _without_none(info.annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found += fields_of(annotation, above=(*above, key))
        else:
            found.append(_field((*above, key), info, annotation, optional))
    return found


def _field(path: Path, info: FieldInfo, annotation: Any, optional: bool) -> FormField:
    kind, choices = _kind(path[-1], info, annotation)
    if choices and optional and info.default is not None:
        choices = (*choices, ("null", None))
    return FormField(
        path,
        kind,
        required=info.is_required(),
        description=info.description or "",
        default=_default(info),
        choices=choices,
        optional=optional or annotation is Any,
        texts=kind is FieldKind.MAPPING and get_args(annotation)[1:] == (str,),
    )


def _kind(name: str, info: FieldInfo, annotation: Any) -> tuple[FieldKind, tuple[tuple[str, JsonValue], ...]]:
    origin = get_origin(annotation)
    if annotation is bool:
        return FieldKind.CHOICE, (("true", True), ("false", False))
    if origin is Literal:
        return FieldKind.CHOICE, tuple((as_text(value), value) for value in get_args(annotation))
    if annotation is str:
        extra = info.json_schema_extra
        prose = name in SEVERAL_LINES or (isinstance(extra, dict) and bool(extra.get("multiline")))
        return (FieldKind.PROSE if prose else FieldKind.TEXT), ()
    if annotation in (int, float):
        return FieldKind.NUMBER, ()
    if origin is list and [_plain(each) for each in get_args(annotation)] == [str]:
        return FieldKind.LINES, ()
    if annotation is dict or origin is dict:
        return FieldKind.MAPPING, ()
    return FieldKind.DATA, ()


def _plain(annotation: Any) -> Any:
    """An annotation without its marks."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """What may be given besides null, and whether null may be."""
    annotation = _plain(annotation)
    if get_origin(annotation) not in (Union, UnionType):
        return annotation, False
    members = [_plain(each) for each in get_args(annotation)]
    others = [each for each in members if each is not NoneType]
    return reduce(or_, others), len(others) < len(members)


def _default(info: FieldInfo) -> str:
    if info.is_required() or info.default is None:
        return ""
    value = info.default
    if value is PydanticUndefined:
        value = info.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, dict | list | tuple | str | int | float | bool) and value not in ({}, [], ""):
        return as_text(list(value) if isinstance(value, tuple) else value)
    return ""


# -- texts and values --


def read_text(field: FormField, text: str) -> JsonValue:
    """What was typed as a value, :data:`UNSET` for nothing. Raises ValueError saying what is wrong with it."""
    if field.kind in (FieldKind.TEXT, FieldKind.PROSE):
        return "" if text == '""' else text or UNSET
    if not text.strip():
        return UNSET
    if field.kind is FieldKind.NUMBER:
        return _number(text.strip())
    if field.kind is FieldKind.LINES:
        return _lines(text)
    if field.kind is FieldKind.MAPPING:
        return _mapping(text, field)
    return _data(text)


def write_text(field: FormField, value: JsonValue) -> str:
    """A value as it would be typed; :func:`read_text` gives it back, but for the few that cannot be typed."""
    if isinstance(value, str) and field.kind in (FieldKind.TEXT, FieldKind.PROSE):
        return value or '""'
    if isinstance(value, list) and field.kind is FieldKind.LINES and all(isinstance(each, str) for each in value):
        plain = "\n".join(value)
        if value and _or_nothing(_lines, plain) == value:
            return plain
        return _quoted(value)
    if field.kind is FieldKind.DATA and isinstance(value, str) and _or_nothing(_data, value) == value:
        return value
    if isinstance(value, float):
        from tui_eval.spec.scalars import usual_text

        return usual_text(value)  # one in exponent form would be read as a text
    if not isinstance(value, dict | list) or not value:
        return _quoted(value)
    from tui_eval.spec.compose import data_text

    return data_text(value).removesuffix("\n")


def _quoted(value: JsonValue) -> str:
    """A value as JSON, what cannot be printed as escapes."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in text)


def _or_nothing(read: Any, text: str) -> JsonValue:
    try:
        return read(text)
    except ValueError:
        return UNSET


def _number(text: str) -> JsonValue:
    from tui_eval.spec.scalars import plain_value

    value = plain_value(text)
    return text if isinstance(value, bool) else value


def _lines(text: str) -> JsonValue:
    """One item a line, empty lines left out; or a JSON list, which can hold any text."""
    if text.lstrip().startswith("["):
        value = _or_nothing(_data, text)
        if isinstance(value, list):
            return value
    return [line for line in text.split("\n") if line.strip()]


def _mapping(text: str, field: FormField) -> JsonValue:
    root = _root(text)
    if root.is_map and field.texts:
        scalars = (dict, list)
        return {
            key: child.typed if child.typed is not None and not isinstance(child.value, scalars) else child.data()
            for key, child in root.value.items()
        }
    if root.value is None and field.optional:
        return None
    if not root.is_map:
        raise ValueError("must be a map: write `key: value`, one a line")
    return root.data()


def _data(text: str) -> JsonValue:
    if text.strip().startswith(("{{", "{%")):
        return text  # in a plan file such a text stands in quotes; nothing else can be meant here
    return _root(text).data()


def _root(text: str) -> Any:
    from tui_eval.spec.source import compose

    root, faults = compose(text, "")
    if faults or root is None:
        fault = faults[0]
        where = f"line {fault.line}: " if fault.line > 1 or "\n" in text.strip() else ""
        raise ValueError(f"{where}{fault.message}" + (f" ({fault.hint})" if fault.hint else ""))
    return root


# -- values and mappings --


def at(data: Mapping[str, JsonValue], path: Path) -> JsonValue:
    """The value at a path of keys, :data:`UNSET` when there is none."""
    value: Any = data
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return UNSET
        value = value[key]
    return value


def put(data: dict[str, JsonValue], path: Path, value: JsonValue) -> None:
    """Set the value at a path, making the maps on the way."""
    for key in path[:-1]:
        inner = data.get(key)
        if not isinstance(inner, dict):
            inner = data[key] = {}
        data = inner
    data[path[-1]] = value


def left_over(data: Mapping[str, JsonValue], fields: Sequence[FormField]) -> dict[str, JsonValue]:
    """What of ``data`` no field takes: it is kept as it is."""
    known = {field.path for field in fields}
    rest: dict[str, JsonValue] = {}
    for path, value in _entries(data, known):
        put(rest, path, value)
    return rest


def _entries(data: Mapping[str, JsonValue], known: set[Path], above: Path = ()) -> Iterator[tuple[Path, JsonValue]]:
    for key, value in data.items():
        path = (*above, key)
        if path in known:
            continue
        if isinstance(value, Mapping) and any(each[: len(path)] == path for each in known):
            yield from _entries(value, known, path)
        else:
            yield path, value
