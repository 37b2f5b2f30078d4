"""Checking a part of a file against its model: every fault with its place and a nearest valid key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tui_eval.spec import model as plan_model
from tui_eval.spec.credentials import is_secret_name
from tui_eval.spec.findings import Findings, moved
from tui_eval.spec.nearest import nearest, suggestion
from tui_eval.spec.nodes import Key, Node, dotted

Model = TypeVar("Model", bound=BaseModel)
SHOWN_VALUE = 60
"""Most characters of a wrong value in a message."""


def validated(
    model: type[Model], node: Node, findings: Findings, *, partial: bool = False, what: str = ""
) -> Model | None:
    """``node`` as a ``model``, None when it is not one (the faults are in ``findings``).

    Texts are taken as typed: ``name: 123`` is the text ``123``, ``x: 1.10`` is ``1.10``. With ``partial`` what is
    missing and what concerns several keys at once is no fault. ``what`` names the part in messages.
    """
    if not node.is_map:
        findings.add(node.place, f"{what or 'this'} must be a map of keys, not {_kind(node.value)}")
        return None
    data = node.data()
    for _ in range(2):
        try:
            return model.model_validate(data)
        except ValidationError as error:
            errors = error.errors(include_url=False)
        if not _put_texts_as_typed(data, node, errors):
            break
    for detail in errors:
        if not (partial and (detail["type"] == "missing" or not detail["loc"])):
            _report(model, node, detail, findings, what)
    return None


def known_keys(model: type[BaseModel]) -> list[str]:
    """The keys a file may have for ``model``."""
    return [field.alias or name for name, field in model.model_fields.items()]


def check_keys(
    node: Node, known: Iterable[str], findings: Findings, what: str, advice: Mapping[str, str] | None = None
) -> None:
    """Add a fault for each key of a map that is not known. ``advice`` has hints for some keys."""
    known = list(known)
    for key in node.value:
        if key not in known:
            hint = (advice or {}).get(key) or unknown_key_hint(key, known)
            findings.add(node.keys.get(key, node.place), f"unknown key `{key}`{f' in {what}' if what else ''}", hint)


def unknown_key_hint(key: str, known: Iterable[str]) -> str:
    """What was probably meant: a key of the same section, or the section that the key belongs to."""
    known = list(known)
    home = _homes().get(key)
    if home is not None and nearest(key, known) is None:
        return f"`{key}` belongs in {home}"
    return suggestion(key, known)


@cache
def _homes() -> dict[str, str]:
    """The section that a key belongs to, for keys that belong to one section only."""
    sections: dict[str, type[BaseModel]] = {
        "the plan itself": plan_model.PlanHead,
        "`runtime`": plan_model.Runtime,
        "a request": plan_model.Request,
        "`execution`": plan_model.Execution,
        "`dataset.sample`": plan_model.Sample,
        "`dataset`": plan_model.Dataset,
    }
    homes: dict[str, str] = {}
    for section, described in sections.items():
        for key in known_keys(described):
            homes[key] = "" if key in homes else section
    return {key: section for key, section in homes.items() if section}


def _put_texts_as_typed(data: Any, node: Node, errors: Sequence[ErrorDetails]) -> bool:
    """Replace values that must be text by the scalar as typed; True when there was one."""
    changed = False
    for detail in errors:
        if detail["type"] not in ("string_type", "literal_error"):
            continue
        steps = _steps(node, detail["loc"])
        target, _, count = node.find(steps)
        if count and count == len(steps) and target.typed is not None and not isinstance(target.value, str | None):
            holder = data
            for step in steps[:-1]:
                holder = holder[step]
            if not isinstance(holder[steps[-1]], str):
                holder[steps[-1]] = target.typed
                changed = True
    return changed


def _steps(node: Node, loc: Sequence[Key]) -> list[Key]:
    """The part of an error's place that is in the file: without the names of union members and of keys."""
    steps: list[Key] = []
    for part in loc:
        found, _, count = node.find([*steps, part])
        if part != "[key]" and (count == len(steps) + 1 or (part == loc[-1] and found.is_map)):
            steps.append(part)
    return steps


def _report(model: type[BaseModel], node: Node, detail: ErrorDetails, findings: Findings, what: str) -> None:
    kind, loc = detail["type"], detail["loc"]
    steps = _steps(node, loc)
    target, place, count = node.find(steps)
    if kind == "missing":
        holder = node.find(loc[:-1])[0]
        key = str(loc[-1])
        described = _description(model, loc)
        inside = f" in {what}" if what and len(loc) == 1 else ""
        message = f"`{key}` is missing{inside}{f': {described}' if described else ''}"
        near = nearest(key, holder.value) if holder.is_map else None
        hint = f"is `{near}` meant to be `{key}`?" if near and near not in _keys_at(model, loc[:-1]) else ""
        findings.add(moved(holder.place, (*holder.place.path, key)), message, hint)
    elif kind == "extra_forbidden":
        key = str(loc[-1])
        holder = node.find(loc[:-1])[0]
        place = holder.keys.get(key, place)
        where = f"`{dotted(steps[:-1] if steps[-1:] == [key] else steps)}`" if len(loc) > 1 else what
        message = f"unknown key `{key}`{f' in {where}' if where else ''}"
        findings.add(place, message, unknown_key_hint(key, _keys_at(model, loc[:-1])))
    else:
        if not loc:
            place = node.place
        secret = any(is_secret_name(str(step)) for step in steps)
        findings.add(
            place, _message(detail, target if count == len(steps) else None, secret), _hint(model, detail, target)
        )


def _message(detail: ErrorDetails, target: Node | None, secret: bool) -> str:
    text = detail["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    text = _SUBJECT.sub("must ", text)
    text = _WORDS.get(detail["type"], text)
    if detail["type"] in ("value_error", "string_too_short", "too_short"):
        return text
    shown = "" if target is None or secret else f", not {_kind(target.value, target.typed)}"
    return f"{text}{shown}"


_SUBJECT = re.compile(r"^(String|List|Tuple|Dictionary|Value) should ")
_WORDS = {
    "string_type": "must be a text",
    "dict_type": "must be a map",
    "list_type": "must be a list",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "model_type": "must be a map",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
}


def _hint(model: type[BaseModel], detail: ErrorDetails, target: Node) -> str:
    if detail["type"] == "literal_error" and isinstance(target.value, str):
        expected = str(detail.get("ctx", {}).get("expected", ""))
        near = nearest(target.value, expected.replace(" or ", ", ").replace("'", "").split(", "))
        return f"did you mean `{near}`?" if near else ""
    if detail["type"] == "string_pattern_mismatch":
        return _description(model, detail["loc"])
    return ""


def _kind(value: Any, typed: str | None = None) -> str:
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    text = str(typed if typed is not None else value)
    return f"`{text if len(text) <= SHOWN_VALUE else text[:SHOWN_VALUE] + '…'}`"


def _model_at(model: type[BaseModel], loc: Sequence[Key]) -> type[BaseModel] | None:
    """The model that describes the map at ``loc`` inside a ``model``."""
    current: type[BaseModel] | None = model
    for part in loc:
        if current is None:
            return None
        field = next((item for name, item in current.model_fields.items() if (item.alias or name) == part), None)
        if field is None:
            continue  # the name of a union's member
        annotation = field.annotation
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        current = next((one for one in candidates if isinstance(one, type) and issubclass(one, BaseModel)), None)
    return current


def _keys_at(model: type[BaseModel], loc: Sequence[Key]) -> list[str]:
    found = _model_at(model, loc)
    return known_keys(found) if found is not None else []


def _description(model: type[BaseModel], loc: Sequence[Key]) -> str:
    found = _model_at(model, loc[:-1])
    if found is None:
        return ""
    field = next((item for name, item in found.model_fields.items() if (item.alias or name) == loc[-1]), None)
    return (field.description or "").rstrip(".") if field is not None else ""
