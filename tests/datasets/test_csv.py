"""CSV and TSV files as spreadsheets and people really write them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.datasets.support import dataset, faults, inputs, lines, opened
from tui_eval.errors import DatasetError


def test_a_byte_order_mark_is_no_part_of_the_first_column_name(cases: Path) -> None:
    source = opened(cases / "01-csv-bom", "data.csv")
    survey = source.check()
    assert survey.columns == ("id", "question", "expected")
    assert len(survey.columns[0]) == 2
    assert inputs(source) == [
        {"id": "k1", "question": "Which tram goes to the harbour?", "expected": "line 4"},
        {"id": "k2", "question": "Opening hours, Sunday?", "expected": "closed"},
    ]


def test_a_doubled_byte_order_mark_is_no_part_of_it_either(tmp_path: Path) -> None:
    assert dataset(tmp_path, "a.csv", b"\xef\xbb\xbf\xef\xbb\xbfid\r\n1\r\n").check().columns == ("id",)


def test_json_in_a_cell_stays_the_text_it_is(cases: Path) -> None:
    (case,) = inputs(opened(cases / "02-csv-json-cell", "good.csv"))
    assert case["expected_json"] == '{"day": "Tuesday", "note": "a, b"}'
    assert len(case["expected_json"]) == 34


def test_a_declared_json_column_is_read_as_json(cases: Path, tmp_path: Path) -> None:
    (case,) = inputs(opened(cases / "02-csv-json-cell", "good.csv", json_columns=["expected_json"]))
    assert case["expected_json"] == {"day": "Tuesday", "note": "a, b"}
    bad = dataset(tmp_path, "a.csv", 'id,j\n1,"{""a"": 1, ""a"": 2}"\n2,\n3,NaN\n4,[1]\n', json_columns=["j"])
    assert lines(bad) == [2, 3, 4]
    assert "key `a` twice" in faults(bad)[0]
    unknown = dataset(tmp_path, "b.csv", "id,expected\n1,2\n", json_columns=["expectd"])
    assert "did you mean `expected`" in faults(unknown)[0]


def test_a_row_with_an_unquoted_comma_is_refused_and_nothing_is_shifted(cases: Path) -> None:
    source = opened(cases / "02-csv-json-cell", "bad.csv")
    assert inputs(source) == [{"id": "j1", "question": "Which day?", "expected_json": '{"day": "Tuesday"}'}]
    (fault,) = source.scan().faults
    assert fault.line == 3
    assert "4 fields, the header has 3" in fault.message
    assert "double the quotes" in fault.hint


def test_all_ragged_rows_are_listed_and_blank_rows_counted(cases: Path) -> None:
    source = opened(cases / "04-csv-ragged-dup-header", "ragged.csv")
    survey = source.scan()
    assert [(fault.line, fault.message.split(";")[0]) for fault in survey.faults] == [
        (3, "2 fields, the header has 3"),
        (4, "4 fields, the header has 3"),
    ]
    assert "`extra`" in survey.faults[1].message
    assert "1 blank row skipped" in survey.notes
    with pytest.raises(DatasetError) as caught:
        source.check()
    assert len(caught.value.faults) == 2


def test_column_names_are_there_and_differ(cases: Path, tmp_path: Path) -> None:
    assert (
        "column `expected` appears twice (columns 2 and 4)"
        in faults(opened(cases / "04-csv-ragged-dup-header", "duplicate-header.csv"))[0]
    )
    assert "column `a` appears 3 times (columns 1, 2 and 4)" in faults(dataset(tmp_path, "a.csv", "a,a,b,a\n"))[0]
    assert "column 2 has no name" in faults(dataset(tmp_path, "b.csv", "a,,b\n1,2,3\n"))[0]
    assert "columns 2 and 3 have no name" in faults(dataset(tmp_path, "c.csv", "a, ,\n1,2,3\n"))[0]


def test_skipping_bad_lines_does_not_excuse_a_bad_header(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.csv", "id,a,a\n1,2,3\n", skip_bad_lines=True)
    with pytest.raises(DatasetError, match="appears twice"):
        source.check()
    with pytest.raises(DatasetError, match="appears twice"):
        list(source.cases())


def test_a_large_cell_is_read_whole(cases: Path) -> None:
    (case,) = inputs(opened(cases / "05-csv-big-field", "data.csv"))
    assert len(case["context"]) == 151_200


@pytest.mark.parametrize("text", ["id,context,q\n1,ok,a\n2,{},b\n", 'id,context,q\n1,ok,a\n2,"{}\nmore",b\n'])
def test_a_cell_beyond_the_ceiling_is_named_with_its_size_and_the_setting(tmp_path: Path, text: str) -> None:
    source = dataset(tmp_path, "a.csv", text.format("x" * 3000), environment={"TUI_EVAL_MAX_RECORD_BYTES": "2000"})
    (fault,) = source.scan().faults
    assert fault.file.endswith("a.csv")
    assert (fault.line, fault.column) == (3, 3)
    assert "column 2 (`context`)" in fault.message
    assert "more than 1998 characters" in fault.message
    assert re.search(r"the line is 300\d bytes long", fault.message)
    assert "TUI_EVAL_MAX_RECORD_BYTES" in fault.hint
    raised = opened(tmp_path, "a.csv", environment={"TUI_EVAL_MAX_RECORD_BYTES": "4000"})
    assert raised.check().count == 2


def test_line_numbers_are_physical_lines_also_behind_cells_of_several_lines(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.csv", 'id,q\r\n1,"a\r\nb\r\n\r\nc"\r\n\r\n2,x\r\n3\r\n')
    assert [(case.id, case.line) for case in source.cases()] == [("1", 2), ("2", 7)]
    assert lines(source) == [8]
    assert inputs(source)[0]["q"] == "a\r\nb\r\n\r\nc"


def test_a_quote_that_is_never_closed_is_named_where_it_opens(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.csv", 'id,q\n1,fine\n2,"open\n3,x\n4,y\n')
    (fault,) = source.scan().faults
    assert (fault.line, fault.column) == (3, 3)
    assert "never closed" in fault.message
    with pytest.raises(DatasetError):
        list(source.cases())
    # Not something that may be skipped: nobody knows what it would have taken in.
    with pytest.raises(DatasetError):
        opened(tmp_path, "a.csv", skip_bad_lines=True).check()


def test_text_behind_a_closing_quote_is_refused_and_the_next_row_read(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.csv", 'id,q\n1,"say "hi" now"\n2,x\n3,"y\n4,"z"\n5,w\n')
    assert lines(source) == [2, 4]
    assert "goes on behind the closing one" in faults(source)[0]
    assert [case.id for case in source.cases()] == ["2", "5"]


def test_another_delimiter_is_noticed(tmp_path: Path) -> None:
    text = "id;question;expected\n1;a, b;c\n"
    assert 'set `delimiter: ";"`' in faults(dataset(tmp_path, "a.csv", text))[0]
    assert inputs(opened(tmp_path, "a.csv", delimiter=";"))[0]["question"] == "a, b"
    assert "tsv" in faults(dataset(tmp_path, "b.csv", "id\tquestion\n1\ta\n"))[0]
    assert inputs(dataset(tmp_path, "c.tsv", "id\tq\n1\ta, b\n")) == [{"id": "1", "q": "a, b"}]
    assert inputs(dataset(tmp_path, "d.csv", "sep=;\r\nid;q\r\n1;a,b\r\n")) == [{"id": "1", "q": "a,b"}]
    assert inputs(dataset(tmp_path, "e.csv", 'question\n"a; b"\n')) == [{"question": "a; b"}]


def test_old_line_ends_are_read(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.csv", "id,q\r1,a\r2,b\r3\r")
    assert inputs(source) == [{"id": "1", "q": "a"}, {"id": "2", "q": "b"}]
    assert lines(source) == [4]


def test_a_stray_carriage_return_or_nul_is_reported_with_its_line(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.csv", b"id,q\n1,a\rb\n2,x\n3,y\n")
    assert lines(source) == [2]
    padding = b"".join(b"%d,x\n" % number for number in range(2000))
    source = dataset(tmp_path, "b.csv", b"id,q\n" + padding + b"z,a\x00b\n")
    assert lines(source) == [2002]
    assert "NUL" in faults(source)[0]


def test_spaces_and_unicode_breaks_in_cells_are_kept(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.csv", "id,q\n1, a\u2028b\x85c\x0bd\x0c \n")
    assert inputs(source) == [{"id": "1", "q": " a\u2028b\x85c\x0bd\x0c "}]


def test_a_file_of_json_lines_named_csv_is_recognised(tmp_path: Path) -> None:
    assert "format: jsonl" in faults(dataset(tmp_path, "a.csv", '{"id": 1, "q": "x"}\n'))[0]


@pytest.mark.parametrize("content", ["", "\n\n", "id,q\n", "id,q", "\ufeffid,q\r\n\r\n , \r\n"])
def test_a_file_without_rows_has_no_cases_and_is_no_fault(tmp_path: Path, content: str) -> None:
    survey = dataset(tmp_path, "a.csv", content).check()
    assert (survey.count, survey.selected) == (0, 0)
    assert "no cases" in survey.notes
    assert survey.columns in ((), ("id", "q"))


@pytest.mark.parametrize("delimiter", ['"', "\n", "\r"])
def test_a_delimiter_that_cannot_be_one_is_refused(tmp_path: Path, delimiter: str) -> None:
    assert "cannot be a delimiter" in faults(dataset(tmp_path, "a.csv", "a,b\n", delimiter=delimiter))[0]
