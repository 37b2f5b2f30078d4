"""Cases written in the plan itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tui_eval.datasets.json_text import value_problem
from tui_eval.datasets.rows import UNKNOWN, Item, Row, bad_row


def read(cases: Sequence[dict[str, Any]]) -> Iterator[Item]:
    """One item for each case; a value that JSON does not know (possible when a plan is made in Python) is a fault."""
    for index, columns in enumerate(cases):
        if problem := value_problem(columns):
            yield bad_row(problem, "", path=f"dataset.cases[{index}]")
        else:
            yield Row(columns, 0, UNKNOWN)
