"""How text and figures are shown, on the command line and on screens: plain functions that know no terminal.

Text from outside (outputs, case ids, error messages, file names) goes through :func:`safe` or :func:`one_line`, always.
"""

from __future__ import annotations

import os
import re
import unicodedata
from datetime import datetime
from pathlib import Path

from tui_eval.domain import Outcome

# Control characters but line feed and tab; format characters (bidirectional controls, zero-width, soft hyphen, tags);
# line and paragraph separators; lone surrogates. Unicode categories Cc, Cf, Zl, Zp, Cs.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

GLYPHS = {
    Outcome.PASSED: ("✓", "+"),
    Outcome.FAILED: ("✗", "x"),
    Outcome.ERROR: ("!", "!"),
    Outcome.UNSCORED: ("?", "?"),
    Outcome.CANCELLED: ("-", "-"),
    Outcome.QUEUED: ("·", "."),
    Outcome.RUNNING: ("▸", ">"),
}
"""The sign of each outcome: the usual one, and the one for terminals that show ASCII only. Always beside its word."""


def safe(text: str) -> str:
    """``text`` with everything invisible or commanding made visible (``\\x1b``, ``\\u202e``); line feeds and tabs stay."""
    return UNSAFE.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    if character == "\r":
        return "\\r"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str, width: int | None = None, mark: str = "…") -> str:
    """:func:`safe` text on one line, cut to ``width`` cells; ``mark`` (one cell) stands for what is cut off."""
    if width is not None and len(text) > 4 * width + 16:
        text = text[: 4 * width + 16]  # enough to fill the cells; keeps a huge text cheap
    flat = safe(text).replace("\n", "\\n").replace("\t", "\\t")
    return flat if width is None else cut(flat, width, mark)


def relative_path(path: Path, folder: Path) -> str:
    """The path from ``folder`` on when it lies there, else in full: right in a file of that folder too."""
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def short_path(path: Path | str, folder: Path | None = None) -> str:
    """A path to read: from ``folder`` on when it lies there, ``~/…`` below the home folder, else in full."""
    place = Path(path)
    if folder is not None and place.is_relative_to(folder):
        return relative_path(place, folder)
    home = os.environ.get("HOME", "")
    if home.strip("/") and place.is_relative_to(home):
        return str(Path("~") / place.relative_to(home))
    return str(path)


def cell_width(text: str) -> int:
    """Terminal cells of a safe text: 2 for wide East Asian characters, 0 for combining marks, else 1."""
    if text.isascii():
        return len(text)
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int, mark: str = "…") -> str:
    """``text`` in at most ``width`` cells; what is cut off is marked."""
    if cell_width(text) <= width:
        return text
    used = 0
    for index, character in enumerate(text):
        used += _character_width(character)
        if used > width - 1:
            return text[:index] + mark
    return text


def local_time(seconds: float | None) -> str:
    """A time of the history (seconds since the epoch) on this machine's clock, ``-`` when there is none."""
    if seconds is None:
        return "-"
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration(seconds: float | None) -> str:
    """A length of time in the unit that reads best: ``850 ms``, ``12.3 s``, ``4 min 05 s``, ``2 h 03 min``."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def readable_size(size: float) -> str:
    """Bytes as people read them: ``640 B``, ``1.2 MB``."""
    if size < 1000:
        return f"{size:.0f} B"
    for unit in ("kB", "MB"):
        size /= 1000
        if size < 1000:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} GB"
