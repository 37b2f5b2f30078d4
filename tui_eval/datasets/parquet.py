"""Parquet files, read batch by batch with pyarrow (an extra of its own). A "line" is a row number, from 1.

What JSON does not know becomes text, always in the same way: times in ISO 8601 (with as many digits as their unit has,
in UTC where the column has a time zone), durations in seconds, decimals with all their digits, bytes in base64.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from tui_eval.datasets.files import InputFile, refuse_foreign
from tui_eval.datasets.json_text import value_problem
from tui_eval.datasets.limits import Limits
from tui_eval.datasets.rows import BEGIN, UNKNOWN, Item, Place, Reading, Row, bad_row, listed, refusal
from tui_eval.domain import JsonValue
from tui_eval.spec.model import Dataset

BATCH_ROWS = 256
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - Arrow's own zero, with or without a zone

Converter: TypeAlias = Callable[[Any], JsonValue]


def read(file: InputFile, options: Dataset, limits: Limits, reading: Reading, start: Place = BEGIN) -> Iterator[Item]:
    """The rows in order. Raises DatasetError for a file that is damaged, and when pyarrow is not installed."""
    pyarrow, parquet = _pyarrow(file.name)
    refuse_foreign(file, file.head(), "parquet")
    with file.open() as stream:
        try:
            table = parquet.ParquetFile(stream, pre_buffer=False)
            names = _names(table.schema_arrow, file.name)
            converters = [converter(pyarrow, field.type) for field in table.schema_arrow]
            reading.header = tuple(names)
            if held := [field.name for field in table.schema_arrow if _holds_bytes(pyarrow, field.type)]:
                reading.notes.append(f"bytes are read as base64 text: {listed(held)}")
            number = 0
            for batch in table.iter_batches(batch_size=BATCH_ROWS, use_threads=False):
                columns = [_values(column, convert) for column, convert in zip(batch.columns, converters, strict=True)]
                for values in zip(*columns, strict=True) if columns else ():
                    number += 1
                    yield _item(dict(zip(names, values, strict=True)), number, file.name)
        except (pyarrow.ArrowException, OSError, ValueError, OverflowError, NotImplementedError) as error:
            text = " ".join(str(error).split())[:300]
            hint = "the file is damaged, cut off or not Parquet; write it again"
            raise refusal(f"not a Parquet file that can be read: {text}", file.name, hint=hint) from error


def count(file: InputFile, options: Dataset, limits: Limits) -> int | None:
    """The number of rows that the file's own description names."""
    pyarrow, parquet = _pyarrow(file.name)
    with file.open() as stream:
        try:
            return int(parquet.ParquetFile(stream, pre_buffer=False).metadata.num_rows)
        except (pyarrow.ArrowException, OSError, ValueError):
            return None


def converter(pyarrow: Any, kind: Any) -> Converter | None:
    """What makes a JSON value of a valid Arrow scalar of this type; None where Arrow's own conversion does."""
    types = pyarrow.types
    if types.is_timestamp(kind):
        return lambda scalar: _timestamp(scalar.value, _DIGITS[kind.unit], kind.tz is not None)
    if types.is_time(kind):
        return lambda scalar: _timestamp(scalar.value, _DIGITS[kind.unit], False)[len("1970-01-01T") :]
    if types.is_date(kind):
        return lambda scalar: str(scalar.as_py().isoformat())
    if types.is_duration(kind):
        return lambda scalar: format(Decimal(scalar.value).scaleb(-_DIGITS[kind.unit]), "f")
    if types.is_decimal(kind):
        return lambda scalar: format(scalar.as_py(), "f")
    if _is_bytes(pyarrow, kind):
        return lambda scalar: base64.b64encode(scalar.as_py()).decode("ascii")
    return _nested(pyarrow, kind)


def _nested(pyarrow: Any, kind: Any) -> Converter | None:
    types = pyarrow.types
    if types.is_map(kind):
        return _map(converter(pyarrow, kind.key_type), converter(pyarrow, kind.item_type))
    if types.is_struct(kind):
        fields = {field.name: converter(pyarrow, field.type) for field in kind}
        if any(fields.values()):
            return lambda scalar: {name: _one(scalar[name], convert) for name, convert in fields.items()}
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        if element := converter(pyarrow, kind.value_type):
            return lambda scalar: _values(scalar.values, element)
    elif types.is_dictionary(kind):
        if inner := converter(pyarrow, kind.value_type):
            return lambda scalar: _one(scalar.value, inner)
    elif isinstance(kind, pyarrow.BaseExtensionType):
        storage = converter(pyarrow, kind.storage_type)
        return lambda scalar: _one(scalar.value, storage)
    return None


def _map(key: Converter | None, item: Converter | None) -> Converter:
    """A map is an object when its keys are texts, each once; else a list of pairs, as Arrow itself has it."""

    def convert(scalar: Any) -> JsonValue:
        keys = _values(scalar.values.field(0), key)
        items = _values(scalar.values.field(1), item)
        if all(isinstance(name, str) for name in keys) and len(set(keys)) == len(keys):
            return dict(zip(keys, items, strict=True))
        return [list(pair) for pair in zip(keys, items, strict=True)]

    return convert


def _one(scalar: Any, convert: Converter | None) -> JsonValue:
    if not scalar.is_valid:
        return None
    return scalar.as_py() if convert is None else convert(scalar)


def _values(column: Any, convert: Converter | None) -> list[JsonValue]:
    if convert is None:
        return list(column.to_pylist())
    return [_one(scalar, convert) for scalar in column]


def _timestamp(value: int, digits: int, utc: bool) -> str:
    seconds, fraction = divmod(value, 10**digits)
    moment = (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="seconds")
    return moment + (f".{fraction:0{digits}}" if digits else "") + ("Z" if utc else "")


def _is_bytes(pyarrow: Any, kind: Any) -> bool:
    types = pyarrow.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _holds_bytes(pyarrow: Any, kind: Any) -> bool:
    return _is_bytes(pyarrow, kind) or any(
        _holds_bytes(pyarrow, kind.field(index).type) for index in range(kind.num_fields)
    )


def _item(columns: dict[str, JsonValue], number: int, name: str) -> Item:
    if problem := value_problem(columns):
        return bad_row(problem, name, line=number)
    return Row(columns, number, UNKNOWN)


def _names(schema: Any, name: str) -> list[str]:
    names = [str(column) for column in schema.names]
    repeated = sorted({column for column in names if names.count(column) > 1})
    if repeated:
        raise refusal(f"more than one column is named {listed(repeated)}", name, hint="name each column differently")
    return names


def _pyarrow(name: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        hint = "install it: pip install 'tui-eval[parquet]'"
        raise refusal("reading Parquet needs the package pyarrow, which is not installed", name, hint=hint) from error
    return pyarrow, parquet
