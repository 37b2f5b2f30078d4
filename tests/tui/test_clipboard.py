"""The clipboard of the terminal, through whatever stands between; and files where it does not take a text."""

from __future__ import annotations

import base64
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hostile import COMMANDS
from tui_eval.errors import UsageError
from tui_eval.tui.clipboard import MOST_BYTES, fits, sequence, write_file

PLAIN: dict[str, str] = {"TERM": "xterm-256color"}


def decoded(text: str) -> str:
    found = re.fullmatch(r"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", text)
    assert found is not None
    return base64.b64decode(found[1]).decode("utf-8")


@given(st.text(alphabet=st.characters(blacklist_categories=("Cc", "Cs", "Cn")), max_size=60))
def test_text_arrives_as_it_is(text: str) -> None:
    assert decoded(sequence(text, PLAIN)) == text


@pytest.mark.parametrize("text", COMMANDS)
def test_what_a_terminal_would_obey_when_pasted_is_made_visible(text: str) -> None:
    arrived = decoded(sequence(text, PLAIN))
    assert "\x1b" not in arrived
    assert "\x9b" not in arrived
    assert "\x00" not in arrived


def test_tmux_gets_the_sequence_for_itself_and_one_to_hand_on() -> None:
    plain = sequence("id-1", PLAIN)
    wrapped = sequence("id-1", {"TMUX": "/tmp/tmux-0/default,1,0", "TERM": "screen-256color"})
    assert wrapped == plain + "\x1bPtmux;\x1b" + plain + "\x1b\\"


def test_screen_gets_strings_short_enough_for_it() -> None:
    text = "x" * 3000
    wrapped = sequence(text, {"STY": "1.pts", "TERM": "screen"})
    chunks = re.findall(r"\x1bP(.*?)\x1b\\", wrapped, re.DOTALL)
    assert "".join(chunks) == sequence(text, PLAIN)
    assert max(map(len, chunks)) <= 764
    assert len(chunks) > 1


def test_the_limit_of_terminals_is_counted_in_bytes() -> None:
    assert fits("x" * MOST_BYTES)
    assert not fits("x" * (MOST_BYTES + 1))
    assert not fits("中" * (MOST_BYTES // 2))
    assert len(sequence("x" * MOST_BYTES, PLAIN)) <= 100_000


def test_a_file_has_the_text_exactly_and_is_its_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "copies" / "output.txt"
    write_file(path, "a\r\n\x1b[31m\ud800")
    assert path.read_bytes() == b"a\r\n\x1b[31m\\ud800"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_no_file_is_ever_replaced(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("mine")
    with pytest.raises(UsageError, match="there already"):
        write_file(path, "theirs")
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_file(tmp_path / "file" / "below", "x")
    with pytest.raises(UsageError, match="cannot be written"):
        write_file(tmp_path / "nul\0", "x")
