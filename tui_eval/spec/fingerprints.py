"""The fingerprint of how an answer is judged: of the evaluators, and of what they read from the case.

The fingerprint of what is sent is made by ``templates``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tui_eval.domain import Case, JsonValue, canonical_json

if TYPE_CHECKING:
    from tui_eval.spec.requests import LoadedRequest

_COLUMN = "dataset."


def evaluation_template(request: LoadedRequest) -> Callable[[Case], str]:
    """A function from a case to 32 hex digits: equal means judged by the same evaluators against the same values.

    Values of ``${NAME}`` do not count.
    """
    stored = [evaluator.stored for evaluator in request.evaluators]
    static = hashlib.sha256(canonical_json(stored).encode("utf-8", "surrogatepass"))
    mappings = (options.get("variable_mapping") or {} for options in stored)
    columns = sorted(
        {source[len(_COLUMN) :] for mapping in mappings for source in mapping.values() if source.startswith(_COLUMN)}
    )
    if not columns:
        constant = static.hexdigest()[:32]
        return lambda case: constant

    def fingerprint(case: Case) -> str:
        digest = static.copy()
        values = [read_column(case.input, column) for column in columns]
        digest.update(canonical_json(values).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:32]

    return fingerprint


def read_column(columns: Mapping[str, JsonValue], name: str) -> list[JsonValue]:
    """The value of a column in a list, an empty list when it is not there. A name with dots is a path into maps when
    no column has that very name."""
    if name in columns:
        return [columns[name]]
    value: Any = columns
    for step in name.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return []
        value = value[step]
    return [value]
