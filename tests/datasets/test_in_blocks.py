"""Many records at once are the same records, and the same faults, as one after the other."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.datasets.support import dataset, faults, inputs
from tests.datasets.test_any_bytes import BYTES, Cell, Columns
from tui_eval.datasets import csv_blocks
from tui_eval.datasets.files import CHUNK_BYTES, InputFile
from tui_eval.datasets.rows import Block, Item, Reading
from tui_eval.datasets.source import DatasetSource
from tui_eval.domain import Case
from tui_eval.errors import DatasetError

ODD_LINES = [
    '{"id": "a", "q": 1}',
    '{"id": "a"}',
    '{"id": 7, "q": "caf\u00e9 \u2028"}',
    '{"id": "d", "q": 1, "q": 2}',
    '{"id": "d", "in": [{"a": 1, "\\u0061": "\\u0022"}]}',
    '{"id": "e", "q": "\\u0022:"}',
    '{"id": "e", "q": "\\\\u0022:"}',
    '{"id": "e", "q": "\\u0022", "q": "\\\\u0022"}',
    '{"id": "f" , "q" : "say \\"hi\\":" }',
    '{"id": "g", "q": [NaN]}',
    '{"id": "g", "q": 1e999}',
    '{"id": "g", "q": ' + "7" * 5000 + "}",
    '{"id": "g", "q": "\\ud83d"}',
    '{"id": "g", "q": "\\ud83d\\ude00"}',
    '{"id": "g", "q": ' + "[" * 199 + "]" * 199 + "}",
    '{"id": "g", "q": ' + "[" * 300 + "]" * 300 + "}",
    '{"id": ["h"]}',
    '{"id": ""}',
    '{"id": true}',
    '{"x": 1}',
    '{"id": "j"} {"id": "k"}',
    '{"id": "l", "a": [{}',
    "{}]}",
    "",
    " \t\r",
    "[1]",
    "\ufeff{}",
    "{",
]


class OneByOne(DatasetSource):
    """A dataset that is read without blocks."""

    def blocks(self, reading: Reading) -> Iterator[Block | Item]:
        return self.items(reading)


def one_by_one(source: DatasetSource) -> OneByOne:
    return OneByOne(source.spec, source._file, source.format, source._limits)


def same(source: DatasetSource) -> None:
    other = one_by_one(source)
    found, expected = source.scan(), other.scan()
    assert astuple(found) == astuple(expected)
    if not any(fault.line == 0 for fault in found.faults):
        assert _cases(source.cases()) == _cases(other.cases())
        assert source.id_column == other.id_column


def _cases(cases: Iterator[Case]) -> list[Any]:
    found: list[Any] = []
    try:
        for case in cases:
            found.append((case.id, dict(case.input), case.line, case.generated_id))
    except DatasetError as error:
        found.append(str(error))
    return found


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Files come in pieces of a few bytes, so that everything lies across their borders."""
    whole = InputFile.chunks

    def set_size(size: int) -> None:
        def chunks(file: InputFile, start: int = 0, size_wanted: int = CHUNK_BYTES, **given: int) -> Iterator[bytes]:
            return whole(file, start, given.get("size", size))

        monkeypatch.setattr(InputFile, "chunks", chunks)
        monkeypatch.setattr(csv_blocks, "_CARRIED", 6 * size)
        monkeypatch.setattr(csv_blocks, "_CAREFUL", size)

    return set_size


@settings(deadline=None, max_examples=300)
@given(
    lines=st.lists(st.sampled_from(ODD_LINES), max_size=12),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    skip=st.booleans(),
    sample=st.sampled_from([{}, {"limit": 2}, {"limit": 2, "seed": 3}, {"where": "q"}, {"ids": ["a", "z"]}]),
    column=st.sampled_from([None, "id", "q"]),
)
def test_json_lines_at_once_are_those_one_by_one(
    lines: list[str], end: str, last: bool, skip: bool, sample: dict[str, Any], column: str | None
) -> None:
    content = end.join(lines) + (end if last else "")
    with tempfile.TemporaryDirectory() as folder:
        same(dataset(Path(folder), "a.jsonl", content, skip_bad_lines=skip, sample=sample, id=column))


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
@pytest.mark.parametrize("size", [7, 40, 1000])
def test_any_bytes_in_pieces_of_any_size_are_those_one_by_one(
    small_pieces: Callable[[int], None], name: str, size: int
) -> None:
    small_pieces(size)

    @settings(deadline=None, max_examples=150)
    @given(content=BYTES, encoding=st.sampled_from(["utf-8", "latin-1", "utf-16-le"]))
    def check(content: bytes, encoding: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            same(dataset(Path(folder), name, b'id,q\n"x\ny",1\n' * (name == "a.csv") + content, encoding=encoding))

    check()


@pytest.mark.parametrize("size", [11, 64, 5000])
def test_csv_at_once_is_that_one_by_one(small_pieces: Callable[[int], None], size: int) -> None:
    small_pieces(size)

    @settings(deadline=None, max_examples=150)
    @given(
        rows=st.lists(st.lists(Cell, min_size=1, max_size=4), max_size=12),
        broken=st.sampled_from([b"", b'"a"b,c\n', b"\x00\n", b"\xff,1\n", b"a\rb,c\n", b'x,"open', b",,\n\n  ,\n"]),
        place=st.integers(0, 12),
        skip=st.booleans(),
    )
    def check(rows: list[list[str]], broken: bytes, place: int, skip: bool) -> None:
        parts = [b"\xef\xbb\xbfid,q,r\n", *map(_csv_row, rows)]
        parts.insert(1 + place, broken)
        with tempfile.TemporaryDirectory() as folder:
            same(dataset(Path(folder), "a.csv", b"".join(parts), skip_bad_lines=skip))

    check()


def _csv_row(cells: list[str]) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerow(cells)
    return stream.getvalue().encode("utf-8")


@settings(deadline=None, max_examples=100)
@given(st.lists(Columns, max_size=6))
def test_the_content_hash_does_not_depend_on_how_the_records_are_read(columns: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(record) + "\n" for record in columns)
    with tempfile.TemporaryDirectory() as folder:
        same(dataset(Path(folder), "a.jsonl", text))


def test_a_row_over_many_pieces_and_what_comes_behind_a_fault_are_found(tmp_path: Path) -> None:
    long = "x" * (5 * CHUNK_BYTES) + "\n" + '""y""' * CHUNK_BYTES
    good = "".join(f'{number},"a\nb"\n' for number in range(60_000))
    content = f'id,q\n{good}long,"{long}"\nbad,"a"b\n' + "".join(f"n{number},c\n" for number in range(60_000)) + "z\n"
    source = dataset(tmp_path, "a.csv", content)
    survey = source.scan()
    assert survey.count == 120_001
    assert [fault.line for fault in survey.faults] == [120_004, 180_005]
    assert "goes on behind the closing one" in survey.faults[0].message
    same(source)


def test_ids_that_occur_twice_are_found_across_blocks(tmp_path: Path) -> None:
    rows = [f'{{"id": "case-{number}", "q": "{"x" * 60}"}}' for number in range(20_000)]
    source = dataset(tmp_path, "a.jsonl", "\n".join([*rows, rows[5], rows[19_999]]))
    found = faults(source)
    assert len(found) == 2
    assert "id `case-5` on lines 6 and 20001" in found[0]
    assert "id `case-19999` on lines 20000 and 20002" in found[1]
    same(source)


def test_columns_of_json_in_cells_are_read_at_once_too(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.csv", 'id,j\n1,"{""a"": 1}"\n2,[]\n3,nope\n', json_columns=["j"])
    assert [row["j"] for row in inputs(source)] == [{"a": 1}, []]
    same(source)
