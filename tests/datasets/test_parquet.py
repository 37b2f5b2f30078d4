"""Parquet files, with and without the extra that reads them."""

from __future__ import annotations

import datetime
import decimal
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.datasets.support import dataset, faults, inputs, opened


def test_without_the_extra_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (message,) = faults(dataset(tmp_path, "a.parquet", b"PAR1"))
    assert "pip install 'tui-eval[parquet]'" in message


def written(folder: Path, columns: dict[str, Any], **options: Any) -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), folder / "a.parquet", **options)
    return pyarrow


def test_rows_are_cases_and_what_json_does_not_know_is_text(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    moment = datetime.datetime.fromisoformat("2031-04-05T06:07:08.090")
    written(
        tmp_path,
        {
            "id": ["a", "b"],
            "n": pyarrow.array([1, None], pyarrow.int64()),
            "price": [decimal.Decimal("1.10"), None],
            "day": [moment.date(), None],
            "at": pyarrow.array([moment, None], pyarrow.timestamp("ms")),
            "ns": pyarrow.array([1, -1], pyarrow.timestamp("ns", "UTC")),
            "time": pyarrow.array([datetime.time(1, 30), None]),
            "took": pyarrow.array([1500, -1], pyarrow.duration("ms")),
            "image": [b"\x00\xff", None],
            "label": pyarrow.array(["x", None]).dictionary_encode(),
            "nested": [{"when": moment.date(), "tags": [decimal.Decimal("2.50")]}, None],
            "map": pyarrow.array([[("k", 1)], None], pyarrow.map_(pyarrow.string(), pyarrow.int32())),
        },
    )
    source = opened(tmp_path, "a.parquet")
    first, second = inputs(source)
    assert first == {
        "id": "a",
        "n": 1,
        "price": "1.10",
        "day": "2031-04-05",
        "at": "2031-04-05T06:07:08.090",
        "ns": "1970-01-01T00:00:00.000000001Z",
        "time": "01:30:00.000000",
        "took": "1.500",
        "image": "AP8=",
        "label": "x",
        "nested": {"when": "2031-04-05", "tags": ["2.50"]},
        "map": {"k": 1},
    }
    assert second["ns"] == "1969-12-31T23:59:59.999999999Z"
    assert second["took"] == "-0.001"
    assert [name for name, value in second.items() if value is not None] == ["id", "ns", "took"]
    json.dumps([first, second])
    survey = source.check()
    assert any("base64" in note and "`image`" in note for note in survey.notes)
    assert source.count() == 2
    assert [case.line for case in source.cases()] == [1, 2]


def test_many_rows_come_in_batches_and_pages(tmp_path: Path) -> None:
    written(tmp_path, {"id": [f"c{number}" for number in range(3000)]}, row_group_size=700)
    source = opened(tmp_path, "a.parquet", sample={"limit": 3, "seed": 5})
    assert source.check().selected == 3
    assert [case.id for case in source.rows(2000, 2)] == ["c2000", "c2001"]


def test_numbers_that_are_none_and_damaged_files_are_faults(tmp_path: Path) -> None:
    written(tmp_path, {"id": ["a", "b"], "x": [1.0, float("nan")]})
    (fault,) = opened(tmp_path, "a.parquet").scan().faults
    assert fault.line == 2
    raw = (tmp_path / "a.parquet").read_bytes()
    for content in (b"", b"PAR1", raw[:-10], b"PAR1" + b"\x00" * 100 + raw[-60:], b"id,q\n1,2\n"):
        assert "not a Parquet file" in faults(dataset(tmp_path, "b.parquet", content))[0]
    assert "git-lfs" in faults(dataset(tmp_path, "c.parquet", b"version https://git-lfs.github.com/spec/v1\n"))[0]
    assert "format: parquet" in faults(opened(tmp_path, "a.parquet", format="csv"))[0]
