"""Ids of cases, and which cases take part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.datasets.support import dataset, faults, ids, lines, opened
from tui_eval.datasets.identity import SeenHashes
from tui_eval.datasets.sampling import Lottery, priority
from tui_eval.errors import DatasetError


def jsonl(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_repeated_ids_are_refused_with_both_lines(cases: Path) -> None:
    source = opened(cases / "04-csv-ragged-dup-header", "duplicate-id.csv")
    found = source.scan().faults
    assert found[0].message == "id `x` on lines 2 and 3"
    assert (found[1].line, "is empty" in found[1].message) == (4, True)
    with pytest.raises(DatasetError):
        source.check()


def test_a_number_and_its_text_are_the_same_id(tmp_path: Path) -> None:
    assert (
        "id `5` on lines 1, 2 and 4"
        in faults(dataset(tmp_path, "a.jsonl", jsonl({"id": 5}, {"id": "5"}, {"id": 5.0}, {"id": 5})))[0]
    )


def test_skipping_bad_lines_does_not_excuse_repeated_ids(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="id `a` on lines 1 and 3"):
        dataset(tmp_path, "a.jsonl", '{"id": "a"}\nbroken\n{"id": "a"}\n', skip_bad_lines=True).check()


def test_very_many_repeated_ids_are_counted(tmp_path: Path) -> None:
    survey = dataset(tmp_path, "a.jsonl", jsonl(*[{"id": number % 3000} for number in range(6000)])).scan()
    assert len(survey.faults) == 101
    many = dataset(tmp_path, "b.jsonl", jsonl(*[{"id": "same"}] * 50)).scan()
    assert "and 40 more" in many.faults[0].message


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (None, "null"),
        (True, "true or false"),
        ([1], "a list"),
        ({"a": 1}, "an object"),
        ("", "is empty"),
        ("  ", "is empty"),
        ("a\x1b[31mb", "U+001B"),
        ("a\nb", "U+000A"),
        ("a\u2028b", "U+2028"),
        ("x" * 501, "501 characters"),
    ],
)
def test_a_value_that_cannot_be_an_id_is_refused(tmp_path: Path, value: Any, what: str) -> None:
    source = dataset(tmp_path, "a.jsonl", jsonl({"id": "ok"}, {"id": value}))
    assert lines(source) == [2]
    assert what in faults(source)[0]
    assert "\x1b" not in faults(source)[0]


def test_usual_and_unusual_ids_are_taken_as_they_are(tmp_path: Path) -> None:
    values = ["a b", "caf\u00e9\u00a0x", "日本", "x" * 500, "[bold]", "../a", 7, 1.5, -0.0, 10**30]
    source = dataset(tmp_path, "a.jsonl", jsonl(*[{"id": value} for value in values]))
    assert ids(source) == [value if isinstance(value, str) else json.dumps(value) for value in values]
    assert source.check().generated_ids is False


def test_another_column_can_hold_the_id(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.jsonl", jsonl({"key": "k1", "id": 1}, {"key": "k2", "id": 1}, {"id": 3}), id="key")
    assert [case.id for case in source.cases()] == ["k1", "k2"]
    assert lines(source) == [3]


def test_a_column_that_no_record_has_is_one_fault_with_the_nearest(tmp_path: Path) -> None:
    text = jsonl(*[{"ticket_id": number, "q": "x"} for number in range(300)]) + "broken\n"
    (broken, column) = sorted(
        dataset(tmp_path, "a.jsonl", text, id="ticketid").scan().faults, key=lambda fault: -fault.line
    )
    assert broken.line == 301
    assert "no record has the column `ticketid`" in column.message
    assert "did you mean `ticket_id`" in column.hint
    with pytest.raises(DatasetError, match="no record has the column"):
        opened(tmp_path, "a.jsonl", id="ticketid", skip_bad_lines=True).check()


def test_ids_made_from_content_are_stable_and_differ_for_equal_content(tmp_path: Path) -> None:
    records = [{"q": "a"}, {"q": "b"}, {"q": "a"}, {"q": "a"}]
    source = dataset(tmp_path, "a.jsonl", jsonl(*records))
    survey = source.check()
    assert survey.generated_ids
    assert any("ids are made from the content" in note for note in survey.notes)
    found = ids(source)
    assert all(len(name.split("-")[0]) == 16 for name in found)
    assert found[2:] == [f"{found[0]}-2", f"{found[0]}-3"]
    # The order of keys, the format and what else is in the file do not matter.
    other = dataset(tmp_path, "b.json", json.dumps([{"q": "new"}, *records]))
    assert ids(other)[1:] == found
    assert [case.id for case in source.rows(2, 2)] == found[2:]


def test_the_first_record_decides_whether_there_is_an_id_column(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.jsonl", jsonl({"q": 1}, {"id": "x", "q": 2}))
    assert source.check().generated_ids
    assert any("first record has no `id`" in note for note in source.check().notes)
    assert lines(dataset(tmp_path, "b.jsonl", jsonl({"id": "x"}, {"q": 2}))) == [2]


RECORDS = [{"id": f"c{number}", "n": number, "kind": "even" if number % 2 == 0 else "odd"} for number in range(50)]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ({}, 50),
        ({"limit": 3}, 3),
        ({"limit": 0}, 0),
        ({"limit": 0, "seed": 1}, 0),
        ({"limit": 500}, 50),
        ({"limit": 7, "seed": 1}, 7),
        ({"limit": 500, "seed": 1}, 50),
        ({"where": "kind == 'even'"}, 25),
        ({"where": "kind == 'even'", "limit": 5, "seed": 3}, 5),
        ({"where": "n < `10`", "ids": ["c1", "c2", "c30"]}, 2),
        ({"where": "id == 'c4'"}, 1),
        ({"where": "nothing"}, 0),
        ({"ids": []}, 0),
    ],
)
def test_samples_have_the_size_they_should(tmp_path: Path, sample: dict[str, Any], expected: int) -> None:
    source = dataset(tmp_path, "a.jsonl", jsonl(*RECORDS), sample=sample)
    chosen = ids(source)
    survey = source.check()
    assert len(chosen) == len(set(chosen)) == expected == survey.selected
    assert survey.count == 50
    assert chosen == sorted(chosen, key=lambda name: int(name[1:]))
    if not expected:
        assert any("selects none of the 50 cases" in note for note in survey.notes)


def test_a_seed_gives_the_same_cases_always_and_another_seed_others(tmp_path: Path) -> None:
    def draw(seed: int, records: list[dict[str, Any]]) -> list[str]:
        return ids(dataset(tmp_path, "a.jsonl", jsonl(*records), sample={"limit": 10, "seed": seed}))

    assert draw(7, RECORDS) == draw(7, RECORDS) != draw(8, RECORDS)
    assert set(draw(7, RECORDS)) == set(draw(7, RECORDS[::-1]))
    # A case more changes the draw by one case at most.
    assert len(set(draw(7, RECORDS)) & set(draw(7, [*RECORDS, {"id": "c50"}]))) >= 9
    assert priority(7, "c1") == 1406223946792495763


def test_each_case_is_drawn_about_equally_often() -> None:
    counts = [0] * 20
    for seed in range(2000):
        lottery = Lottery(5, seed)
        for position in range(20):
            lottery.enter(position, f"case-{position}")
        for position in lottery.winners():
            counts[position] += 1
    assert all(400 < count < 600 for count in counts)


@pytest.mark.parametrize(
    ("value", "taken"), [(0, True), ("", False), ("x", True), ([], False), ([0], True), ({}, False), (False, False)]
)
def test_truth_is_that_of_the_expression_language(tmp_path: Path, value: Any, taken: bool) -> None:
    assert dataset(tmp_path, "a.jsonl", jsonl({"id": "a", "v": value}), sample={"where": "v"}).check().selected == taken


def test_an_expression_that_cannot_be_applied_names_the_line(tmp_path: Path) -> None:
    text = jsonl({"id": "a", "tags": ["x"]}, {"id": "b"}, {"id": "c", "tags": None})
    source = dataset(tmp_path, "a.jsonl", text, sample={"where": "length(tags) > `0`"})
    assert lines(source) == [2, 3]
    with pytest.raises(DatasetError, match="cannot be applied"):
        list(source.sampled())
    (fault,) = dataset(tmp_path, "a.jsonl", text, sample={"where": "length("}).scan().faults
    assert fault.path == "dataset.sample.where"


def test_ids_that_no_case_has_are_listed_with_the_nearest(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.jsonl", jsonl(*RECORDS), sample={"ids": ["c1", "C2", "zzzz"]})
    (fault,) = source.scan().faults
    assert "no case has the id `C2` (did you mean `c2`?), `zzzz`" in fault.message
    assert fault.path == "dataset.sample.ids"


def test_columns_are_those_of_the_selected_cases(tmp_path: Path) -> None:
    text = jsonl({"id": 1, "a": 1, "b": 2}, {"id": 2, "b": 1, "c": 1}, {"id": 3, "d": 1})
    survey = dataset(tmp_path, "a.jsonl", text).check()
    assert survey.columns == ("id", "a", "b", "c", "d")
    assert survey.partial_columns == ("a", "b", "c", "d")
    survey = opened(tmp_path, "a.jsonl", sample={"limit": 2}).check()
    assert (survey.columns, survey.partial_columns) == (("id", "a", "b", "c"), ("a", "c"))
    assert opened(tmp_path, "a.jsonl", sample={"where": "d"}).check().columns == ("id", "d")


def test_the_content_hash_is_of_the_selected_cases_only(tmp_path: Path) -> None:
    def content(text: str, **sample: Any) -> str:
        return dataset(tmp_path, "a.jsonl", text, sample=sample).check().content_hash

    base = content('{"id": 1, "q": "a"}\n{"id": 2}\n')
    assert base == content('\n{"q":"a","id":1}\r\n{"id": 2}')
    assert base != content('{"id": 1, "q": "b"}\n{"id": 2}\n')
    assert content('{"id": 1}\n{"id": 2}\n', limit=1) == content('{"id": 1}\n{"id": 3}\n', limit=1)


@given(st.lists(st.integers(-(2**70), 2**70)))
def test_the_compact_set_knows_what_it_has_seen(numbers: list[int]) -> None:
    seen = SeenHashes()
    known: set[int] = set()
    for number in [*numbers, *range(600)]:
        key = number % 2**64 or 1
        assert seen.add(number) == (key in known)
        known.add(key)
