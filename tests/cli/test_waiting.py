"""Where a command keeps one waiting, a terminal shows a sign of life, and nothing else does."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tui_eval.cli import waiting
from tui_eval.cli.checking import check
from tui_eval.cli.waiting import Waiting, how_far


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error as a terminal, with no patience."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(waiting, "AFTER_SECONDS", 0.0)
    monkeypatch.setattr(waiting, "EVERY_SECONDS", 0.01)
    return made


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_long_work_is_told_on_a_terminal_and_leaves_nothing_there(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_a_terminal(monkeypatch)
    with Waiting("reading the tasks") as shown:
        until(lambda: "reading the tasks … (0 s)" in terminal.getvalue())
        for _ in shown.counted(range(3), 4):
            pass
        until(lambda: "reading the tasks … 75 %" in terminal.getvalue())
        shown.at("checking \x1b[31ma.jsonl", 5, 10)
        until(lambda: "a.jsonl … 50 %" in terminal.getvalue())
    assert "\x1b[31m" not in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_what_is_over_in_a_moment_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_a_terminal(monkeypatch)
    monkeypatch.setattr(waiting, "AFTER_SECONDS", 60.0)
    with Waiting("reading the tasks"):
        pass
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("where", ["a pipe", "a dumb terminal"])
def test_nothing_is_rewritten_where_lines_are_kept(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    terminal = on_a_terminal(monkeypatch)
    pipe = io.StringIO()
    if where == "a pipe":
        monkeypatch.setattr(sys, "stderr", pipe)
    else:
        monkeypatch.setenv("TERM", "dumb")
    with Waiting("reading the tasks"):
        time.sleep(0.1)
    assert terminal.getvalue() == pipe.getvalue() == ""


def test_of_an_unknown_total_no_share_is_told() -> None:
    assert how_far("checking a", 5, 0) == "checking a …"
    assert how_far("checking a", 12, 10) == "checking a … 100 %"


def test_a_check_tells_how_far_it_is_in_each_dataset(tmp_path: Path) -> None:
    row = json.dumps({"id": "x", "q": "y" * 1000})
    (tmp_path / "a.jsonl").write_text("\n".join(row.replace("x", str(number)) for number in range(2000)))
    solution = {"type": "http", "url": "http://127.0.0.1:9/", "body": "{{ q }}"}
    requests = [
        {"name": name, "dataset": {"path": "a.jsonl", "sample": sample}, "solution": solution}
        for name, sample in (("one", {}), ("two", {}), ("three", {"limit": 3, "seed": 1}))
    ]
    heard: list[tuple[str, int, int]] = []
    found = check(
        {"version": 1, "name": "x", "requests": requests},
        folder=tmp_path,
        told=lambda what, done, total: heard.append((what, done, total)),
    )
    assert found.valid
    size = (tmp_path / "a.jsonl").stat().st_size
    assert {(what, total) for what, _, total in heard} == {("checking a.jsonl", size)}
    shares = [done for _, done, _ in heard if done]
    assert max(shares) == size
    passes = 1 + sum(later < earlier for earlier, later in pairwise(shares))
    assert passes == 3, "one for the dataset that two requests share, two for a sample at random"
