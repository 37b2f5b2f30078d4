"""Bytes to text: always explicit, never by the machine's locale, never with replacement characters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.datasets.support import dataset, faults, inputs, opened
from tui_eval.datasets.encoding import TextEncoding, read_lines, read_text
from tui_eval.errors import DatasetError


def test_latin_1_is_refused_with_the_byte_and_read_when_declared(cases: Path) -> None:
    folder = cases / "07-non-utf8"
    (fault,) = opened(folder, "latin1.csv").scan().faults
    assert fault.message == "not valid UTF-8 at byte 25 (line 2)"
    assert fault.line == 2
    assert "encoding: latin-1" in fault.hint
    (case,) = inputs(opened(folder, "latin1.csv", encoding="latin-1"))
    assert case["question"] == "Où est la gare ?"


def test_utf_16_is_recognised_by_its_mark(cases: Path) -> None:
    (case,) = inputs(opened(cases / "07-non-utf8", "utf16.csv"))
    assert case == {"id": "u1", "question": "价格是多少?", "expected": "十二元"}


def test_one_bad_line_is_named_and_no_replacement_made(cases: Path) -> None:
    source = opened(cases / "07-non-utf8", "mixed.jsonl")
    (fault,) = source.scan().faults
    assert (fault.line, fault.message) == (2, "not valid UTF-8 at byte 49 (line 2)")
    assert inputs(source) == [{"id": "m1", "q": "café"}]
    assert "\ufffd" not in str(inputs(source))


TEXTS = {
    "a.jsonl": '{"id": "1", "q": "ünï 价格 😀\u2028"}\r\n\n{"id": "2", "q": "x"}',
    "a.json": '[{"id": "1", "q": "ünï 价格 😀\u2028"},\n{"id": "2", "q": "x"}]',
    "a.csv": 'id,q\r\n1,"ünï 价格 😀\u2028"\r\n2,x\r\n',
    "a.tsv": "id\tq\r\n1\tünï 价格 😀\u2028\r\n2\tx\r\n",
    "a.yaml": '- {id: "1", q: "ünï 价格 😀\\u2028"}\n- {id: "2", q: x}\n',
}


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le+", "utf-16-be+", "utf-32-be+"])
@pytest.mark.parametrize("name", TEXTS)
def test_any_format_with_a_byte_order_mark_is_read_without_a_setting(tmp_path: Path, name: str, codec: str) -> None:
    text = "\ufeff" + TEXTS[name] if codec.endswith("+") else TEXTS[name]
    source = dataset(tmp_path, name, text.encode(codec.rstrip("+")))
    assert source.check().columns == ("id", "q")
    assert inputs(source) == [{"id": "1", "q": "ünï 价格 😀\u2028"}, {"id": "2", "q": "x"}]
    assert source.count() == 2
    assert [case.id for case in source.rows(1, 1)] == ["2"]


@pytest.mark.parametrize("codec", ["gb18030", "utf-16-le", "utf-16-be", "UTF_8", "utf-7", "gbk"])
def test_a_declared_encoding_is_used(tmp_path: Path, codec: str) -> None:
    text = '{"id": "1", "q": "价格"}\n{"id": "2", "q": "é"}\n'
    assert inputs(dataset(tmp_path, "a.jsonl", text.encode(codec), encoding=codec)) == [
        {"id": "1", "q": "价格"},
        {"id": "2", "q": "é"},
    ]


def test_utf_16_without_a_mark_is_guessed_in_the_message_only(tmp_path: Path) -> None:
    for codec in ("utf-16-le", "utf-16-be"):
        source = dataset(tmp_path, "a.csv", "id,question\n1,hello there\n".encode(codec))
        assert f"encoding: {codec}" in faults(source)[0]
        assert len(inputs(opened(tmp_path, "a.csv", encoding=codec))) == 1


def test_a_mark_that_contradicts_the_setting_wins_and_is_noted(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.csv", "id,q\n1,é\n".encode("utf-8-sig"), encoding="latin-1")
    assert inputs(source) == [{"id": "1", "q": "é"}]
    assert any("byte order mark" in note for note in source.check().notes)


@pytest.mark.parametrize(
    "name", ["nonsense", "base64", "rot13", "idna", "unicode_escape", "undefined", "", "a\0b", "é"]
)
def test_an_encoding_that_is_none_is_refused_with_examples(tmp_path: Path, name: str) -> None:
    (fault,) = dataset(tmp_path, "a.csv", "id\n1\n", encoding=name).scan().faults
    assert "unknown text encoding" in fault.message
    assert "latin-1" in fault.hint


@pytest.mark.parametrize(
    ("codec", "raw", "byte", "line"),
    [
        ("utf-8", b"ab\nc\xc3", 4, 2),
        ("utf-8", b"ab\n\xf0\x9f\x98x", 3, 2),
        ("utf-16-le", "ab\nc".encode("utf-16-le") + b"\x00\xd8x\x00", 8, 2),
        ("utf-16-le", "ab\nc".encode("utf-16-le") + b"\x00", 8, 2),
        ("shift_jis", b"ab\n\x82", 3, 2),
        ("gb18030", b"ab\n\xff\xff", 3, 2),
        ("utf-32-be", "a\n".encode("utf-32-be") + b"\x00\x11\x00\x00", 8, 2),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_first_invalid_byte_is_the_same_for_pieces_of_any_size(
    tmp_path: Path, codec: str, raw: bytes, byte: int, line: int, size: int
) -> None:
    file = dataset(tmp_path, "a.csv", "x")._file
    assert file is not None
    chunks = [raw[at : at + size] for at in range(0, len(raw), size)]
    with pytest.raises(DatasetError, match=f"at byte {byte} .line {line}."):
        list(read_text(file, TextEncoding(codec, 0, False), chunks))


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_lines_are_the_same_for_pieces_of_any_size(cases: Path, size: int) -> None:
    path = cases / "08-jsonl-u2028" / "data.jsonl"
    file = opened(path.parent, path.name)._file
    assert file is not None
    raw = path.read_bytes()
    for byte_lines in (True, False):
        chunks = [raw[at : at + size] for at in range(0, len(raw), size)]
        found = list(read_lines(file, TextEncoding("utf-8", 0, byte_lines), 1000, chunks=chunks))
        assert [line.text + "\n" for line in found] == raw.decode("utf-8").split("\n")[0:0] + [
            text + "\n" for text in raw.decode("utf-8").split("\n")[:2]
        ]
        assert [line.number for line in found] == [1, 2]


def test_the_locale_changes_nothing(cases: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tui_eval.datasets import open_dataset\n"
        "from tui_eval.spec.model import Dataset\n"
        "for name in sys.argv[2:]:\n"
        "    source = open_dataset(Dataset(path=name), Path(sys.argv[1]))\n"
        "    print(ascii([dict(case.input) for case in source.cases()]), ascii(source.scan().faults))\n"
    )
    names = ["07-non-utf8/mixed.jsonl", "07-non-utf8/utf16.csv", "08-jsonl-u2028/data.jsonl", "01-csv-bom/data.csv"]
    seen = set()
    for setting in (
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONUTF8": "1"},
    ):
        done = subprocess.run(
            [sys.executable, "-c", program, str(cases), *names],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2]), **setting},
            capture_output=True,
            check=True,
            timeout=60,
        )
        seen.add(done.stdout)
    assert len(seen) == 1
    assert b"caf\\xe9" in seen.pop()
