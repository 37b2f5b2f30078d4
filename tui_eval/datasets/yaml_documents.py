"""YAML documents: a list of mappings, at the top, under ``cases:``, or where ``records`` (JMESPath) says.

What plain scalars mean is the plan files' rule (``spec.scalars``): only canonical numbers, true, false and null are
values of their own; ``NO``, ``012``, ``1:30`` or a date stay the text that was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_eval.datasets.encoding import detect, read_text
from tui_eval.datasets.files import InputFile, refuse_foreign
from tui_eval.datasets.json_documents import kind_of, list_inside, records_hint
from tui_eval.datasets.json_text import value_problem
from tui_eval.datasets.limits import DOCUMENT_SETTING, Limits
from tui_eval.datasets.rows import BEGIN, UNKNOWN, Item, Place, Reading, Row, bad_row, excerpt, listed, refusal
from tui_eval.domain import JsonValue, as_text
from tui_eval.errors import DatasetError, SpecError
from tui_eval.spec.model import Dataset
from tui_eval.spec.source import Document, parse_document

_NOTHING = re.compile(r"(?:[ \t]*(?:#[^\n]*|---|\.\.\.)?[ \t\r]*(?:\n|\Z))*")
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")


def read(file: InputFile, options: Dataset, limits: Limits, reading: Reading, start: Place = BEGIN) -> Iterator[Item]:
    """The records of a document in order. Raises DatasetError with the faults of the YAML itself."""
    head = file.head()
    refuse_foreign(file, head, "YAML")
    if file.size > limits.yaml_document:
        message = f"the document has {file.size} bytes, at most {limits.yaml_document} are read as YAML"
        hint = f"save the cases as JSON lines, or raise it with the environment variable {DOCUMENT_SETTING}"
        raise refusal(message, file.name, hint=hint)
    text = "".join(read_text(file, detect(file, head, options.encoding, reading)))
    if _NOTHING.fullmatch(text):
        reading.notes.append("the file is empty")
        return
    try:
        document = parse_document(text, file.name)
    except SpecError as error:
        raise DatasetError(error.faults) from error
    cases, path = _list(document, options.records, file.name)
    for index, value in enumerate(cases):
        line = document.place((*path, index))[0] if path is not None else 0
        where = "" if line else f"record {index + 1}"
        if not isinstance(value, dict):
            message = f"{kind_of(value)}, expected a mapping: `{excerpt(as_text(value))}`"
            yield bad_row(message, file.name, line=line, path=where)
        elif problem := value_problem(value):
            yield bad_row(problem, file.name, line=line, path=where)
        else:
            yield Row(value, line, UNKNOWN)


def _list(document: Document, records: str | None, name: str) -> tuple[list[JsonValue], tuple[str, ...] | None]:
    """The list of cases and the keys that lead to it (None: not known, so lines are not either)."""
    data = document.data
    if records is not None:
        found = list_inside(data, records, name)
        return found, tuple(records.split(".")) if _DOTTED.fullmatch(records) else None
    if isinstance(data, list):
        return data, ()
    if isinstance(data, dict) and isinstance(data.get("cases"), list):
        return data["cases"], ("cases",)
    what = f"a mapping with the keys {listed(list(data))}" if isinstance(data, dict) else kind_of(data)
    message = f"the document is {what}, expected a list of mappings or a list under `cases:`"
    raise refusal(message, name, line=1, hint=records_hint(data))
