"""JSON lines as people really have them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.datasets.support import dataset, inputs, lines, opened
from tui_eval.errors import DatasetError


def test_every_broken_line_is_reported_with_its_place_and_beginning(cases: Path) -> None:
    source = opened(cases / "06-jsonl-broken-lines", "data.jsonl")
    survey = source.scan()
    assert [fault.line for fault in survey.faults] == [3, 5, 6, 7, 8]
    assert all(fault.column for fault in survey.faults)
    assert '{"id": "p2", "q": "trailing comma",}' in survey.faults[0].message
    assert [(case.id, case.line) for case in source.cases()] == [("p1", 1), ("p3", 4), ("p5", 9)]
    with pytest.raises(DatasetError) as caught:
        source.check()
    assert len(caught.value.faults) == 5


def test_skipped_lines_are_recorded(cases: Path) -> None:
    survey = opened(cases / "06-jsonl-broken-lines", "data.jsonl", skip_bad_lines=True).check()
    assert survey.skipped_lines == (3, 5, 6, 7, 8)
    assert (survey.count, survey.selected) == (3, 3)
    assert any(note.startswith("line 3 skipped: not valid JSON") for note in survey.notes)


def test_a_pointer_is_recognised_and_an_array_is_read(cases: Path) -> None:
    folder = cases / "06-jsonl-broken-lines"
    (fault,) = opened(folder, "lfs-pointer.jsonl").scan().faults
    assert "git-lfs pointer" in fault.message
    assert "git lfs pull" in fault.hint
    source = opened(folder, "array.jsonl")
    assert [case.id for case in source.cases()] == ["a1", "a2"]
    assert source.count() == 2
    assert any("JSON array" in note for note in source.check().notes)


def test_an_array_over_several_lines_is_read_too(tmp_path: Path) -> None:
    assert inputs(dataset(tmp_path, "a.jsonl", json.dumps([{"id": 1}, {"id": 2}], indent=1))) == [{"id": 1}, {"id": 2}]
    assert dataset(tmp_path, "b.jsonl", "[]\n").check().count == 0
    # A first line that is a whole array of something else is one broken line among others.
    assert lines(dataset(tmp_path, "c.jsonl", '["a"]\n{"id": 1}\n')) == [1]


def test_unicode_line_separators_do_not_end_a_line(cases: Path) -> None:
    first, second = inputs(opened(cases / "08-jsonl-u2028", "data.jsonl"))
    assert len(first["q"]) == 12
    assert first["q"][6] == "\u2028"
    assert first["expected"] == "x\u2029y"
    assert second["q"] == "next\x85line"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": "x", "q": 1, "q": 2}', "key `q` twice"),
        (b'{"id": "x", "in": [{"a": 1, "\\u0061": 2}]}', "key `a` twice"),
        (b'{"id": "x", "q": NaN}', "`NaN` is not a JSON number"),
        (b'{"id": "x", "q": [-Infinity]}', "`-Infinity` is not a JSON number"),
        (b'{"id": "x", "q": 1e999}', "too large"),
        (b'{"id": "x", "q": ' + b"7" * 5000 + b"}", "too large"),
        (b'{"id": "x", "q": "\\ud83d alone"}', "surrogate"),
        (b'{"id": "x", "\\udc00": 1}', "surrogate"),
        (b'{"id": "x", "q": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested"),
        (b'{"id": "x", "q": ' + b"[" * 300 + b"]" * 300 + b"}", "nested"),
        (b'{"id": "x", "q": "tab\there"}', "not valid JSON"),
        (b'{"id": "x", "q": "nul\\u0000"} trailing', "something follows"),
        (b"'id'", "not valid JSON"),
        (b"true", "true or false, expected an object"),
        (b"12", "a number, expected an object"),
        (b'"text"', "a text, expected an object"),
        (b'{"id": "caf\xe9"}', "not valid UTF-8 at byte 24 (line 3)"),
        (b'{"id": "\xed\xa0\x80"}', "not valid UTF-8"),
    ],
)
def test_what_would_do_harm_later_is_refused_and_the_rest_read(tmp_path: Path, line: bytes, message: str) -> None:
    source = dataset(tmp_path, "a.jsonl", b'{"id": "a"}\n\n' + line + b'\n{"id": "b"}\n')
    (fault,) = source.scan().faults
    assert fault.line == 3
    assert message in fault.message
    assert len(fault.message) < 300
    assert [case.id for case in source.cases()] == ["a", "b"]


def test_the_place_of_a_repeated_key_is_named(tmp_path: Path) -> None:
    (fault,) = dataset(tmp_path, "a.jsonl", '{"a": {"b": 1, "c": "}{,", "b": 2}}\n').scan().faults
    assert fault.column == '{"a": {"b": 1, "c": "}{,", "b": 2}}'.rindex('"b"') + 1


def test_large_numbers_pairs_of_surrogates_and_deep_but_sane_values_are_fine(tmp_path: Path) -> None:
    deep = "[" * 150 + "]" * 150
    text = '{"id": 123456789012345678901234567890, "q": "\\ud83d\\ude00", "n": -1.5e300, "d": ' + deep + "}\n"
    (case,) = dataset(tmp_path, "a.jsonl", text).cases()
    assert case.id == "123456789012345678901234567890"
    assert case.input["q"] == "😀"


def test_a_torn_last_line_is_called_that(tmp_path: Path) -> None:
    (fault,) = dataset(tmp_path, "a.jsonl", '{"id": 1}\n{"id": 2, "q": "cut o').scan().faults
    assert fault.line == 2
    assert "cut off" in fault.hint


def test_a_tail_of_nul_characters_is_the_fault_of_its_line(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.jsonl", b'{"id": 1}\n{"id": 2}\n' + b"\x00" * 3000)
    (fault,) = source.scan().faults
    assert (fault.line, fault.column) == (3, 1)
    assert "damaged" in fault.hint
    assert [case.id for case in source.cases()] == ["1", "2"]


def test_byte_order_marks_at_the_start_and_of_joined_files_are_no_fault(tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    source = dataset(tmp_path, "a.jsonl", mark + b'{"id": 1}\n' + mark + b'{"id": 2}\n')
    assert inputs(source) == [{"id": 1}, {"id": 2}]


def test_a_line_beyond_the_limit_is_passed_over_and_named(tmp_path: Path) -> None:
    text = '{"id": 1}\n{"id": 2, "q": "' + "x" * 3000 + '"}\n{"id": 3}\n'
    source = dataset(tmp_path, "a.jsonl", text, environment={"TUI_EVAL_MAX_RECORD_BYTES": "1000"})
    (fault,) = source.scan().faults
    assert fault.line == 2
    assert "3018 bytes" in fault.message
    assert "TUI_EVAL_MAX_RECORD_BYTES" in fault.hint
    assert [case.id for case in source.cases()] == ["1", "3"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b'{"id": 1}\n', mtime=0), "gzip"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"\x28\xb5\x2f\xfdrest", "zstd"),
        (b"SQLite format 3\x00rest", "SQLite"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"\x7fELF\x02\x01\x01" + b"\x00\x00" + b"\x01" * 90, "NUL byte"),
    ],
    ids=["gzip", "zip", "zstd", "sqlite", "html", "elf"],
)
def test_a_file_that_is_something_else_gives_one_clear_message(tmp_path: Path, content: bytes, message: str) -> None:
    (fault,) = dataset(tmp_path, "a.jsonl", content).scan().faults
    assert message in fault.message
    assert fault.hint


def test_faults_without_number_are_counted_not_all_listed(tmp_path: Path) -> None:
    survey = dataset(tmp_path, "a.jsonl", "broken\n" * 5000).scan()
    assert len(survey.faults) == 101
    assert "4900 more" in survey.faults[-1].message
    skipped = opened(tmp_path, "a.jsonl", skip_bad_lines=True).check()
    assert skipped.skipped_lines == tuple(range(1, 5001))
    assert len(skipped.notes) < 30


def test_blank_and_empty_files_have_no_cases(cases: Path) -> None:
    for name in ("blank.jsonl", "zero.jsonl", "empty-list.json", "header-only.csv"):
        source = opened(cases / "12-empty-dataset", name)
        survey = source.check()
        assert (survey.count, survey.selected, source.count()) == (0, 0, 0)
        assert "no cases" in survey.notes
        assert source.rows(0, 10) == []


def test_the_quick_count_passes_over_blank_lines(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.jsonl", '\n \n{"id": 1}\r\n\t\n{"id": 2}\n\n{"id": 3}')
    assert source.count() == 3 == source.check().count
