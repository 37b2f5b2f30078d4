"""Everything the command line writes. Text from outside reaches a terminal only through :func:`safe`.

Results go to standard output, messages to standard error. Colour is used on a terminal only, and never when
``NO_COLOR`` is set (no-color.org) or the terminal is ``dumb``.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from tui_eval import display
from tui_eval.display import GLYPHS, UNSAFE, cell_width, safe
from tui_eval.domain import JsonValue, Outcome
from tui_eval.errors import TuiEvalError

__all__ = [
    "OutputFailed",
    "StdoutClosed",
    "cell_width",
    "cut",
    "flush",
    "is_terminal",
    "json_text",
    "one_line",
    "out",
    "out_json",
    "out_table",
    "outcome_word",
    "painted",
    "prepare_streams",
    "safe",
    "speaks_utf8",
    "tell",
    "uses_colour",
]

COLOURS = {
    Outcome.PASSED: "32",
    Outcome.FAILED: "31",
    Outcome.ERROR: "35",
    Outcome.UNSCORED: "33",
    Outcome.CANCELLED: "2",
    Outcome.QUEUED: "2",
    Outcome.RUNNING: "36",
}


OUTPUT_FAILED = 74


class OutputFailed(TuiEvalError):
    """A result could not be written to where it was wanted."""

    exit_code = OUTPUT_FAILED


class StdoutClosed(Exception):
    """Whoever read our standard output has enough of it (``head``): nothing is left to do, and nothing is wrong."""


def one_line(text: str, width: int | None = None) -> str:
    """:func:`tui_eval.display.one_line` with an ellipsis that standard output can show."""
    return display.one_line(text, width, _ellipsis())


def cut(text: str, width: int) -> str:
    """:func:`tui_eval.display.cut` with an ellipsis that standard output can show."""
    return display.cut(text, width, _ellipsis())


def _ellipsis() -> str:
    return "…" if speaks_utf8() else "."


def speaks_utf8(stream: TextIO | None = None) -> bool:
    """True when a stream (standard output by default) can show any character."""
    encoding = getattr(stream or sys.stdout, "encoding", None) or ""
    return encoding.lower().replace("-", "").replace("_", "") in ("utf8", "utf8sig")


def uses_colour(stream: TextIO | None = None, environment: Mapping[str, str] = os.environ) -> bool:
    """True when a stream (standard output by default) is a terminal that wants colours."""
    stream = stream or sys.stdout
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    return is_terminal(stream)


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def outcome_word(outcome: Outcome) -> str:
    """``✓ passed``: a glyph and the word, coloured where that is wanted. Colour never carries meaning alone."""
    usual, ascii_only = GLYPHS[outcome]
    return painted(f"{usual if speaks_utf8() else ascii_only} {outcome.value}", COLOURS[outcome])


def painted(text: str, code: str) -> str:
    """``text`` in a colour (an SGR code), where standard output wants colours."""
    return f"\x1b[{code}m{text}\x1b[0m" if uses_colour() else text


def out(text: str = "", *, end: str = "\n") -> None:
    """Write a line of the result. ``text`` is ours, or went through :func:`safe`."""
    if sys.stdout is None:
        raise StdoutClosed
    try:
        sys.stdout.write(text + end)
    except BrokenPipeError:
        raise StdoutClosed from None
    except OSError as error:
        raise OutputFailed(f"standard output cannot be written: {error.strerror or error}") from error


def flush() -> None:
    """Hand what was written to whoever reads standard output, now."""
    out("", end="")
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise StdoutClosed from None
    except OSError as error:
        raise OutputFailed(f"standard output cannot be written: {error.strerror or error}") from error


def tell(text: str) -> None:
    """Write a message for a person to standard error. Anything unsafe in it is made visible."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(safe(text) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody listens any more (the terminal is gone): a message is not worth failing for
        return


def out_json(value: JsonValue, *, indent: int | None = 2) -> None:
    """Write one JSON value, fit for any encoding and for a terminal: unsafe characters are JSON escapes."""
    out(json_text(value, indent=indent))


def json_text(value: JsonValue, *, indent: int | None = None) -> str:
    text = json.dumps(value, ensure_ascii=not speaks_utf8(), indent=indent, allow_nan=False)
    # Line feeds and tabs inside JSON strings are escaped already; what is left and unsafe can only be in strings.
    return UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], text)


def out_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Write aligned columns. Cells are safe one-line texts; columns in ``right`` are aligned to the right."""
    table = [list(header), *(list(row) for row in rows)]
    widths = [max(_shown_width(row[column]) for row in table) for column in range(len(header))]
    for row in table:
        cells = []
        for column, cell in enumerate(row):
            pad = " " * (widths[column] - _shown_width(cell))
            cells.append(pad + cell if column in right else cell + pad)
        out("  ".join(cells).rstrip())


_SGR = re.compile("\x1b\\[[0-9;]*m")


def _shown_width(cell: str) -> int:
    return cell_width(_SGR.sub("", cell))


def prepare_streams() -> None:
    """Never fail on a character that the terminal's encoding lacks: write its escape instead."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
