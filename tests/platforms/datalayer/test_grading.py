"""What an evalset's evaluators decide: strictly, and as the reference does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_eval.domain import Outcome, Score, outcome_of
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.base import Ask, EvaluatorSetup, Subject
from tui_eval.platforms.datalayer.grading import Grading
from tui_eval.spec.datalayer_options import DatalayerGrading
from tui_eval.spec.evalset import load_evalset

EVALSETS = Path(__file__).parent / "evalsets"
JUDGE = {"base_url": "http://judge/v1", "model": "m"}


def grade(output: Any, expected: Any, *refs: dict[str, Any], ask: Ask | None = None, **options: Any) -> Score:
    setup = EvaluatorSetup(folder=Path("/"), environment={}, ask=ask)
    grading = Grading(DatalayerGrading.model_validate(options), setup)
    variables = {"output": output, "expected_output": expected, "evaluators": list(refs), "prompt": "say it"}

    async def score() -> Score:
        try:
            return await grading.evaluate(Subject("c", variables))
        except EvaluatorError as error:
            return Score("datalayer", error=str(error))

    return asyncio.run(score())


def strict(output: Any, expected: Any, *refs: dict[str, Any], **options: Any) -> Outcome:
    return outcome_of([grade(output, expected, *refs, **options)])


def compat(output: Any, expected: Any, *refs: dict[str, Any], **options: Any) -> Outcome:
    return outcome_of([grade(output, expected, *refs, grading="compat", **options)])


EQUALS = {"name": "equals_expected", "arguments": {}}


def contains(**arguments: Any) -> dict[str, Any]:
    return {"name": "contains", "arguments": arguments}


@pytest.mark.parametrize("name", ["equals_expected", "equals", "Equals-Expected", " EQUALS "])
@pytest.mark.parametrize("expected", ["157", {"text": "157"}, {"text": "157", "confidence": 1}, 157, " 157 \n"])
def test_equal_texts_pass_white_space_aside(name: str, expected: Any) -> None:
    ref = {"name": name, "arguments": {}}
    assert strict(" 157\n", expected, ref) is Outcome.PASSED
    assert strict("157 customers", expected, ref) is Outcome.FAILED
    assert compat(" 157\n", expected, ref) is Outcome.PASSED
    assert compat("157 customers", expected, ref) is Outcome.FAILED


@pytest.mark.parametrize("expected", [["a"], [], {"text": {"a": 1}}, {"text": ["a"]}])
@pytest.mark.parametrize("ref", [EQUALS, contains()])
def test_what_the_reference_compares_by_its_python_text_is_no_verdict_strictly(expected: Any, ref: Any) -> None:
    assert strict("anything", expected, ref) is Outcome.UNSCORED
    assert compat("anything", expected, ref) is Outcome.FAILED
    inner = expected["text"] if isinstance(expected, dict) else expected
    assert compat(str(inner), expected, ref) is Outcome.PASSED


@pytest.mark.parametrize("expected", [None, {"label": "refusal"}, {"text": None}, {}])
@pytest.mark.parametrize("ref", [EQUALS, contains()])
def test_nothing_comparable_is_no_verdict_strictly_and_a_labelled_pass_in_compat(expected: Any, ref: Any) -> None:
    assert strict("anything", expected, ref) is Outcome.UNSCORED
    score = grade("anything", expected, ref, grading="compat")
    assert (score.passed, score.value) == (True, 1.0)
    assert score.reason.startswith("as Datalayer decides: ")
    assert score.detail["checks"][0]["vacuous"] is True


def test_an_unknown_evaluator_is_no_verdict_strictly_and_a_pass_in_compat() -> None:
    ref = {"name": "json_schema", "arguments": {"required_keys": ["a"]}}
    score = grade("x", "x", ref)
    assert score.passed is None
    assert "`json_schema`" in score.error
    assert compat("x", "x", ref) is Outcome.PASSED


def test_a_case_without_evaluators_is_no_verdict_strictly_and_a_pass_in_compat() -> None:
    assert strict("x", "x") is Outcome.UNSCORED
    assert grade("x", "x", grading="compat").value == 1.0


def test_one_undecided_check_beside_a_pass_leaves_the_case_unscored_and_beside_a_no_it_fails() -> None:
    unknown = {"name": "is-instance"}
    assert strict("x", "x", EQUALS, unknown) is Outcome.UNSCORED
    assert strict("y", "x", EQUALS, unknown) is Outcome.FAILED
    assert compat("y", "x", EQUALS, unknown) is Outcome.FAILED
    assert grade("y", "x", EQUALS, unknown, grading="compat").value == 0.0


def test_contains_ignores_upper_and_lower_case_unless_told() -> None:
    assert strict("SAY HELLO", None, contains(tokens=["hello"])) is Outcome.PASSED
    assert strict("SAY HELLO", None, contains(tokens=["hello"], case_sensitive=True)) is Outcome.FAILED


@pytest.mark.parametrize(
    "arguments", [{"tokens": ["a", "b"]}, {"tokens": ["b", "x"]}, {"substring": "x"}, {"value": "x"}]
)
def test_every_needle_must_be_there(arguments: Any) -> None:
    wanted = Outcome.PASSED if arguments == {"tokens": ["a", "b"]} else Outcome.FAILED
    assert strict("b a", None, contains(**arguments)) is wanted
    assert compat("b a", None, contains(**arguments)) is wanted


def test_contains_falls_back_on_the_expected_text() -> None:
    assert strict("there are 157 of them", "157", contains()) is Outcome.PASSED
    assert strict("there are none", {"text": "157"}, contains()) is Outcome.FAILED


def test_an_empty_needle_is_nothing_to_look_for() -> None:
    assert strict("x", None, contains(tokens=[""])) is Outcome.UNSCORED
    assert strict("x", None, contains(tokens=["x", ""])) is Outcome.UNSCORED
    assert compat("x", None, contains(tokens=["y", ""])) is Outcome.FAILED
    assert compat("x", None, contains(tokens=[""])) is Outcome.PASSED


def test_a_report_evaluator_among_those_of_a_case_decides_nothing() -> None:
    ref = {"name": "pass_rate_threshold", "arguments": {"threshold": 0.6}}
    assert strict("x", "x", EQUALS, ref) is Outcome.PASSED
    assert strict("x", "x", ref) is Outcome.UNSCORED


def test_compat_decides_as_the_reference_did_value_by_value() -> None:
    """``reference_verdicts.json``: what agent-runtimes 1.5.85 said of these outputs, expected values and evaluators."""
    rows = json.loads((Path(__file__).parent / "reference_verdicts.json").read_text(encoding="utf-8"))
    for output, expected, refs, passed, value in rows:
        named = [{"name": name, "arguments": arguments} for name, arguments in refs]
        score = grade(output, expected, *named, grading="compat")
        assert (score.passed, round(score.value or 0.0, 4)) == (passed, value), (output, expected, refs)


# -- the judge --


def judged(
    verdict: str | EvaluatorError, rubric: Any = "is it polite?", **arguments: Any
) -> tuple[Score, Score, list[Any]]:
    asked: list[Any] = []

    async def ask(messages: list[dict[str, Any]]) -> str:
        asked.append(messages)
        if isinstance(verdict, EvaluatorError):
            raise verdict
        return verdict

    given = {} if rubric is ... else {"rubric": rubric}
    ref = {"name": "llm_judge", "arguments": {**given, **arguments}}
    return (
        grade("hello", {"tone": "kind"}, ref, ask=ask, judge=JUDGE),
        grade("hello", {"tone": "kind"}, ref, ask=ask, judge=JUDGE, grading="compat"),
        asked,
    )


def test_a_judge_passes_from_the_threshold_of_the_case_on() -> None:
    assert judged('{"reason": "so-so", "score": 0.7}')[0].passed is True
    assert judged('{"reason": "so-so", "score": 0.69}')[0].passed is False
    assert judged('{"reason": "so-so", "score": 0.69}', threshold=0.5)[1].passed is True


def test_a_judge_is_shown_rubric_prompt_output_and_expectation() -> None:
    asked = judged('{"reason": "", "score": 1}')[2]
    question = asked[0][1]["content"]
    assert all(word in question for word in ("is it polite?", "say it", "hello", "kind"))


@pytest.mark.parametrize("verdict", [EvaluatorError("refused"), "I would say it is fine", '{"score": 7}'])
def test_a_judge_without_a_verdict_is_no_verdict_strictly_and_a_failure_in_compat(verdict: Any) -> None:
    strictly, compatibly, _ = judged(verdict)
    assert (strictly.passed, compatibly.passed) == (None, False)
    assert strictly.error


def test_without_a_rubric_the_reference_has_one() -> None:
    score, _, asked = judged('{"reason": "", "score": 1}', rubric=...)
    assert score.passed is True
    assert "strict about numbers" in asked[0][1]["content"]
    assert judged('{"reason": "", "score": 1}', rubric="")[1].passed is True  # in compat an empty one is none


@pytest.mark.parametrize(
    ("said", "mode"),
    [("hallucination", "hallucination"), ("Tool-Misuse", "tool_misuse"), ("odd", "other"), (3, "wrong_answer")],
)
def test_a_judge_names_the_way_in_which_an_answer_fails(said: Any, mode: str) -> None:
    score = judged(json.dumps({"reason": "no", "score": 0.1, "failure_mode": said}))[0]
    assert score.detail["checks"][0]["failure_mode"] == mode
    own = judged('{"reason": "no", "score": 0, "failure_mode": "too long"}', failure_modes=["too long"])
    assert own[0].detail["checks"][0]["failure_mode"] == "too long"
    assert "too long" in own[2][0][1]["content"]


@pytest.mark.parametrize("arguments", [{"rubric": ""}, {"rubric": None}, {"threshold": "high"}, {"threshold": True}])
def test_a_judge_that_cannot_be_asked_is_no_verdict(arguments: Any) -> None:
    assert judged('{"reason": "", "score": 1}', **arguments)[0].passed is None


def test_without_a_judge_configured_it_says_so() -> None:
    assert "no judge is configured" in grade("x", None, {"name": "llm_judge", "arguments": {"rubric": "r"}}).error


# -- the schema of outputs --


def test_the_output_schema_is_a_check_where_it_is_asked_for() -> None:
    schema = {"type": "object", "required": ["text"]}
    assert strict('{"text": "x"}', '{"text": "x"}', EQUALS, output_schema=schema) is Outcome.PASSED
    assert strict("X", "X", EQUALS, output_schema=schema) is Outcome.FAILED
    assert strict("2000", "2000", EQUALS, output_schema={"type": "string"}) is Outcome.PASSED


# -- the shipped evalset on which a parrot scores everything --


def _parrot(grading: str) -> list[Outcome]:
    evalset = load_evalset(EVALSETS / "examples-evals_interactive.evalset.json")
    rows = [case.row() for case in evalset.cases]
    return [
        outcome_of([grade(row["prompt"].upper(), row["expected_output"], *row["evaluators"], grading=grading)])
        for row in rows
    ]


def test_a_parrot_gets_no_verdict_where_nothing_can_be_graded() -> None:
    assert _parrot("strict") == [Outcome.PASSED, Outcome.UNSCORED, Outcome.PASSED, Outcome.UNSCORED]


def test_the_same_parrot_scores_everything_in_compat() -> None:
    assert _parrot("compat") == [Outcome.PASSED] * 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "a"]), inner, max_size=2),
    max_leaves=6,
)
REF = st.fixed_dictionaries(
    {"name": st.sampled_from(["equals", "contains", "llm_judge", "other", ""])},
    optional={
        "arguments": st.none()
        | st.dictionaries(st.sampled_from(["tokens", "substring", "value", "case_sensitive", "rubric"]), JSON)
    },
)


@settings(deadline=None)
@given(JSON, JSON, st.lists(REF, max_size=3))
def test_whatever_an_evalset_says_grading_gives_a_score_and_strict_never_passes_more(
    output: Any, expected: Any, refs: list[dict[str, Any]]
) -> None:
    strictly = strict(output, expected, *refs)
    compatibly = grade(output, expected, *refs, grading="compat")
    assert compatibly.passed is not None
    assert strictly is not Outcome.ERROR
    # Python's texts of truth values and big numbers differ from JSON's; everything else strict passes, compat does too.
    if strictly is Outcome.PASSED and isinstance(expected, str):
        assert compatibly.passed
