"""Terminal codes are removed, whole and in linear time, and nothing else is."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.solutions.program_output import decoded, tail_decoded
from tui_eval.solutions.terminal_codes import without_terminal_codes

PIECES = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["\x1b", "\x1b[", "\x1b]", "\x1bP", "\x9b", "\x9d", "\x90", "\x07", "\x1b\\", "\x9c", "\r", "\n"]),
    st.sampled_from(["\x1b[31m", "\x1b]0;title\x07", "\b", "\x00", "m", "[0m", "\x1b(B", "\x7f", "é"]),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[38:2::255:0:0mred\x1b[m", "red"),
        ("\x1b[?25l\x1b[2J\x1b[Hhome\x1b[?25h", "home"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x1b]0;title\x07a\x1b]2;title\x1b\\b\x9d0;title\x9cc", "abc"),
        ("\x1b]8;;http://example.test\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0;2;0;0;0\nimage\x1b\\after", "after"),
        ("\x1b_app\x1b\\\x1b^private\x1b\\\x1bXstring\x1b\\text", "text"),
        ("\x1b(Bascii\x1b7\x1b8\x1b=", "ascii"),
        ("\x1b]0;never closed\nIDLE\n", "0;never closed\nIDLE\n"),
        ("\x1bPnever closed\nIDLE", "never closed\nIDLE"),
        ("bell\x07 nul\x00 del\x7f back\x08", "bell nul del back"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("a\r\nb\r\r\n", "a\nb\n"),
        ("10%\r99%\rdone\n", "done\n"),
        ("10%\r99%\r", "99%"),
        ("10%\r\x1b[2Kdone", "done"),
        ("\u202eright-to-left stays, it is text", "\u202eright-to-left stays, it is text"),
        ("[31m is text", "[31m is text"),
        ("\x1b", ""),
        ("", ""),
    ],
)
def test_codes_go_and_text_stays(text: str, expected: str) -> None:
    assert without_terminal_codes(text) == expected


@given(st.lists(PIECES, max_size=12).map("".join))
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", without_terminal_codes(text))


@given(st.text(st.characters(exclude_categories=["Cc"]) | st.sampled_from("\t\n")))
def test_text_without_control_characters_is_not_touched(text: str) -> None:
    assert without_terminal_codes(text) == text


@given(st.lists(PIECES, max_size=12).map("".join))
def test_removing_twice_changes_nothing_more(text: str) -> None:
    once = without_terminal_codes(text)
    assert without_terminal_codes(once) == once


@pytest.mark.parametrize(
    "piece", ["\x1b[", "\x1b]", "\x1bP", "\x9d", "\x90", "\x9b1", "\x1b[1;", "\x1b ", "\r", "\x1b]a\n"]
)
def test_hostile_output_takes_linear_time(piece: str) -> None:
    begun = time.perf_counter()
    without_terminal_codes(piece * 300_000)
    without_terminal_codes(piece + "1" * 300_000)
    assert time.perf_counter() - begun < 2


@given(st.binary())
def test_decoding_never_fails_never_loses_a_byte_silently(data: bytes) -> None:
    text = decoded(data, "stdout")
    try:
        assert text.text == data.decode()
        assert text.note == ""
    except UnicodeDecodeError:
        assert "not UTF-8" in text.note
    assert text.text.count("\ufffd") <= data.count("\ufffd".encode())


def test_a_cut_character_at_the_start_of_a_tail_is_left_out() -> None:
    assert tail_decoded("é!".encode()[1:], cut=True) == "…!"
    assert tail_decoded("é!".encode(), cut=False) == "é!"
