"""How long a server asks to wait, in every form that ``Retry-After`` has."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.net.retry_after import LONGEST, retry_after, wait_asked_for

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("1", 1.0),
        (" 0 ", 0.0),
        ("0.5", 0.5),
        ("86400", 86400.0),
        ("9" * 90, LONGEST),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Sunday, 01-Mar-26 12:00:30 GMT", 30.0),
        ("Sun Mar  1 12:00:30 2026", 30.0),
        ("Wed, 01 Jan 2020 00:00:00 GMT", None),
        ("Sun, 01 Mar 2026 12:00:00 GMT", None),
    ],
)
def test_numbers_and_the_three_forms_of_a_date_are_read(value: str, wait: float | None) -> None:
    assert retry_after(value, NOW) == wait


@pytest.mark.parametrize(
    "value",
    ["", "soon", "-5", "+5", "1e3", "0x10", "١", "1 2", "1s", "nan", "inf", "Fri, 99 Foo 2100 00:00:00 GMT", "9" * 200],
)
def test_what_cannot_be_read_asks_for_nothing(value: str) -> None:
    assert retry_after(value, NOW) is None


@given(st.one_of(st.text(max_size=60), st.from_regex(r"[A-Z][a-z]{2}, [0-9A-Za-z :+-]{0,40}[0-9:]{8}[ A-Z0-9+-]{0,8}")))
def test_no_header_breaks_it_or_gives_a_wait_that_cannot_be_slept(value: str) -> None:
    wait = retry_after(value, NOW)
    assert wait is None or 0 <= wait <= LONGEST


@given(st.integers(1, 10**8))
def test_a_date_asks_for_the_time_until_it(seconds: int) -> None:
    date = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
    assert retry_after(date, NOW) == seconds


def test_milliseconds_win_over_seconds() -> None:
    assert wait_asked_for({"retry-after": "2", "retry-after-ms": "1500"}) == 1.5
    assert wait_asked_for({"retry-after": "2", "retry-after-ms": "x"}) == 2.0
    assert wait_asked_for({}) is None
