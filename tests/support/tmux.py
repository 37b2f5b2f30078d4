"""A shell in tmux, as people have it over SSH: keys go in, what tmux shows comes out. A server of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from tests.support.pty import ROOT


class Tmux:
    """A tmux server with one session, on a socket in ``folder``. Use as a context manager: it ends with the test."""

    def __init__(self, folder: Path, *, cols: int, rows: int, environment: Mapping[str, str]) -> None:
        self._socket = folder / "tmux.sock"
        self._size = ("-x", str(cols), "-y", str(rows))
        self._environment = {
            **{name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TMUX", "COLORTERM")},
            "PYTHONPATH": str(ROOT),
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm-256color",
            **environment,
        }

    def __enter__(self) -> Tmux:
        self._run("new-session", "-d", "-s", "t", *self._size, "env PS1='shell> ' sh")
        return self

    def __exit__(self, *error: object) -> None:
        self._run("kill-server")

    def command(self, *words: str) -> None:
        """Type a command line and enter."""
        self.keys(shlex.join(words), literal=True)
        self.keys("Enter")

    def keys(self, *keys: str, literal: bool = False) -> None:
        """Press keys by their tmux names, or type a text."""
        for key in keys:
            self._run("send-keys", "-t", "t", *(["-l"] if literal else []), key)

    def screen(self) -> str:
        """What stands in the window, line by line."""
        return self._run("capture-pane", "-p", "-t", "t")

    def see(self, text: str, seconds: float = 20.0) -> str:
        """Wait until a text stands there; the whole screen. Fails the test when it does not come."""
        end = time.monotonic() + seconds
        while text not in (shown := self.screen()):
            assert time.monotonic() < end, f"{text!r} did not come within {seconds} s:\n{shown}"
            time.sleep(0.05)
        return shown

    def flag(self, name: str) -> str:
        """A format of tmux: ``alternate_on``, ``mouse_any_flag``."""
        return self._run("display-message", "-p", "-t", "t", f"#{{{name}}}").strip()

    def _run(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self._socket), "-f", os.devnull, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=self._environment, timeout=20)
        return done.stdout
