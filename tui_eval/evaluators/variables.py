"""``variable_mapping``: which parts of a case and its answer an evaluator reads.

The syntax is AgentLoop's (its contract, section 5, "variable_mapping rules"): ``experiment_input`` is what was sent,
``experiment_output`` the output, ``dataset.<column>`` a column of the case. A column is looked up by its whole name
first (``dataset.a.b`` is the column ``a.b``); only when there is none of that name, the text after the column's name
is a path into its value (``b`` in the column ``a``; a number is a position in a list, from 0).
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

from tui_eval.domain import Case, JsonValue
from tui_eval.errors import EvaluatorError

INPUT = "experiment_input"
OUTPUT = "experiment_output"
DATASET = "dataset."
COLUMNS_SHOWN = 12


def variables_for(
    mapping: Mapping[str, str], *, case: Case, output: JsonValue, sent: JsonValue
) -> dict[str, JsonValue]:
    """The value of every variable of ``mapping``, and ``output`` (the output, unless the mapping says otherwise).

    ``sent`` is the main part of the request as it may be shown. Raises :class:`EvaluatorError` when the case has no
    such column, so that the task is unscored instead of compared with nothing.
    """
    variables: dict[str, JsonValue] = {"output": output}
    for name, source in mapping.items():
        if source == OUTPUT:
            variables[name] = output
        elif source == INPUT:
            variables[name] = sent
        elif source.startswith(DATASET):
            variables[name] = _column(source.removeprefix(DATASET), name, case)
        else:
            raise EvaluatorError(f"variable_mapping.{name}: {_unknown_source(source)}")
    return variables


def check_mapping(mapping: Mapping[str, str], columns: Collection[str], partial: Collection[str] | bool) -> list[str]:
    """What is wrong with ``mapping`` for a dataset with these ``columns``; empty when nothing is.

    ``partial`` names the columns that only some cases have; they are no fault here (such a case is unscored). True
    means that ``columns`` may not be all there are, and then no column is called missing.
    """
    known = set(columns)
    if not isinstance(partial, bool):
        known |= set(partial)
    messages = []
    for name, source in mapping.items():
        if source in (INPUT, OUTPUT):
            continue
        path = source.removeprefix(DATASET)
        if not source.startswith(DATASET) or not path:
            messages.append(f"{name}: {_unknown_source(source)}")
        elif partial is not True and not any(column in known for column, _ in _readings(path)):
            messages.append(f"{name}: the dataset has no column `{path}`{_advice(path, known)}")
    return messages


def _column(path: str, name: str, case: Case) -> JsonValue:
    if path in case.input:
        return case.input[path]
    for column, rest in _readings(path):
        if column in case.input:
            return _inside(case.input[column], rest, path, name, case)
    raise EvaluatorError(
        f"nothing to compare: case `{case.id}` has no column `{path}` for {name}{_advice(path, case.input)}"
    )


def _readings(path: str) -> list[tuple[str, list[str]]]:
    """Every way to read ``path`` as a column and the steps below it, the longest column first."""
    parts = path.split(".")
    return [(".".join(parts[:count]), parts[count:]) for count in range(len(parts), 0, -1)]


def _inside(value: JsonValue, steps: list[str], path: str, name: str, case: Case) -> JsonValue:
    for step in steps:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(value):
            value = value[int(step[:9])]
        else:
            raise EvaluatorError(
                f"nothing to compare: case `{case.id}` has no `{step}` in its column for `dataset.{path}` ({name})"
            )
    return value


def _unknown_source(source: str) -> str:
    nearest = difflib.get_close_matches(source, [INPUT, OUTPUT], n=1)
    hint = f"; did you mean `{nearest[0]}`?" if nearest else ""
    return f"`{source}` is none of {INPUT}, {OUTPUT}, dataset.<column>{hint}"


def _advice(path: str, columns: Collection[str]) -> str:
    nearest = difflib.get_close_matches(path, columns, n=1) or difflib.get_close_matches(
        path.casefold(), [column for column in columns if column.casefold() == path.casefold()], n=1, cutoff=0
    )
    if nearest:
        return f"; did you mean `dataset.{nearest[0]}`?"
    if not columns:
        return ""
    shown = ", ".join(f"`{column}`" for column in list(columns)[:COLUMNS_SHOWN])
    more = f" and {len(columns) - COLUMNS_SHOWN} more" if len(columns) > COLUMNS_SHOWN else ""
    return f" (columns: {shown}{more})"
