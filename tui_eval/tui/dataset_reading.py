"""Datasets of a workspace: what is in them, counted and looked through. For threads, and stoppable in the middle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.datasets.source import open_dataset
from tui_eval.datasets.watching import WatchedSource, Watcher
from tui_eval.errors import DatasetError, Fault
from tui_eval.spec.model import Dataset
from tui_eval.tui.dataset_shelf import DatasetFacts
from tui_eval.tui.plan_reading import PlanShelf, Stamp, stamp_of

if TYPE_CHECKING:
    from tui_eval.datasets.survey import Survey
    from tui_eval.spec.workspace import Found

FIRST_ROWS = 50
"""Cases whose columns are listed before the whole file was looked through."""
_HOW_IT_IS_READ = ("format", "id", "encoding", "records", "delimiter", "json_columns", "skip_bad_lines")
_LONGEST_LINE = 64 * 1024
_DOCUMENTS = (".json", ".yaml", ".yml")


def watched(path: Path, settings: Mapping[str, Any], watcher: Watcher) -> WatchedSource:
    """The dataset at ``path``, read with ``settings``. Raises DatasetError."""
    spec = Dataset.model_validate({**settings, "path": str(path).replace("${", "$${")})
    return WatchedSource(open_dataset(spec, path.parent), watcher)


def describe(path: Path, settings: Mapping[str, Any], settings_of: str, watcher: Watcher) -> DatasetFacts:
    """Format, size and columns of the first cases. A document whose list stands under ``cases`` is found out."""
    stamp = stamp_of(path)
    tries: list[Mapping[str, Any]] = [settings]
    if "records" not in settings and path.suffix.lower() in _DOCUMENTS:
        tries.append({**settings, "records": "cases"})
    trouble: tuple[Fault, ...] = ()
    found: list[DatasetFacts] = []
    for how in tries:
        try:
            found.append(_described(path, stamp, how, settings_of, watcher))
        except DatasetError as error:
            trouble = trouble or error.faults
        if found and found[-1].columns:
            return found[-1]
    if found and not trouble:
        return found[0]
    return DatasetFacts(path, stamp, stamp[1] if stamp else 0, "", settings, settings_of, trouble=trouble)


def _described(
    path: Path, stamp: Stamp | None, settings: Mapping[str, Any], settings_of: str, watcher: Watcher
) -> DatasetFacts:
    source = watched(path, settings, watcher)
    try:
        cases = source.rows(0, FIRST_ROWS)
    finally:
        source.close()
    columns = dict.fromkeys(name for case in cases for name in case.input)
    return DatasetFacts(
        path, stamp, source.size, source.format, settings, settings_of, tuple(columns), source.id_column
    )


def settings_from_plans(plans: list[Found], shelf: PlanShelf) -> dict[str, tuple[dict[str, Any], str]]:
    """How the plans of the workspace read each dataset: by its real path the settings, and the plan's file name.

    The first plan that has any settings for a file counts.
    """
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for plan in plans:
        for request in shelf.check(plan.path).requests:
            dataset = request.data.get("dataset")
            if not isinstance(dataset, Mapping) or not isinstance(dataset.get("path"), str):
                continue
            settings = {
                name: dataset[name]
                for name in _HOW_IT_IS_READ
                if dataset.get(name) not in (None, Dataset.model_fields[name].get_default(call_default_factory=True))
            }
            if settings and _valid(settings):
                place = os.path.realpath(plan.path.parent / dataset["path"])
                found.setdefault(place, (settings, plan.path.name))
    return found


def _valid(settings: Mapping[str, Any]) -> bool:
    from pydantic import ValidationError

    try:
        Dataset.model_validate({**settings, "path": "x"})
    except ValidationError:
        return False
    return True


def survey(path: Path, settings: Mapping[str, Any], sample: Mapping[str, Any], watcher: Watcher) -> Survey:
    """One whole look at the file and at what the sample takes of it. Raises DatasetError when it cannot be opened."""
    return watched(path, {**settings, "sample": dict(sample)}, watcher).scan()


def line_of(path: Path, number: int) -> str:
    """A line of a text file, from 1, at most 64 kB of it; "" where there is none. What is not UTF-8 is U+FFFD."""
    try:
        with open(path, "rb") as stream:
            for here in range(1, number + 1):
                line = stream.readline(_LONGEST_LINE)
                beginning = line
                while line and not line.endswith(b"\n"):
                    line = stream.readline(_LONGEST_LINE)
                if here == number:
                    return beginning.decode("utf-8", "replace").rstrip("\r\n")
    except OSError:
        return ""
    return ""
