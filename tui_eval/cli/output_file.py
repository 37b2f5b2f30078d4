"""Where a report goes: a file that is there as a whole or not at all, or standard output."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO, cast

from tui_eval.cli.terminal import OutputFailed, StdoutClosed, is_terminal, safe
from tui_eval.errors import UsageError


def check_free(path: Path, force: bool) -> None:
    """Raise UsageError when writing ``path`` would replace a file unasked, or cannot work."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"the folder {path.parent} is not there")
    if os.path.lexists(path) and not _is_device(path) and not force:
        raise UsageError(f"{path} is there already; name another file, or use --force to replace it")


def _is_device(path: Path) -> bool:
    """True for what cannot be replaced by a file: a device, a pipe, a socket."""
    return path.exists() and not path.is_file()


@contextmanager
def new_file(path: Path) -> Iterator[TextIO]:
    """A UTF-8 text stream whose text becomes the file ``path`` (0600) when all of it is written; nothing before."""
    try:
        if _is_device(path):
            with path.open("w", encoding="utf-8", newline="") as device:
                yield device
            return
        target = path.resolve()
        handle, draft = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
        try:
            with open(handle, "w", encoding="utf-8", newline="") as stream:
                yield stream
            os.replace(draft, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(draft)
            raise
    except OSError as error:
        raise OutputFailed(f"{path} cannot be written: {error.strerror or error}") from error


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Standard output as UTF-8 whatever the locale says; on a terminal nothing in the text can command it."""
    if sys.stdout is None:
        raise StdoutClosed
    stream: TextIO
    if is_terminal(sys.stdout):
        stream = cast(TextIO, _TerminalStream(sys.stdout))
    else:
        stream = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="", write_through=False)
    try:
        yield stream
        stream.flush()
    except BrokenPipeError:
        raise StdoutClosed from None
    except OSError as error:
        raise OutputFailed(f"standard output cannot be written: {error.strerror or error}") from error
    finally:
        if isinstance(stream, io.TextIOWrapper) and stream is not sys.stdout:
            with suppress(OSError):  # what could not be written was reported above
                stream.detach()


class _TerminalStream(io.TextIOBase):
    """Writes through :func:`~tui_eval.cli.terminal.safe`."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        self._terminal.write(safe(text.replace("\r\n", "\n")))
        return len(text)

    def flush(self) -> None:
        self._terminal.flush()
