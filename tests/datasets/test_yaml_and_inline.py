"""Cases in YAML files and in the plan itself."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from tests.datasets.support import dataset, faults, inputs, opened
from tui_eval.datasets import open_dataset
from tui_eval.errors import DatasetError
from tui_eval.spec.model import Dataset


def test_plain_values_stay_as_they_were_typed(cases: Path) -> None:
    (case,) = opened(cases / "13-yaml-gotchas", "plan.yaml").cases()
    assert (case.id, case.line) == ("1e3", 3)
    assert case.input == {
        "id": "1e3",
        "country": "NO",
        "answer": "no",
        "when": "2031-04-05",
        "code": "012",
        "time": "1:30",
        "ver": "1.10",
        "amount": "1_000",
        "nothing": None,
    }
    json.dumps(case.input)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("duplicate-key.yaml", "line 2 and on line 4"),
        ("tab.yaml", "tab used for indentation at line 2"),
        ("braces.yaml", "quote templates"),
        ("bomb.yaml", "aliases"),
        ("misindented.yaml", "records: tests"),
    ],
)
def test_what_is_wrong_with_the_document_is_said(cases: Path, name: str, message: str) -> None:
    assert message in faults(opened(cases / "13-yaml-gotchas", name))[0]


def test_lists_are_found_at_the_top_and_by_expression(tmp_path: Path) -> None:
    assert inputs(dataset(tmp_path, "a.yaml", "- {id: a, n: 1}\n- {id: b, n: 0.5}\n")) == [
        {"id": "a", "n": 1},
        {"id": "b", "n": 0.5},
    ]
    source = dataset(
        tmp_path, "b.yml", "x:\n  y:\n  - id: a\n    q: |\n      two\n      lines\n  - text\n", records="x.y"
    )
    assert inputs(source) == [{"id": "a", "q": "two\nlines\n"}]
    (fault,) = source.scan().faults
    assert fault.line == 7
    assert "expected a mapping" in fault.message


def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    assert "surrogate" in faults(dataset(tmp_path, "a.yaml", '- {id: a, q: "\\ud800"}\n'))[0]


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "[]"])
def test_a_document_without_content_has_no_cases(tmp_path: Path, text: str) -> None:
    assert "no cases" in dataset(tmp_path, "a.yaml", text).check().notes


def test_a_document_too_large_names_the_setting(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.yaml", "- {id: a}\n", environment={"TUI_EVAL_MAX_DOCUMENT_BYTES": "3"})
    assert "TUI_EVAL_MAX_DOCUMENT_BYTES" in faults(source)[0]


def inline(cases: list[dict[str, Any]], **settings: Any) -> Any:
    return open_dataset(Dataset.model_validate({"cases": cases, **settings}), Path("/nowhere"), environment={})


def test_cases_in_the_plan_are_a_dataset_like_any_other() -> None:
    source = inline([{"id": "a", "q": 1}, {"id": "b"}], sample={"where": "q"})
    assert (source.path, source.size, source.format, source.label) == (None, 0, "inline", "cases in the plan")
    survey = source.check()
    assert (survey.count, survey.selected, survey.columns) == (2, 1, ("id", "q"))
    assert [case.id for case in source.rows(1, 5)] == ["b"]
    assert source.count() == 2


@pytest.mark.parametrize("value", [datetime.date(2031, 4, 5), float("nan"), {1: 2}, {None: 1}, (1, 2), "\udc80", b"x"])
def test_a_value_that_is_not_json_is_refused_where_it_is(value: Any) -> None:
    (fault,) = inline([{"id": "a"}, {"id": "b", "q": [value]}]).scan().faults
    assert fault.path == "dataset.cases[1]"


def test_settings_of_another_format_are_refused_not_ignored(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n")
    with pytest.raises(DatasetError) as caught:
        opened(tmp_path, "a.jsonl", delimiter=";", records="data")
    assert [fault.path for fault in caught.value.faults] == ["dataset.delimiter", "dataset.records"]
