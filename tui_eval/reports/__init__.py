"""Reports of a run: one module a format, each a function over records. Nothing is imported before it is used.

A format that ships is one line of :data:`FORMATS`. A third party adds one through an entry point of the group
``tui_eval.reports`` that names a :class:`Format`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any, cast

Write = Callable[..., None]
"""``write(stream, run, requests, tasks)``: a text stream, a ``RunRecord``, its ``RequestRecord`` list and an iterable
of :class:`~tui_eval.reports.view.TaskView` that is read once. The stream should be opened with ``newline=""`` and
UTF-8."""


@dataclass(frozen=True, slots=True)
class Format:
    """``writer`` is ``module:function``, imported on first use; ``suffix`` is the usual end of a file's name."""

    writer: str
    suffix: str
    description: str

    def load(self) -> Write:
        module, _, name = self.writer.partition(":")
        return cast(Write, getattr(importlib.import_module(module), name))


FORMATS = {
    "json": Format("tui_eval.reports.json:write_json", ".json", "the whole run as one JSON value"),
    "jsonl": Format("tui_eval.reports.jsonl:write_jsonl", ".jsonl", "one task a line"),
    "csv": Format("tui_eval.reports.csv:write_csv", ".csv", "one task a row, for spreadsheets"),
    "md": Format("tui_eval.reports.markdown:write_markdown", ".md", "summary and failures to read"),
}


@cache
def report_formats() -> dict[str, Format]:
    """Every format by name: ours, then those of installed packages (which cannot replace ours)."""
    formats: dict[str, Any] = dict(FORMATS)
    for point in entry_points(group="tui_eval.reports"):
        if point.name not in formats:
            formats[point.name] = point.load()
    return formats
