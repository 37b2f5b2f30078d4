"""A JSON Schema (draft 2020-12) of plan files, for editors. Made from the models, so it never lags behind them.

It is a little wider than the loader where a schema cannot know more: a section of a request may be a part of what the
defaults complete, a text may be typed as a number, a number as a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from tui_eval.spec import kinds
from tui_eval.spec.model import Dataset, Execution, PlanHead, Request

_USE = {"type": "string", "description": "A saved file below the plan's folder; the other keys merge over it."}


def plan_schema() -> dict[str, Any]:
    """The schema. Kinds of installed packages are in it too; raises :class:`~tui_eval.errors.SpecError` when one
    cannot be loaded."""
    definitions: dict[str, Any] = {}
    head = _schema_of(PlanHead, definitions)
    sections = {
        "dataset": _partial(_schema_of(Dataset, definitions), use=True),
        "solution": _one_of("type", kinds.solution_kinds(), "solution", definitions),
        "evaluators": {"type": "array", "items": _one_of("id", kinds.evaluator_kinds(), "evaluator", definitions)},
        "execution": _partial(_schema_of(Execution, definitions)),
        "tags": head["properties"]["tags"],
    }
    definitions.update(sections)
    by_reference = {name: {"$ref": f"#/$defs/{name}"} for name in sections}
    name = _schema_of(Request, {})["properties"]["name"]
    definitions["request"] = {
        "type": "object",
        "description": "One named evaluation; its sections merge over those of the defaults.",
        "properties": {"name": name, **by_reference},
        "required": ["name"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tui_eval plan",
        "type": "object",
        "properties": {
            **head["properties"],
            **{name: _schema_of(kind.options_model(), definitions) for name, kind in kinds.PLATFORMS.items()},
            "defaults": {
                "type": "object",
                "description": "Sections that every request starts from.",
                "properties": by_reference,
                "additionalProperties": False,
            },
            "requests": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/request"}},
        },
        "required": ["version", "name", "requests"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _schema_of(model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of one model in the words of the file; the models inside it go to ``definitions``."""
    schema = model.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    for name, inner in schema.pop("$defs", {}).items():
        definitions[name] = _as_typed(inner)
    typed: dict[str, Any] = _as_typed(schema)
    return typed


def _as_typed(schema: Any) -> Any:
    """Allow what the loader allows: numbers and truth values where text is declared, and the other way round."""
    if isinstance(schema, list):
        return [_as_typed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: value if key in ("default", "const", "enum") else _as_typed(value) for key, value in schema.items()}
    kind = schema.get("type")
    if kind == "string" and "enum" not in schema and "const" not in schema:
        result["type"] = ["string", "number", "boolean"]
    elif kind in ("integer", "number", "boolean"):
        result["type"] = [kind, "string"]
    return result


def _partial(schema: dict[str, Any], *, use: bool = False) -> dict[str, Any]:
    """The same with nothing required, and ``use`` where a saved file may be the base."""
    properties = {**schema["properties"], **({"use": _USE} if use else {})}
    return {**{key: value for key, value in schema.items() if key != "required"}, "properties": properties}


def _one_of(key: str, known: Mapping[str, kinds.Kind], prefix: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """Any kind by its ``key``, or a part without one, which the defaults or a saved file complete."""
    branches: list[dict[str, Any]] = []
    every_property: dict[str, Any] = {}
    for name, kind in known.items():
        schema = _partial(_schema_of(kind.options_model(), definitions), use=True)
        properties = {**schema["properties"], key: {"const": name}}
        definitions[f"{prefix}_{name}"] = {**schema, "properties": properties, "required": [key]}
        branches.append({"$ref": f"#/$defs/{prefix}_{name}"})
        every_property.update({one: {} for one in properties})
    del every_property[key]
    definitions[f"{prefix}_part"] = {
        "type": "object",
        "description": f"A part of a {prefix}; its `{key}` comes from the defaults or from a saved file.",
        "properties": every_property,
        "additionalProperties": False,
    }
    branches.append({"$ref": f"#/$defs/{prefix}_part"})
    return {"oneOf": branches}
