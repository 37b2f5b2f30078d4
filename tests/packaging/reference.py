"""The tables of README.md that are made from the code. Rewrite them with ``python -m tests.packaging.reference``.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tui_eval.cli.app import VERBS
from tui_eval.cli.errors import EXIT_STATUSES
from tui_eval.spec import kinds, model
from tui_eval.spec.agentloop_options import AgentLoopOptions
from tui_eval.spec.datalayer_options import AgentServer, CloudLaunch, DatalayerOptions
from tui_eval.spec.evaluator_options import EvaluatorOptions
from tui_eval.spec.solution_options import Tls
from tui_eval.tui import keys

README = Path(__file__).parents[2] / "README.md"
_TABLE = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)

_SECTIONS = {
    "agentloop": AgentLoopOptions,
    "datalayer": DatalayerOptions,
    "plan": model.Plan,
    "runtime": model.Runtime,
    "request": model.Request,
    "dataset": model.Dataset,
    "sample": model.Sample,
    "execution": model.Execution,
    "tls": Tls,
    "datalayer server": AgentServer,
    "datalayer cloud": CloudLaunch,
}
_NAMES: dict[Any, str] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true/false",
    dict: "mapping",
    list: "list",
    tuple: "list",
    NoneType: "null",
    Any: "anything",
}


def options_table(options: type[BaseModel], without: frozenset[str] = frozenset()) -> str:
    """One row a field: its key in the file, its type, its default and what it means."""
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for name, field in options.model_fields.items():
        key = field.alias or name
        if key not in without:
            rows.append(
                f"| `{key}` | {_type(field.annotation)} | {_default(field)} | {_cell(field.description or '')} |"
            )
    return "\n".join(rows)


def _type(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _type(get_args(annotation)[0])
    if origin is Literal:
        return _cell(" | ".join(f"`{value}`" for value in get_args(annotation)))
    if origin in (Union, UnionType):
        parts = [_type(part) for part in get_args(annotation) if part is not NoneType]
        return _cell(" | ".join(dict.fromkeys(part.replace("\\|", "|") for part in parts)))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"section ({', '.join(f'`{key}`' for key in annotation.model_fields)})"
    return _NAMES.get(origin or annotation, "text")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None:
        return ""
    value = field.default
    if value is None or value is PydanticUndefined or value == "" or repr(value) == "not given":
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return f"`[{', '.join(f'{number:g}' for number in value)}]`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def kind_tables(kind_options: dict[str, type[BaseModel]], without: frozenset[str]) -> str:
    """A heading, the first paragraph of the docstring and the options of each kind."""
    parts = []
    for name, options in kind_options.items():
        text = " ".join((options.__doc__ or "").strip().split("\n\n")[0].split()).replace("``", "`")
        table = options_table(options, without)
        parts.append(f"**`{name}`**: {text}" + (f"\n\n{table}" if table.count("\n") > 1 else ""))
    return "\n\n".join(parts)


def _evaluators() -> str:
    shared = frozenset(field.alias or name for name, field in EvaluatorOptions.model_fields.items())
    options = {name: kinds.EVALUATORS[name].options_model() for name in kinds.EVALUATORS}
    return options_table(EvaluatorOptions) + "\n\n" + kind_tables(options, shared)


def _solutions() -> str:
    return kind_tables({name: kinds.SOLUTIONS[name].options_model() for name in kinds.SOLUTIONS}, frozenset({"type"}))


def _exit_statuses() -> str:
    rows = [f"| {status} | {_cell(meaning)} |" for status, meaning in EXIT_STATUSES.items()]
    return "\n".join(["| exit status | meaning |", "|---|---|", *rows])


def _verbs() -> str:
    rows = [f"| `tui-eval {name}` | {verb.summary} |" for name, verb in VERBS.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


TABLES: dict[str, Callable[[], str]] = {
    "commands": _verbs,
    "exit statuses": _exit_statuses,
    "keys": lambda: keys.keys_table().rstrip(),
    "solutions": _solutions,
    "evaluators": _evaluators,
    **{name: (lambda options=options: options_table(options)) for name, options in _SECTIONS.items()},  # type: ignore[misc]
}


def current(text: str) -> str:
    """``text`` with every table as the code says today. An unknown table name raises KeyError."""
    return _TABLE.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


def table_names(text: str) -> list[str]:
    """The tables that ``text`` holds."""
    return [found[2] for found in _TABLE.finditer(text)]


if __name__ == "__main__":
    README.write_text(current(README.read_text(encoding="utf-8")), encoding="utf-8")
