"""Textual's driver, for a terminal that may go away at any moment: a lost connection, a closed window."""

from __future__ import annotations

from typing import IO, Any

from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """Outlives its terminal. Textual's own thread for the output ends with the first write that fails; whoever writes
    waits forever then, as soon as thirty writes lie in its queue: also the application that is about to end."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._file: Any = _Output(self._file)


class _Output:
    """A file that drops what cannot be written any more."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        try:
            return self._file.write(text)
        except (OSError, ValueError):  # nobody looks any more
            return len(text)

    def flush(self) -> None:
        try:
            self._file.flush()
        except (OSError, ValueError):
            return

    def fileno(self) -> int:
        return self._file.fileno()
