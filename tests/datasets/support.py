"""Short ways to make a dataset file and look at what is read from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tui_eval.datasets import DatasetSource, Survey, open_dataset
from tui_eval.spec.model import Dataset


def dataset(folder: Path, name: str, content: bytes | str, **settings: Any) -> DatasetSource:
    """A dataset with this content, opened."""
    (folder / name).write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return opened(folder, name, **settings)


def opened(folder: Path, name: str, *, environment: dict[str, str] | None = None, **settings: Any) -> DatasetSource:
    return open_dataset(Dataset.model_validate({"path": name, **settings}), folder, environment=environment or {})


def inputs(source: DatasetSource) -> list[dict[str, Any]]:
    return [dict(case.input) for case in source.cases()]


def ids(source: DatasetSource) -> list[str]:
    return [case.id for case in source.sampled()]


def faults(source: DatasetSource | Survey) -> list[str]:
    survey = source.scan() if isinstance(source, DatasetSource) else source
    return [str(fault) for fault in survey.faults]


def lines(source: DatasetSource) -> list[int]:
    return [fault.line for fault in source.scan().faults]
