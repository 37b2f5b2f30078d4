"""Everything the command line writes. Text from outside reaches a terminal only through :func:`safe`.

Results go to standard output, messages to standard error. Colour is used on a terminal only, and never when
``NO_COLOR`` is set (no-color.org) or the terminal is ``dumb``.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from tui_eval.domain import JsonValue, Outcome
from tui_eval.errors import TuiEvalError

# Control characters but line feed and tab; format characters (bidirectional controls, zero-width, soft hyphen, tags);
# line and paragraph separators; lone surrogates. Unicode categories Cc, Cf, Zl, Zp, Cs.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

GLYPHS = {
    Outcome.PASSED: ("✓", "+", "32"),
    Outcome.FAILED: ("✗", "x", "31"),
    Outcome.ERROR: ("!", "!", "35"),
    Outcome.UNSCORED: ("?", "?", "33"),
    Outcome.CANCELLED: ("-", "-", "2"),
    Outcome.QUEUED: ("·", ".", "2"),
    Outcome.RUNNING: ("▸", ">", "36"),
}


OUTPUT_FAILED = 74


class OutputFailed(TuiEvalError):
    """A result could not be written to where it was wanted."""

    exit_code = OUTPUT_FAILED


class StdoutClosed(Exception):
    """Whoever read our standard output has enough of it (``head``): nothing is left to do, and nothing is wrong."""


def safe(text: str) -> str:
    """``text`` with everything invisible or commanding made visible (``\\x1b``, ``\\u202e``); line feeds and tabs stay."""
    return _UNSAFE.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    if character == "\r":
        return "\\r"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str, width: int | None = None) -> str:
    """:func:`safe` text on one line, cut to ``width`` cells with an ellipsis."""
    if width is not None and len(text) > 4 * width + 16:
        text = text[: 4 * width + 16]  # enough to fill the cells; keeps a huge text cheap
    flat = safe(text).replace("\n", "\\n").replace("\t", "\\t")
    return flat if width is None else cut(flat, width)


def cell_width(text: str) -> int:
    """Terminal cells of a safe text: 2 for wide East Asian characters, 0 for combining marks, else 1."""
    if text.isascii():
        return len(text)
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` cells; what is cut off is marked."""
    if cell_width(text) <= width:
        return text
    mark = "…" if speaks_utf8() else "."
    used = 0
    for index, character in enumerate(text):
        used += _character_width(character)
        if used > width - 1:
            return text[:index] + mark
    return text


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
    rich, plain, colour = GLYPHS[outcome]
    return painted(f"{rich if speaks_utf8() else plain} {outcome.value}", colour)


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
    except (BrokenPipeError, ValueError):  # nobody listens any more: a message is not worth failing for
        return


def out_json(value: JsonValue, *, indent: int | None = 2) -> None:
    """Write one JSON value, fit for any encoding and for a terminal: unsafe characters are JSON escapes."""
    out(json_text(value, indent=indent))


def json_text(value: JsonValue, *, indent: int | None = None) -> str:
    text = json.dumps(value, ensure_ascii=not speaks_utf8(), indent=indent, allow_nan=False)
    # Line feeds and tabs inside JSON strings are escaped already; what is left and unsafe can only be in strings.
    return _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], text)


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
