"""``variable_mapping``."""

from __future__ import annotations

import pytest

from tui_eval.domain import Case
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.variables import check_mapping, variables_for

CASE = Case("c1", {"q": "why?", "a.b": "whole", "a": {"b": "inner", "list": [{"x": 0}]}, "empty": None, "": "none"})


def test_each_source_is_read_as_it_is() -> None:
    mapping = {
        "input": "experiment_input",
        "answer": "experiment_output",
        "question": "dataset.q",
        "nothing": "dataset.empty",
    }
    values = variables_for(mapping, case=CASE, output=False, sent={"body": 1})
    assert values == {"output": False, "input": {"body": 1}, "answer": False, "question": "why?", "nothing": None}


def test_output_is_the_output_unless_mapped_to_something_else() -> None:
    assert variables_for({}, case=CASE, output="", sent=None) == {"output": ""}
    assert variables_for({"output": "dataset.q"}, case=CASE, output="", sent=None) == {"output": "why?"}


def test_a_column_of_that_exact_name_wins_over_a_path() -> None:
    mapping = {"whole": "dataset.a.b", "inner": "dataset.a.list.0.x"}
    values = variables_for(mapping, case=CASE, output=1, sent=1)
    assert (values["whole"], values["inner"]) == ("whole", 0)


@pytest.mark.parametrize("source", ["dataset.expected", "dataset.a.c", "dataset.a.list.1", "dataset.q.x", "output", ""])
def test_what_a_case_does_not_have_leaves_it_unscored(source: str) -> None:
    with pytest.raises(EvaluatorError) as caught:
        variables_for({"expected_output": source}, case=CASE, output=1, sent=1)
    assert "expected_output" in str(caught.value)


def test_a_wrong_mapping_is_told_before_the_run_with_the_nearest_name() -> None:
    columns = ["question", "answer", "meta"]
    mapping = {
        "output": "experiment_ouput",
        "expected_output": "dataset.anwser",
        "case": "dataset.Question",
        "deep": "dataset.meta.x.y",
        "none": "dataset.",
        "plain": "answer",
        "fine": "experiment_input",
    }
    messages = check_mapping(mapping, columns, ())
    assert len(messages) == 5
    assert "did you mean `experiment_output`?" in messages[0]
    assert "did you mean `dataset.answer`?" in messages[1]
    assert "did you mean `dataset.question`?" in messages[2]


def test_a_column_that_some_cases_have_is_no_fault() -> None:
    assert check_mapping({"x": "dataset.hint"}, ["question"], ["hint"]) == []
    assert check_mapping({"x": "dataset.hint"}, ["question"], True) == []
    assert len(check_mapping({"x": "dataset.hint"}, ["question"], False)) == 1
