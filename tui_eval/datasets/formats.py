"""Which formats there are, which file names mean them, and where their readers live. Imported when first used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, cast

from tui_eval.datasets.files import InputFile
from tui_eval.datasets.limits import Limits
from tui_eval.datasets.rows import BEGIN, Item, Place, Reading, refusal
from tui_eval.errors import DatasetError
from tui_eval.spec.model import Dataset
from tui_eval.spec.nearest import nearest


class Reader(Protocol):
    """A module that reads one format. It may also have ``count(file, options, limits) -> int | None``."""

    def read(
        self, file: InputFile, options: Dataset, limits: Limits, reading: Reading, start: Place = BEGIN
    ) -> Iterator[Item]: ...


READERS = {
    "jsonl": "tui_eval.datasets.jsonl",
    "json": "tui_eval.datasets.json_documents",
    "csv": "tui_eval.datasets.csv_rows",
    "tsv": "tui_eval.datasets.csv_rows",
    "yaml": "tui_eval.datasets.yaml_documents",
    "parquet": "tui_eval.datasets.parquet",
    "evalset": "tui_eval.datasets.evalset",
}

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jl": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".parquet": "parquet",
    ".pq": "parquet",
}

_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz", ".7z")
_SHEETS = (".xlsx", ".xls", ".ods")

# Settings that only some formats have; elsewhere they would silently do nothing.
_ONLY = {"delimiter": ("csv", "tsv"), "json_columns": ("csv", "tsv"), "records": ("json", "yaml")}


def reader(name: str) -> Reader:
    return cast(Reader, importlib.import_module(READERS[name]))


def format_of(path: Path, name: str) -> str:
    """The format a file's name stands for. Raises DatasetError when it stands for none."""
    suffix = path.suffix.lower()
    if path.stem.lower().endswith(".evalset") and SUFFIXES.get(suffix) in ("json", "yaml"):
        return "evalset"
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if suffix in _PACKED:
        raise refusal(f"`{suffix}` files are not read", name, hint="unpack it first, then name the unpacked file")
    if suffix in _SHEETS:
        raise refusal("spreadsheets are not read", name, hint="save the sheet as CSV UTF-8")
    near = nearest(suffix, SUFFIXES) if suffix else None
    hint = f"did you mean `{near}`? Or set `format`" if near else f"set `format` to one of {', '.join(READERS)}"
    raise refusal("the file's name does not say its format", name, path="dataset.format", hint=hint)


def check_settings(options: Dataset, name: str, kind: str) -> None:
    """Raises DatasetError for a setting that the format does not have."""
    faults = [
        fault
        for setting, kinds in _ONLY.items()
        if getattr(options, setting) and kind not in kinds
        for fault in refusal(
            f"`{setting}` is for {' and '.join(kinds)}, this dataset is {kind}",
            name,
            path=f"dataset.{setting}",
            hint="remove it, or set it to null where it comes from the defaults",
        ).faults
    ]
    if faults:
        raise DatasetError(faults)
