"""What is stored comes back as it was, whatever it is."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.store.encoding import (
    PLAIN,
    ZLIB,
    clean,
    content_hash,
    finite,
    integer,
    pack,
    shortened,
    to_json,
    unpack,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=20,
)
any_text = st.text(st.characters())  # lone surrogates too


@given(json_values)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    assert unpack(*pack(value)) == value


@given(any_text)
def test_any_text_can_be_stored_and_comes_back(text: str) -> None:
    assert unpack(*pack({"text": text})) == {"text": text}
    clean(text).encode()
    shortened(text, 20).encode()


def test_only_what_gets_smaller_is_compressed() -> None:
    assert pack("x" * 100)[0] == PLAIN
    codec, data = pack("评测" * 5000)
    assert codec == ZLIB
    assert len(data) < 1000
    assert unpack(codec, data) == "评测" * 5000


def test_nan_and_infinity_become_null_at_any_depth() -> None:
    value = {"a": [math.nan, {"b": math.inf}], "c": -math.inf, "d": 1.5}
    assert json.loads(to_json(value), parse_constant=pytest.fail) == {"a": [None, {"b": None}], "c": None, "d": 1.5}
    assert finite(math.nan) is None
    assert finite(None) is None
    assert finite(0.0) == 0.0


def test_the_order_of_the_columns_makes_no_other_case_but_the_id_does() -> None:
    assert content_hash("a", {"x": 1, "y": 2}) == content_hash("a", {"y": 2, "x": 1})
    assert content_hash("a", {"x": 1}) != content_hash("b", {"x": 1})
    assert content_hash("a", {"x": 1}) != content_hash("a", {"x": True})
    assert len(content_hash("\udc80", {})) == 16


def test_numbers_beyond_64_bits_are_bounded() -> None:
    assert integer(2**70) == 2**63 - 1
    assert integer(-(2**70)) == -(2**63 - 1)
    assert integer(None) is None


def test_a_long_text_is_cut_with_an_ellipsis() -> None:
    assert shortened("a" * 10, 10) == "a" * 10
    assert shortened("a" * 11, 10) == "a" * 9 + "…"
