"""JSON documents: lists read element by element, and lists inside documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.datasets.support import dataset, faults, inputs, opened
from tui_eval.datasets import encoding as encodings
from tui_eval.datasets.json_documents import Window, _elements
from tui_eval.datasets.limits import Limits
from tui_eval.datasets.rows import Row


def test_each_element_knows_its_line(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.json", json.dumps([{"id": 1}, {"id": 2, "q": "x"}], indent=2))
    assert [(case.id, case.line) for case in source.cases()] == [("1", 2), ("2", 5)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_pieces_of_any_size_give_the_same_cases(size: int) -> None:
    records = [{"id": number, "q": 'ü\u2028€😀 \\ "' * number, "n": [1.5, {"a": None}]} for number in range(5)]
    text = json.dumps(records, ensure_ascii=False, indent=1)
    window = Window(text[at : at + size] for at in range(0, len(text), size))
    window.skip_blanks()
    assert window.next_is("[")
    items = list(_elements(window, "a.json", Limits()))
    assert [item.columns for item in items if isinstance(item, Row)] == records
    assert [item.line for item in items if isinstance(item, Row)] == [
        index + 1 for index, line in enumerate(text.split("\n")) if line == " {"
    ]


def test_a_bad_element_is_named_and_the_others_read(tmp_path: Path) -> None:
    text = '[\n{"id": 1},\n 5,\n{"id": 2, "id": 3},\nnull, {"id": 4, "q": NaN},\n{"id": 5}\n]\n'
    source = dataset(tmp_path, "a.json", text)
    assert [(fault.line, fault.column) for fault in source.scan().faults] == [(3, 2), (4, 11), (5, 1), (5, 22)]
    assert [case.id for case in source.cases()] == ["1", "5"]
    assert opened(tmp_path, "a.json", skip_bad_lines=True).check().skipped_lines == (3, 4, 5, 5)


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ('[{"id": 1},\n {"id": 2}', "expected `,` or `]`", (2, 11)),
        ('[{"id": 1},\n {"id": "2', "unterminated string", (2, 9)),
        ('[{"id": 1}\n {"id": 2}]', "expected `,` or `]`", (2, 2)),
        ('[{"id": 1},]', "expected a value", (1, 12)),
        ("[,]", "expected a value", (1, 2)),
        ('[{"id": 1}]\n[]', "something follows", (2, 1)),
        ("[{'id': 1}]", "property name", (1, 3)),
        ('[{"id": 1, "q": tru}]', "expected a value", (1, 17)),
    ],
)
def test_where_it_stops_being_json_is_named(tmp_path: Path, text: str, message: str, place: tuple[int, int]) -> None:
    (fault,) = dataset(tmp_path, "a.json", text).scan().faults
    assert message in fault.message
    assert (fault.line, fault.column) == place


def test_a_fault_early_in_a_long_file_is_found_without_reading_on(tmp_path: Path) -> None:
    text = '[{"id": 1},\n{"id": oops},\n' + '{"id": 3},\n' * 50_000 + '{"id": 4}]'
    source = dataset(tmp_path, "a.json", text, environment={"TUI_EVAL_MAX_RECORD_BYTES": "5000000"})
    (fault,) = source.scan().faults
    assert (fault.line, fault.column) == (2, 8)


def test_an_element_beyond_the_limit_names_the_setting(tmp_path: Path) -> None:
    text = '[{"id": 1},\n{"id": "' + "x" * 600_000 + '"}]'
    source = dataset(tmp_path, "a.json", text, environment={"TUI_EVAL_MAX_RECORD_BYTES": "1000"})
    (fault,) = source.scan().faults
    assert fault.line == 2
    assert "TUI_EVAL_MAX_RECORD_BYTES" in fault.hint


def test_a_list_inside_is_found_by_an_expression(tmp_path: Path) -> None:
    text = json.dumps({"meta": {}, "data": {"rows": [{"id": 1}, {"id": 2}]}})
    assert inputs(dataset(tmp_path, "a.json", text, records="data.rows")) == [{"id": 1}, {"id": 2}]
    assert inputs(opened(tmp_path, "a.json", records="data.rows[?id == `2`]")) == [{"id": 2}]
    assert "finds an object" in faults(opened(tmp_path, "a.json", records="data"))[0]
    assert "finds null" in faults(opened(tmp_path, "a.json", records="rows"))[0]
    assert "not a JMESPath" in faults(opened(tmp_path, "a.json", records="data..rows"))[0]
    assert "cannot be applied" in faults(opened(tmp_path, "a.json", records="sum(data.rows)"))[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"meta": 1, "data": [{"id": 1}]}', "set `records: data`"),
        ('{"a": {"id": 1}, "b": {"id": 2}}', "values(@)"),
        ('{"id": 1}\n{"id": 2}\n', "set `format: jsonl`"),
        ('"text"', "a text, expected a list"),
        ("null", "null, expected a list"),
        ("{}", "(none)"),
        ("nonsense", "not valid JSON"),
        ('{"a": 1, "a": 2}', "key `a` twice"),
    ],
)
def test_a_document_that_is_no_list_says_what_to_do(tmp_path: Path, text: str, message: str) -> None:
    (fault,) = faults(dataset(tmp_path, "a.json", text))
    assert message in fault


def test_a_document_too_large_to_hold_names_the_setting(tmp_path: Path) -> None:
    source = dataset(
        tmp_path,
        "a.json",
        json.dumps({"data": [{"id": 1}]}),
        records="data",
        environment={"TUI_EVAL_MAX_DOCUMENT_BYTES": "10"},
    )
    assert "TUI_EVAL_MAX_DOCUMENT_BYTES" in faults(source)[0]


def test_an_empty_document_has_no_cases(tmp_path: Path) -> None:
    for content in ("", " \n", "\ufeff", "[ ]"):
        survey = dataset(tmp_path, "a.json", content).check()
        assert survey.count == 0
        assert "no cases" in survey.notes


def test_repeated_ids_without_lines_are_named_by_record(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.json", json.dumps({"d": [{"id": 1}, {"id": 2}, {"id": 1}]}), records="d")
    assert "id `1` on records 1 and 3" in faults(source)[0]


def test_text_is_decoded_alike_in_pieces_of_any_size(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.json", "x")
    file = source._file
    assert file is not None
    for codec in ("utf-8", "utf-16-le", "utf-32-be", "shift_jis", "gb18030", "utf-7"):
        raw = "日本\n語ü"[:3].encode(codec)
        read = encodings.read_text(
            file, encodings.TextEncoding(codec, 0, False), (raw[i : i + 1] for i in range(len(raw)))
        )
        assert "".join(read) == "日本\n"
