"""What is tried again, when, and what never is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.engine.retry import Again, GiveUp, RetryRules, decide, host_wait
from tui_eval.errors import Resend, SolutionError
from tui_eval.spec.model import Execution


def rules(**execution: object) -> RetryRules:
    settings = {"max_retries": 2, "retry_min_delay_seconds": 0.1, "retry_max_delay_seconds": 2}
    return RetryRules.of(Execution.model_validate(settings | execution))


def error(resend: Resend, kind: str = "http_status", message: str = "HTTP 502", **more: float) -> SolutionError:
    return SolutionError(kind, message, resend, **more)


@pytest.mark.parametrize("resend", [Resend.UNSENT, Resend.REJECTED])
def test_what_did_no_work_at_the_agent_is_tried_again(resend: Resend) -> None:
    assert isinstance(decide(error(resend), 0, rules(), lambda: 0.5), Again)


def test_what_may_have_reached_the_agent_is_sent_again_only_when_the_plan_says_so() -> None:
    failure = error(Resend.MAYBE_RECEIVED)
    given_up = decide(failure, 0, rules(), lambda: 0.5)
    assert isinstance(given_up, GiveUp)
    assert "`resend: true` allows it" in given_up.message
    assert decide(failure, 0, rules(max_retries=0), lambda: 0.5) == GiveUp("HTTP 502")
    assert decide(failure, 2, rules(resend=True), lambda: 0.5) == GiveUp("HTTP 502")
    assert isinstance(decide(failure, 0, rules(resend=True), lambda: 0.5), Again)
    assert isinstance(decide(failure, 0, rules(retry_pattern_list=["HTTP 50[24]"]), lambda: 0.5), Again)


def test_a_pattern_matches_the_kind_as_well_as_the_message() -> None:
    failure = error(Resend.NEVER, kind="agent_error", message="try later")
    assert isinstance(decide(failure, 0, rules(retry_pattern_list=["agent_error"]), lambda: 0.5), Again)
    assert isinstance(decide(failure, 0, rules(), lambda: 0.5), GiveUp)


def test_tries_end_with_max_retries() -> None:
    assert isinstance(decide(error(Resend.UNSENT), 1, rules(), lambda: 0.5), Again)
    assert isinstance(decide(error(Resend.UNSENT), 2, rules(), lambda: 0.5), GiveUp)
    assert isinstance(decide(error(Resend.UNSENT), 0, rules(max_retries=0), lambda: 0.5), GiveUp)


def test_a_retry_after_is_kept_and_slows_the_whole_host() -> None:
    assert decide(error(Resend.REJECTED, retry_after=1.0), 0, rules(), lambda: 0.5) == Again(1.0)


def test_a_host_is_left_alone_for_the_time_it_named_up_to_the_cap() -> None:
    for asked, wait in ((None, 0.0), (0.0, 0.0), (1.5, 1.5), (2.0, 2.0), (2.5, 0.0)):
        failure = SolutionError("rate_limited", "HTTP 429", Resend.REJECTED, retry_after=asked)
        assert host_wait(failure, rules(max_retries=0)) == wait


def test_a_retry_after_above_the_cap_ends_the_task_at_once() -> None:
    for kind, asked, words in (
        ("rate_limited", 86400.0, "rate limited, server asks for 86400 s (1 day)"),
        ("rate_limited", 2.5, "rate limited, server asks for 2.5 s"),
        ("rate_limited", 2.3e9, "rate limited, server asks for 2300000000 s (26620 days)"),
        ("http_status", 7200.0, "not available, server asks for 7200 s (2 hours)"),
    ):
        failure = SolutionError(kind, "HTTP", Resend.REJECTED, retry_after=asked)
        decision = decide(failure, 0, rules(), lambda: 0.5)
        assert isinstance(decision, GiveUp)
        assert decision.message.startswith(words)


def test_a_retry_after_of_zero_is_no_hot_loop() -> None:
    decision = decide(error(Resend.REJECTED, retry_after=0.0), 0, rules(), lambda: 0.0)
    assert isinstance(decision, Again)
    assert decision.delay >= 0.05


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_the_wait_stays_between_half_the_first_delay_and_the_cap(made: int, drawn: float) -> None:
    decision = decide(error(Resend.UNSENT), made, rules(max_retries=100), lambda: drawn)
    if made < 100:
        assert isinstance(decision, Again)
        assert 0.05 <= decision.delay <= 2
    else:
        assert isinstance(decision, GiveUp)
