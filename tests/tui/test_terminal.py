"""What is decided about a terminal before the application starts."""

from __future__ import annotations

import io

import pytest

from tui_eval.tui.terminal import LOCAL_HZ, SSH_HZ, Terminal, examine


class Stream(io.StringIO):
    def __init__(self, terminal: bool = True, encoding: str = "utf-8") -> None:
        super().__init__()
        self._terminal = terminal
        self._encoding = encoding

    def isatty(self) -> bool:
        return self._terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def look(environment: dict[str, str] | None = None, *, mouse: bool | None = None, encoding: str = "utf-8") -> Terminal:
    stream = Stream(encoding=encoding)
    return examine({"TERM": "xterm", **(environment or {})}, stream, stream, stream, mouse)


def test_a_usual_terminal_gets_colours_unicode_and_the_mouse() -> None:
    assert look() == Terminal(refusal="", colour=True, unicode=True, mouse=True, refresh_hz=LOCAL_HZ)


@pytest.mark.parametrize("kind", ["", "dumb", "unknown"])
def test_a_terminal_that_cannot_place_text_is_refused_with_what_to_do(kind: str) -> None:
    assert "tui-eval show last" in look({"TERM": kind}).refusal


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_stream_that_is_no_terminal_is_refused_by_its_name(closed: int) -> None:
    streams = [Stream(terminal=place != closed) for place in range(3)]
    refusal = examine({"TERM": "xterm"}, *streams).refusal
    assert ("standard input", "standard output", "standard error")[closed] in refusal
    assert examine({"TERM": "xterm"}, None, None, None).refusal


def test_over_ssh_the_mouse_is_off_and_drawing_is_slower() -> None:
    terminal = look({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"})
    assert (terminal.mouse, terminal.refresh_hz) == (False, SSH_HZ)
    assert look({"SSH_CONNECTION": "x"}, mouse=True).mouse


def test_no_color_counts_when_it_is_not_empty() -> None:
    assert not look({"NO_COLOR": "1"}).colour
    assert look({"NO_COLOR": ""}).colour


@pytest.mark.parametrize(
    ("encoding", "unicode"), [("utf-8", True), ("UTF8", True), ("latin-1", False), ("ascii", False)]
)
def test_another_encoding_than_utf8_gets_ascii(encoding: str, unicode: bool) -> None:
    assert look(encoding=encoding).unicode is unicode
