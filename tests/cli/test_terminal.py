"""What reaches a terminal: nothing from outside that a terminal would obey or hide."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.cli import terminal
from tui_eval.domain import Outcome


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;owned\x07title", "\\x1b]0;owned\\x07title"),
        ("a\rb", "a\\rb"),
        ("\x9b31m", "\\x9b31m"),
        ("user\u202etxt.exe", "user\\u202etxt.exe"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("half \ud800", "half \\ud800"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("line\nand\ttab stay", "line\nand\ttab stay"),
        ("[bold]not markup[/bold] :smile: 中 é", "[bold]not markup[/bold] :smile: 中 é"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_made_visible(text: str, shown: str) -> None:
    assert terminal.safe(text) == shown


@given(st.text(alphabet=st.characters()))
def test_no_control_or_format_character_survives(text: str) -> None:
    for character in terminal.safe(text):
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp", "Cs")


@given(st.text(alphabet=st.characters()), st.integers(1, 40))
def test_a_cell_is_one_line_and_never_wider_than_it_may_be(text: str, width: int) -> None:
    cell = terminal.one_line(text, width)
    assert "\n" not in cell
    assert terminal.cell_width(cell) <= width


def test_wide_characters_take_two_cells_and_accents_none() -> None:
    assert terminal.cell_width("中文") == 4
    assert terminal.cell_width("e\u0301") == 1
    assert terminal.cut("中文字", 4) == "中…"


@given(st.recursive(st.text(alphabet=st.characters()) | st.integers(), lambda inner: st.lists(inner)))
def test_json_for_a_terminal_is_still_the_same_json(value: object) -> None:
    text = terminal.json_text(value)
    assert json.loads(text) == value
    assert terminal.safe(text) == text


def as_stdout(monkeypatch: pytest.MonkeyPatch, encoding: str, tty: bool) -> io.TextIOWrapper:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace", write_through=True)
    monkeypatch.setattr(stream, "isatty", lambda: tty, raising=False)
    monkeypatch.setattr(sys, "stdout", stream)
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    return stream


def test_outcomes_are_a_glyph_and_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    as_stdout(monkeypatch, "utf-8", tty=False)
    assert [terminal.outcome_word(outcome) for outcome in list(Outcome)[:5]] == [
        "✓ passed",
        "✗ failed",
        "! error",
        "? unscored",
        "- cancelled",
    ]


def test_a_terminal_without_utf8_gets_plain_glyphs_and_plain_json(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = as_stdout(monkeypatch, "ascii", tty=False)
    assert terminal.outcome_word(Outcome.PASSED) == "+ passed"
    terminal.out_json({"city": "Reykjavík 🎈"})
    data = stream.buffer.getvalue()  # type: ignore[attr-defined]
    assert data.isascii()
    assert json.loads(data) == {"city": "Reykjavík 🎈"}


@pytest.mark.parametrize(
    ("tty", "variables", "coloured"),
    [(True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False)],
)
def test_colour_is_for_terminals_that_want_it(
    monkeypatch: pytest.MonkeyPatch, tty: bool, variables: dict[str, str], coloured: bool
) -> None:
    as_stdout(monkeypatch, "utf-8", tty=tty)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(terminal.uses_colour, "__defaults__", (None, variables))
    assert bool(re.search("\x1b", terminal.outcome_word(Outcome.FAILED))) is coloured


def test_columns_are_aligned_by_cells_not_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = as_stdout(monkeypatch, "utf-8", tty=False)
    terminal.out_table(["name", "n"], [["中文", "1"], ["ascii", "22"]], right=(1,))
    lines = stream.buffer.getvalue().decode().splitlines()  # type: ignore[attr-defined]
    assert lines == ["name    n", "中文    1", "ascii  22"]


def test_a_message_to_a_terminal_that_is_gone_changes_no_status_and_is_no_defect(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "tui_eval", "show", "nosuchrun", "--history", str(tmp_path / "history.db")]
    os.close(ours)  # from here on writing gives EIO, as after a lost connection
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            timeout=60,
        )
    finally:
        os.close(theirs)
    assert ended.returncode == 2
    assert list(tmp_path.glob("tui-eval-*.log")) == []
