"""What the terminal can do, decided once before the application starts: pure functions over environment and streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

LOCAL_HZ = 4.0
SSH_HZ = 2.0
HEADLESS_HINT = (
    "Use the commands instead: `tui-eval runs`, `tui-eval show last`, `tui-eval run PLAN`, `tui-eval --help`."
)


@dataclass(frozen=True, slots=True)
class Terminal:
    """How to draw on this terminal.

    ``refusal`` says why the screens cannot be shown at all ("" when they can); ``refresh_hz`` is the most often that
    a screen which follows the history is drawn anew, in times a second.
    """

    refusal: str = ""
    colour: bool = True
    unicode: bool = True
    mouse: bool = True
    refresh_hz: float = LOCAL_HZ


def examine(
    environment: Mapping[str, str],
    stdin: TextIO | None,
    stdout: TextIO | None,
    stderr: TextIO | None,
    mouse: bool | None = None,
) -> Terminal:
    """Decide from the environment and the three standard streams. ``mouse`` is what the user set, None for automatic.

    NO_COLOR counts when it is not empty (no-color.org). Over SSH the mouse is off unless asked for: a lost connection
    leaves the local terminal in mouse mode. The toolkit draws on standard error, so its encoding decides.
    """
    over_ssh = bool(environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"))
    return Terminal(
        refusal=_refusal(environment, stdin, stdout, stderr),
        colour=not environment.get("NO_COLOR"),
        unicode=_is_utf8(stderr) and _is_utf8(stdout),
        mouse=mouse if mouse is not None else not over_ssh,
        refresh_hz=SSH_HZ if over_ssh else LOCAL_HZ,
    )


def _refusal(environment: Mapping[str, str], stdin: TextIO | None, stdout: TextIO | None, stderr: TextIO | None) -> str:
    for stream, name in ((stdin, "standard input"), (stdout, "standard output"), (stderr, "standard error")):
        if not _is_terminal(stream):
            return f"the screens need a terminal, and {name} is not one. {HEADLESS_HINT}"
    kind = environment.get("TERM", "")
    if kind in ("", "dumb", "unknown"):
        return (
            f"the screens need a terminal that can place text, and TERM is {kind!r}. Set TERM to what your terminal "
            f"is (often xterm-256color). {HEADLESS_HINT}"
        )
    return ""


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _is_utf8(stream: TextIO | None) -> bool:
    encoding = getattr(stream, "encoding", None) or ""
    return encoding.lower().replace("-", "").replace("_", "") in ("utf8", "utf8sig")
