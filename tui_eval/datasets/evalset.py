"""Datalayer evalsets as datasets: a row a case, with its prompt, what is expected and the evaluators that apply.

The rules are in :mod:`tui_eval.spec.evalset`. Columns: ``id`` (the case's name, made unique), ``name``, ``prompt``,
``inputs``, ``expected_output``, ``evaluators``, ``category``, ``difficulty``, ``metadata``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tui_eval.datasets.files import InputFile
from tui_eval.datasets.limits import Limits
from tui_eval.datasets.rows import BEGIN, UNKNOWN, Item, Place, Reading, Row
from tui_eval.errors import DatasetError, SpecError
from tui_eval.spec.evalset import load_evalset
from tui_eval.spec.model import Dataset


def read(file: InputFile, options: Dataset, limits: Limits, reading: Reading, start: Place = BEGIN) -> Iterator[Item]:
    """The cases in order. Raises DatasetError with every fault of the evalset."""
    file.open().close()  # it must still be the file that was opened
    try:
        evalset = load_evalset(file.path)
    except SpecError as error:
        raise DatasetError(error.faults) from error
    for fault in evalset.warnings:
        hint = f" ({fault.hint})" if fault.hint else ""
        note = f"line {fault.line}: {fault.path}: {fault.message}{hint}"
        if note not in reading.notes:
            reading.notes.append(note)
    for case in evalset.cases:
        yield Row(case.row(), case.line, UNKNOWN)
