"""Whatever the bytes, a reader gives cases that can be stored or says what is wrong; nothing else is raised."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.datasets.support import dataset
from tui_eval.errors import DatasetError

NAMES = ["a.jsonl", "a.json", "a.csv", "a.tsv", "a.yaml"]
PIECES = [
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\r",
    b"id",
    b'"id"',
    b"1",
    b" ",
    b"\t",
    b"\\",
    b"\\u",
]
PIECES += [
    b"\\ud800",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x00",
    b"\xc3",
    b"\xa9",
    b"\xe2\x80\xa8",
    b"\x85",
    b"NaN",
    b"null",
    b"- ",
]
PIECES += [
    b'{"id": 1}',
    b'{"id": "b", "q": [1.5]}',
    b"id,q\n",
    b"x,y\n",
    b'"a\nb"',
    b"1e999",
    b"-",
    b"&a ",
    b"*a",
    b"#",
]
BYTES = st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join))

Scalar = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
Value = st.recursive(
    Scalar, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)
Columns = st.dictionaries(st.text(max_size=8), Value, max_size=4)


def records(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**record, "id": f"c{number}"} for number, record in enumerate(columns)]


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=150)
@given(content=BYTES, encoding=st.sampled_from(["utf-8", "latin-1", "utf-16-le", "shift_jis", "utf-7"]))
def test_arbitrary_bytes_raise_nothing_but_faults(name: str, content: bytes, encoding: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = dataset(Path(folder), name, content, encoding=encoding)
        survey = source.scan()
        try:
            found = list(source.cases())
            assert source.rows(0, 5) == found[:5]
            source.count()
        except DatasetError:
            assert survey.faults
            return
        assert len(found) == survey.count
        for case in found:
            json.dumps([case.id, case.input], allow_nan=False, ensure_ascii=False).encode("utf-8")
            assert case.id


@settings(deadline=None, max_examples=100)
@given(st.lists(Columns, max_size=6), st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_json_lines_give_back_what_was_written(columns: list[dict[str, Any]], ascii_only: bool, end: str) -> None:
    data = records(columns)
    text = "".join(json.dumps(record, ensure_ascii=ascii_only) + end for record in data)
    with tempfile.TemporaryDirectory() as folder:
        source = dataset(Path(folder), "a.jsonl", text)
        assert [case.input for case in source.cases()] == data
        assert not source.scan().faults
        assert source.count() == len(data)


@settings(deadline=None, max_examples=100)
@given(st.lists(Columns, max_size=6), st.sampled_from([None, 2]))
def test_json_documents_give_back_what_was_written(columns: list[dict[str, Any]], indent: int | None) -> None:
    data = records(columns)
    with tempfile.TemporaryDirectory() as folder:
        source = dataset(Path(folder), "a.json", json.dumps(data, indent=indent))
        assert [case.input for case in source.cases()] == data
        nested = dataset(Path(folder), "b.json", json.dumps({"x": data}), records="x")
        assert [case.input for case in nested.cases()] == data


Cell = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=10)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(Cell, Cell), max_size=6), st.sampled_from([",", ";", "\t", "|"]), st.booleans())
def test_csv_gives_back_what_was_written(rows: list[tuple[str, str]], delimiter: str, all_quoted: bool) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL)
    writer.writerow(["id", "a", "b"])
    writer.writerows([f"c{number}", *row] for number, row in enumerate(rows))
    with tempfile.TemporaryDirectory() as folder:
        source = dataset(Path(folder), "a.csv", stream.getvalue(), delimiter=delimiter)
        found = [(case.input["a"], case.input["b"]) for case in source.cases()]
    assert found == rows
