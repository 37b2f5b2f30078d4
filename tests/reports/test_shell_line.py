"""A stored request as a line that a shell reads as it was sent."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.hostile import MARKUP
from tui_eval.reports.shell_line import quoted, references, shell_line


def shell(word: str, **environment: str) -> str:
    done = subprocess.run(
        ["bash", "-c", f"printf %s {word}"], capture_output=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("text", [*MARKUP, "it's", '$(id) `id` \\ "x" !!', "a\tb\x1b[31m'\\", "-n", "", "a\nb", "*"])
def test_a_shell_reads_a_quoted_text_as_it_is(text: str) -> None:
    assert shell(quoted(text, ())) == text


def test_only_references_of_the_plan_are_left_to_the_shell() -> None:
    names = references({"headers": {"authorization": "Bearer ${TOKEN}"}})
    word = quoted("Bearer ${TOKEN} ${HOME}", names)
    assert shell(word, TOKEN='it\'s "secret"') == 'Bearer it\'s "secret" ${HOME}'


def test_curl_sends_what_was_sent() -> None:
    sent = {
        "method": "POST",
        "url": "${URL}/invoke?q=[1]",
        "headers": {
            "authorization": "Bearer ${TOKEN}",
            "traceparent": "(new for each attempt)",
            "accept-encoding": "gzip",
        },
        "body": {"question": "it's ${HOME}"},
    }
    line = shell_line(sent, {"URL", "TOKEN"})
    assert line is not None
    script = f"curl() {{ printf '%s\\0' \"$@\"; }}; {line}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, check=True, env={**os.environ, "URL": "http://a", "TOKEN": "t t"}
    )
    words = done.stdout.decode().split("\0")[:-1]
    assert words[words.index("--url") + 1] == "http://a/invoke?q=[1]"
    assert [words[place + 1] for place, word in enumerate(words) if word == "--header"] == ["authorization: Bearer t t"]
    assert json.loads(words[words.index("--data-raw") + 1]) == {"question": "it's ${HOME}"}


def test_a_command_can_be_run_again_in_its_folder(tmp_path: Path) -> None:
    sent = {
        "argv": ["sh", "-c", 'cat; echo "$GREETING $1 $PWD"', "x", "it's"],
        "cwd": str(tmp_path),
        "stdin": "line\n",
        "env": {"GREETING": "hello there", "TRACEPARENT": "(made for each attempt)"},
    }
    line = shell_line(sent, ())
    assert line is not None
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True, text=True)
    assert done.stdout == f"line\nhello there it's {tmp_path}\n"
    assert shell_line({"function": "agent:answer"}, ()) is None
