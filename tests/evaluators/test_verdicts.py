"""What judges really answer, and how it is read."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.verdicts import Verdict, read_verdict


def read(reply: str, **changed: Any) -> Verdict:
    options: dict[str, Any] = {"answer_type": "score", "low": 0.0, "high": 1.0, "which": "only", "repair": False}
    return read_verdict(reply, **{**options, **changed})


def refusal(reply: str, **changed: Any) -> str:
    with pytest.raises(EvaluatorError) as caught:
        read(reply, **changed)
    return str(caught.value)


@pytest.fixture(scope="module")
def replies(cases: Path) -> dict[int, str]:
    lines = (cases / "35-judge-replies" / "replies.jsonl").read_text(encoding="utf-8").splitlines()
    return {item["n"]: item["reply"] for item in map(json.loads, lines)}


def test_recorded_replies_with_one_verdict_are_read(replies: dict[int, str]) -> None:
    assert [read(replies[n]) for n in (1, 2)] == [Verdict(0.8, "close")] * 2
    assert read(replies[3]) == Verdict(0.8, "has {braces} inside")
    assert read(replies[5]) == Verdict(0.8, "", ("number given as text",))
    assert read(replies[12]) == Verdict(0.75, "two\nlines", ("line break or other control character inside a text",))


def test_recorded_replies_with_two_verdicts_are_refused_unless_the_last_is_wanted(replies: dict[int, str]) -> None:
    for n, last in ((4, 0.9), (18, 0.0)):
        assert refusal(replies[n]).startswith("more than one verdict")
        assert read(replies[n], which="last").value == last


@pytest.mark.parametrize(
    ("n", "message"),
    [
        (6, "score outside 0 to 1: 8"),
        (7, "score outside 0 to 1: 9.2e+124"),
        (8, "score outside 0 to 1: -0.2"),
        (9, "score is not a number: NaN"),
        (10, "score is not a number: true"),
        (11, "no verdict: its object is not valid JSON"),
        (13, "no verdict: the reply ends inside its JSON object"),
        (14, "no verdict: no JSON object of the reply has a `score`"),
        (15, "no verdict: the reply holds no JSON object"),
        (16, "no verdict: the reply is empty"),
        (17, "no verdict: the reply holds no JSON object"),
    ],
)
def test_recorded_replies_without_a_usable_verdict_say_why(replies: dict[int, str], n: int, message: str) -> None:
    assert refusal(replies[n]).startswith(message)


def test_yes_and_no_are_booleans_or_their_words(replies: dict[int, str]) -> None:
    assert read(replies[10], answer_type="yes_no").value == 1
    assert read('{"score": false}', answer_type="yes_no").value == 0
    assert read('{"score": "No"}', answer_type="yes_no") == Verdict(0.0, "", ("answer given as text",))
    for reply in ('{"score": 1}', '{"score": 0.8}', '{"score": null}', '{"score": "maybe"}', '{"score": [true]}'):
        assert refusal(reply, answer_type="yes_no").startswith("score is not yes or no")


def test_comments_are_accepted_only_when_repair_is_on_and_never_inside_texts(replies: dict[int, str]) -> None:
    assert read(replies[11], repair=True) == Verdict(1.0, "", ("comments in the JSON were left out",))
    assert read('{"reason": "see http://a/*b*/", "score": 1}', repair=True) == Verdict(1.0, "see http://a/*b*/")
    assert read('{"score": 1, /* it\'s "}" */ "reason": "// no"}', repair=True).reason == "// no"
    assert refusal('{"score": 1 /* open }', repair=True).startswith("no verdict")


@pytest.mark.parametrize(
    "reply",
    [
        *('{"result": {"score": 0.8}}', "{'score': 0.8}", '{"score": 0.8,}', '{"Score": 0.8}', '{"score"; 0.8}'),
        *('"{\\"score\\": 0.8}"', "score: 0.8", '{"score": 0.9', '{"detail": {"score": 0.1}, "score": 0.9, "x": "'),
        *('{"score": 0.8, "reason": "a "quoted" word"}', "{score: 0.8}", '{"a": 1}', "[0.8]", "0.8", "80%"),
    ],
)
def test_what_is_not_one_json_object_with_a_score_is_no_verdict(reply: str) -> None:
    assert refusal(reply).startswith("no verdict")


@pytest.mark.parametrize(
    "value",
    ['"8/10"', '"0,8"', '"80%"', '"NaN"', '"high"', '""', "null", "[0.8]", '{"value": 0.8}', "Infinity", "true"],
)
def test_a_score_that_is_no_number_is_named(value: str) -> None:
    assert refusal(f'{{"score": {value}}}').startswith("score is not a number")


@pytest.mark.parametrize("value", ["1.0001", "-1e-9", "1e999", "9" * 5000, "-" + "9" * 5000, '"7"', "100"])
def test_a_score_outside_the_range_is_never_clamped_or_scaled(value: str) -> None:
    assert refusal(f'{{"score": {value}}}').startswith("score outside 0 to 1")


def test_a_score_just_outside_the_range_is_not_told_as_its_bound() -> None:
    assert refusal('{"score": 1.0000000001}') == "score outside 0 to 1: 1.0000000001"


def test_other_objects_are_no_second_verdict() -> None:
    assert read('The answer was {"output": {"score": 1}}. {"score": 0.2, "parts": {"score": 0.9}}').value == 0.2
    assert read('A set {a, b}, LaTeX \\frac{1}{2}, {{name}}: {"score": 0.2}').value == 0.2
    assert read('{"score": 0.2} and then {"').value == 0.2


def test_a_broken_second_verdict_is_not_overlooked() -> None:
    assert refusal('{"score": 0.9} wait: {"score": 0.').startswith("more than one verdict")
    assert refusal("{'score': 0.9} wait: {\"score\": 0.1}").startswith("more than one verdict")
    assert refusal('{"score": 0.9} wait: {"score": 0.', which="last").startswith("no verdict")
    assert refusal('{"score": 0.1, "score": 0.9}').startswith("more than one verdict")


def test_the_range_is_the_declared_one() -> None:
    assert read('{"score": 4}', low=1, high=5).value == 4
    assert refusal('{"score": 0}', low=1, high=5).startswith("score outside 1 to 5")


def test_half_a_surrogate_pair_in_a_reason_can_be_stored() -> None:
    assert read('{"score": 1, "reason": "\\ud83d"}').reason.encode("utf-8") == b"\\ud83d"
    assert read('{"score": 1, "reason": ["a", 1]}').reason == '["a", 1]'
    assert read('{"score": 1, "reason": null}').reason == ""


@pytest.mark.parametrize("piece", ["{", '{"a":', '"', '{"score": ', "{}", '{"score": 1}', "/*", "\\", '{" '])
def test_hostile_replies_cost_no_more_than_in_proportion(piece: str) -> None:
    def cost(pieces: int) -> float:
        began = time.process_time()
        for which in ("only", "last"):
            for repair in (False, True):
                try:
                    read(piece * pieces, which=which, repair=repair)
                except EvaluatorError:
                    continue
        return time.process_time() - began

    small, large = min(cost(8_000) for _ in range(2)), min(cost(32_000) for _ in range(2))
    assert large < 8 * small + 0.2, "four times the text must cost about four times, not sixteen"


@given(
    st.text() | st.text(alphabet='{}[]":,\\/*\n scoreNa0123456789.eE+-\'"'),
    st.sampled_from(["score", "yes_no"]),
    st.sampled_from(["only", "last"]),
    st.booleans(),
)
def test_any_reply_is_a_verdict_within_range_or_an_evaluator_error(
    reply: str, answer_type: str, which: str, repair: bool
) -> None:
    try:
        verdict = read(reply, answer_type=answer_type, which=which, repair=repair)
    except EvaluatorError:
        return
    assert 0 <= verdict.value <= 1


@given(
    st.floats(0, 1),
    st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    st.dictionaries(st.text().filter(lambda key: key not in ("score", "reason")), st.text() | st.integers(-9, 9)),
    st.booleans(),
    st.booleans(),
)
def test_a_verdict_in_json_comes_back_as_it_was(
    score: float, reason: str, more: dict[str, Any], ascii_only: bool, repair: bool
) -> None:
    reply = json.dumps({**more, "score": score, "reason": reason}, ensure_ascii=ascii_only)
    for wrapped in (reply, f"```json\n{reply}\n```", f"Verdict: {reply}\nBye {{now}}."):
        assert read(wrapped, repair=repair) == Verdict(score, reason)
