"""Failures of one kind are counted together."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.records import task
from tests.evaluators.asking import judged
from tui_eval.analysis.failures import group_failures, normalised, said
from tui_eval.domain import Outcome


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("timed out after 60 s (attempt 2)", "timed out after 0.5 s (attempt 3)"),
        ("HTTP 502 from http://a:80/x?y=1", "HTTP 502 from https://b.example/z"),
        ('exact: "abc", expected "abd" (first difference at character 3)', 'exact: "…x"…, expected "" (first difference at character 1)'),
        ("task 550e8400-e29b-41d4-a716-446655440000 lost", "task 123e4567-e89b-12d3-a456-426614174000 lost"),
        ("request req_8f3a2b91 refused", "request req_00c4d1aa refused"),
        ("no `text` in the body", "no `other` in the body"),
        ("score outside 0 to 1: 9.2e+124", "score outside 0 to 1: -8"),
        ("trace 0af7651916cd43dd8448eb211c80319c", "trace 1bf7651916cd43dd8448eb211c80319d"),
    ],
)  # fmt: skip
def test_messages_that_differ_in_particulars_are_one_kind(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HTTP 502", "HTTP 503"),
        ("exit code 1", "exit code 2"),
        ("killed by signal 9", "killed by signal 15"),
        ("connection refused", "connection reset"),
        ("it's late", "it's early"),
    ],
)
def test_messages_that_differ_in_kind_stay_apart(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


def test_groups_are_sorted_by_size_then_by_first_appearance() -> None:
    tasks = [
        task("a", Outcome.ERROR, error_kind="http_status", message="HTTP 404"),
        *(task(f"b{n}", Outcome.ERROR, error_kind="http_status", message="HTTP 502") for n in range(37)),
        task("c", Outcome.FAILED, message='exact: "x", expected "y"'),
        task("d", Outcome.FAILED, message='exact: "z", expected "y"'),
        task("e", Outcome.UNSCORED, message="HTTP 404"),
        task("f"),
        task("g", Outcome.CANCELLED, message="HTTP 502"),
    ]
    groups = group_failures(tasks)
    assert [group.title for group in groups] == [
        "37 × HTTP 502",
        "2 × exact: not the expected value",
        "1 × HTTP 404",
        "1 × HTTP 404",
    ]
    assert [group.outcome for group in groups[2:]] == [Outcome.ERROR, Outcome.UNSCORED]
    assert groups[0].case_ids == ["b0", "b1", "b2", "b3", "b4"]
    assert groups[1].example.case_id == "c"


@pytest.mark.parametrize(
    ("message", "label"),
    [
        ('contains: "Canberra" is not in "It is Sydney."', "contains: the expected text is not in the output"),
        ('contains: "A" (and 2 more) is not in "b"', "contains: several expected texts are not in the output"),
        ('contains: none of "A", "B" is in "c"', "contains: none of the expected texts is in the output"),
        ('regex: "^a" does not match anywhere in "b"', "regex: the pattern does not match anywhere in the output"),
        ("retry 3 of request req_8f3a2b91 to http://a/b", "retry N of request ID to URL"),
        ('no column "x" in the row', 'no column "…" in the row'),
        ("HTTP 502 Bad Gateway", "HTTP 502 Bad Gateway"),
    ],
)
def test_a_group_is_named_as_a_person_would(message: str, label: str) -> None:
    assert said(normalised(message)) == label


@pytest.mark.parametrize(
    ("kind", "output", "expected", "label"),
    [
        ("contains", "It is Sydney.", "Canberra", "the expected text is not in the output"),
        ("contains", "sydney", "Sydney", "the expected text is not in the output; it is there in another case"),
        ("contains", "x", ["a", "b"], "several expected texts are not in the output"),
        ("exact", "Sydney", "Canberra", "not the expected text"),
        ("exact", 4, 5, "another number than expected"),
    ],
)
def test_what_the_evaluators_say_has_a_sentence(kind: str, output: object, expected: object, label: str) -> None:
    assert said(normalised(judged(kind, output, expected).reason)) == label


def test_a_failure_without_a_message_is_named_by_its_kind() -> None:
    groups = group_failures([task("a", Outcome.ERROR, error_kind="timed_out"), task("b", Outcome.UNSCORED)])
    assert [group.label for group in groups] == ["timed_out", "unscored"]


@given(st.text())
def test_any_message_has_a_stable_pattern(message: str) -> None:
    assert normalised(normalised(message)) == normalised(message) or "<" in normalised(message)


@pytest.mark.parametrize("piece", ['"', "'", "`", "a1-", "1.", "abcdef1", "x://", '\\"', "_1"])
def test_hostile_messages_cost_little(piece: str) -> None:
    began = time.process_time()
    normalised(piece * 2000)
    assert time.process_time() - began < 1
