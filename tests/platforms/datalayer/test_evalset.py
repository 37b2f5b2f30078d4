"""Evalset files: what they mean, and every fault of one at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_eval.datasets import open_dataset
from tui_eval.errors import DatasetError, SpecError
from tui_eval.spec.evalset import load_evalset, prompt_of
from tui_eval.spec.model import Dataset
from tui_eval.spec.workspace import scan

EVALSETS = Path(__file__).parent / "evalsets"
FILES = sorted(EVALSETS.glob("*.evalset.json"))
SIZES = {"agent_runtimes": 6, "examples-data": 6, "examples-evals_batch": 5, "examples-evals_interactive": 4}


def evalset(**changes: Any) -> dict[str, Any]:
    case = {"name": "one", "inputs": {"prompt": "hi"}, "expected_output": "HI"}
    return {"name": "e", "cases": [case], "evalset_evaluators": [{"name": "equals_expected"}], **changes}


def written(folder: Path, data: Any, name: str = "x.evalset.json") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(data) if name.endswith("yaml") else json.dumps(data, indent=1))
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_shipped_evalsets_are_read_and_kept_as_they_are(path: Path) -> None:
    found = load_evalset(path, require_cases=True)
    assert found.raw == json.loads(path.read_text())
    assert len(found.cases) == next(size for name, size in SIZES.items() if path.name.startswith(name))
    assert all(case.prompt and case.evaluators for case in found.cases)


def test_a_preamble_comes_before_the_prompt() -> None:
    batch = load_evalset(EVALSETS / "examples-evals_batch.evalset.json")
    assert batch.cases[0].prompt.startswith("Return only the normalized text.")
    assert batch.cases[0].prompt.endswith("\n\nInput:\nhello world")
    older = load_evalset(EVALSETS / "examples-evals_batch.older-fbc66f4.evalset.json")
    assert older.cases[1].prompt == "  Paris  "


@pytest.mark.parametrize(
    ("inputs", "prompt"),
    [
        ({"prompt": "a", "text": "b"}, "a"),
        ({"prompt": " ", "text": "b"}, "b"),
        ({"query": "c", "message": "d"}, "c"),
        ({"message": "d"}, "d"),
        ({"prompt": 3, "language": "fr"}, '{"prompt": 3, "language": "fr"}'),
        ({"question": "é"}, '{"question": "\\u00e9"}'),
        ("plain", "plain"),
    ],
)
def test_the_prompt_is_the_first_text_that_says_something(inputs: Any, prompt: str) -> None:
    assert prompt_of(inputs) == prompt
    assert prompt_of(inputs, " ") == prompt
    assert prompt_of(inputs, " Do it.\n") == f"Do it.\n\nInput:\n{prompt}"


def test_evaluators_of_a_case_replace_the_default_ones() -> None:
    cases = [{"name": "a", "inputs": "x"}, {"name": "b", "inputs": "x", "evaluators": [{"name": "contains"}]}]
    found = load_evalset(evalset(cases=cases))
    assert [[ref.name for ref in case.evaluators] for case in found.cases] == [["equals_expected"], ["contains"]]


def test_expected_is_another_word_for_expected_output() -> None:
    cases = [
        {"name": "a", "inputs": "x", "expected": "E"},
        {"name": "b", "inputs": "x", "expected": 1, "expected_output": None},
    ]
    found = load_evalset(evalset(cases=cases))
    assert [case.row()["expected_output"] for case in found.cases] == ["E", None]


def test_cases_of_one_name_stay_two_cases() -> None:
    cases = [{"name": "a", "inputs": "x"}, {"name": "a", "inputs": "y"}, {"name": "a", "id": "7", "inputs": "z"}]
    found = load_evalset(evalset(cases=[*cases, {"name": "a (2)", "inputs": "w"}]))
    ids = [case.id for case in found.cases]
    assert ids == ["a", "a (3)", "a (7)", "a (2)"]
    assert any("two cases are called `a`" in str(warning) for warning in found.warnings)


@settings(deadline=None)
@given(
    st.lists(st.fixed_dictionaries({"name": st.text(min_size=1)}, optional={"id": st.none() | st.text()}), max_size=6)
)
def test_every_case_has_an_id_of_its_own(cases: list[dict[str, Any]]) -> None:
    found = load_evalset(evalset(cases=cases))
    assert len({case.id for case in found.cases}) == len(cases)


def test_every_fault_is_told_at_once_with_its_place(tmp_path: Path) -> None:
    data = evalset(description=None, kind="x", is_public="yes", cases=[{"inputs": 4}, {"name": "", "evaluators": [{}]}])
    with pytest.raises(SpecError) as caught:
        load_evalset(written(tmp_path, data))
    paths = {fault.path for fault in caught.value.faults}
    assert {"description", "kind", "is_public", "cases.0.name", "cases.1.name", "cases.1.evaluators.0.name"} <= paths
    assert all(fault.line > 1 for fault in caught.value.faults)


def test_a_pass_rate_out_of_range_is_a_fault() -> None:
    gate = {"name": "pass_rate_threshold", "arguments": {"min_pass_rate": 80}}
    with pytest.raises(SpecError, match="from 0 to 1"):
        load_evalset(evalset(report_evaluators=[gate]))


def test_no_cases_is_a_fault_only_for_who_needs_some() -> None:
    assert load_evalset(evalset(cases=[])).cases == ()
    with pytest.raises(SpecError, match="no cases"):
        load_evalset(evalset(cases=[]), require_cases=True)


@pytest.mark.parametrize("name", ["x.evalset.yaml", "x.evalset.yml", "x.evalset.json"])
def test_yaml_is_read_as_well(tmp_path: Path, name: str) -> None:
    assert load_evalset(written(tmp_path, evalset(), name)).cases[0].prompt == "hi"


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "x.evalset.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(evalset()).encode())
    assert load_evalset(path).spec.name == "e"


def test_what_surely_was_not_meant_is_warned_about() -> None:
    data = evalset(
        purpose="x",
        evalset_evaluators=[{"name": "pass_rate_threshold", "arguments": {"threshold": 0.6}}],
        report_evaluators=[{"name": "confusion-matrix"}],
        cases=[{"name": "a", "inputs": {}, "evaluators": [{"name": "json_schema", "config": {"a": 1}}], "note": 1}],
    )
    warned = "\n".join(map(str, load_evalset(data).warnings))
    for words in (
        "unknown key `purpose`",
        "judges a whole run",
        "`min_pass_rate`, not `threshold`",
        "`confusion-matrix` is no evaluator of reports",
        "`json_schema` is no evaluator that can be carried out",
        "`config` is read by nobody",
        "unknown key `note`",
        "no inputs",
    ):
        assert words in warned


def test_inputs_that_break_the_evalsets_own_schema_are_warned_about() -> None:
    schema = {"input_schema": {"type": "object", "required": ["text"]}}
    warned = [str(one) for one in load_evalset(evalset(schema=schema)).warnings]
    assert any("do not fit the evalset's own input_schema: 'text' is a required property" in one for one in warned)
    broken = load_evalset(evalset(schema={"input_schema": {"type": "nothing"}})).warnings
    assert any("the input_schema is not used" in str(one) for one in broken)


@pytest.mark.parametrize(
    ("file", "strict", "compat"),
    [
        ("agent_runtimes-data-analysis", (0.6,), (0.8,)),
        ("examples-data-analysis-agent", (0.6,), ()),
        ("examples-evals_batch", (0.8,), (0.8,)),
        ("examples-evals_interactive", (0.75,), (0.75,)),
    ],
)
def test_pass_rates_are_asked_for_under_both_names_and_wherever_they_stand(file: str, strict: Any, compat: Any) -> None:
    found = load_evalset(EVALSETS / f"{file}.evalset.json")
    assert (found.gates, found.compat_gates) == (strict, compat)


def test_an_evalset_is_a_dataset_like_any_other() -> None:
    path = EVALSETS / "examples-evals_batch.evalset.json"
    survey = open_dataset(Dataset(path=str(path)), Path("/")).check()
    assert survey.count == 5
    case = next(open_dataset(Dataset(path=str(path)), Path("/")).cases())
    assert (case.id, case.input["expected_output"], case.line) == ("uppercase-basic", {"text": "HELLO WORLD"}, 168)


def test_a_broken_evalset_is_a_broken_dataset(tmp_path: Path) -> None:
    path = written(tmp_path, evalset(cases=[{"inputs": "x"}]))
    with pytest.raises(DatasetError, match="`name` is missing"):
        open_dataset(Dataset(path=path.name), tmp_path).check()


def test_evalsets_are_found_in_a_workspace(tmp_path: Path) -> None:
    written(tmp_path, evalset(), "a.evalset.json")
    written(tmp_path, evalset(), "b.evalset.yaml")
    assert [found.kind for found in scan(tmp_path).found] == ["evalset", "evalset"]


def test_an_evalset_that_was_changed_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path, evalset(name="first"))
    assert load_evalset(path).spec.name == "first"
    written(tmp_path, evalset(name="second one"))
    assert load_evalset(path).spec.name == "second one"


def test_a_gate_of_zero_is_a_gate() -> None:
    gate = {"name": "pass-rate-threshold", "arguments": {"min_pass_rate": 0}}
    found = load_evalset(evalset(report_evaluators=[gate]))
    assert (found.gates, found.compat_gates) == ((0.0,), (0.0,))
