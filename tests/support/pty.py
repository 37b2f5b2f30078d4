"""A program in a pseudo terminal of its own: its bytes, the screen they make (pyte), and keys to press."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyte

ROOT = Path(__file__).parent.parent.parent


class Terminal:
    """``argv`` (a program and its arguments) in a terminal of ``cols`` x ``rows``. Use as a context manager.

    ``environment`` adds variables; None removes one. ``raw`` has every byte that was written so far.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cols: int = 120,
        rows: int = 40,
        environment: Mapping[str, str | None] | None = None,
    ) -> None:
        self.screen = pyte.Screen(cols, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.status: int | None = None
        variables: dict[str, str | None] = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PYTHONPATH": str(ROOT),
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": None,
            "SSH_CONNECTION": None,
            "SSH_TTY": None,
            **(environment or {}),
        }
        kept = {name: value for name, value in variables.items() if value is not None}
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], list(argv), kept)
        self._set_size(cols, rows)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        os.close(self._descriptor)

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(self.screen.display)

    def pump(self, seconds: float, until: Callable[[], bool] | None = None) -> int:
        """Take in what is written for ``seconds``, or until something is so; the number of bytes."""
        end = time.monotonic() + seconds
        taken = 0
        while time.monotonic() < end and not (until is not None and until()):
            ready, _, _ = select.select([self._descriptor], [], [], 0.02)
            if ready:
                try:
                    data = os.read(self._descriptor, 65536)
                except OSError:  # Linux: the other side is closed
                    break
                if not data:
                    break
                if b"\x1b[?2026$p" in data:  # synchronised output: yes
                    self.send("\x1b[?2026;2$y")
                self.raw += data
                taken += len(data)
                self._stream.feed(data)
        return taken

    def wait_for(self, text: str, seconds: float = 15.0) -> None:
        """Until a text stands on the screen; fails the test when it does not come."""
        self.pump(seconds, lambda: text in self.text)
        assert text in self.text, f"{text!r} did not come within {seconds} s:\n{self.text}"

    def send(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def resize(self, cols: int, rows: int) -> None:
        self._set_size(cols, rows)
        self.screen.resize(rows, cols)
        os.kill(self.pid, signal.SIGWINCH)

    def kill(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def hang_up(self) -> None:
        """What a lost connection does: the terminal is gone, and the program is told."""
        os.close(self._descriptor)
        self._descriptor = os.open(os.devnull, os.O_RDWR)
        os.kill(self.pid, signal.SIGHUP)

    def wait(self, seconds: float = 15.0) -> int:
        """The exit status of the program, negative for a signal; fails the test when it does not end."""
        end = time.monotonic() + seconds
        while self.status is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.status = os.waitstatus_to_exitcode(status)
                self.pump(0.2)
                break
            assert time.monotonic() < end, f"the program did not end within {seconds} s:\n{self.text}"
            self.pump(0.05)
        return self.status if self.status is not None else 0

    def _set_size(self, cols: int, rows: int) -> None:
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def screens(history: Path, config: Path, *, run_id: str | None = None, workspace: Path | None = None) -> list[str]:
    """The command that shows the screens over a history, with settings of its own."""
    code = (
        "import sys; from pathlib import Path; from tui_eval.tui.app import main; "
        f"sys.exit(main(Path({str(history)!r}), Path({str(workspace or history.parent)!r}), {run_id!r}, "
        f"config=Path({str(config)!r})))"
    )
    return [sys.executable, "-c", code]
