"""Text without the codes that steer a terminal, for evaluators: what the program meant to say.

Sources: ECMA-48 (control functions), xterm's control sequences (OSC, also ended by BEL). All patterns are linear: no
output, however hostile, takes longer than reading it a few times.
"""

from __future__ import annotations

import re

_SEQUENCES = re.compile(
    # CSI … final byte (colours, cursor), in its 7-bit and 8-bit form
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"
    # OSC … BEL or ST (window title, links). A line break ends the hope for an end: no code may swallow lines of text.
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\n\x80-\x9f]*+(?:\x07|\x1b\\|\x9c)"
    # DCS, SOS, PM, APC … ST (images, device strings)
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x80-\x9f]*+(?:\x1b\\|\x9c)"
    # ESC intermediate bytes final byte (character sets, save cursor, and the openers above that are never closed)
    r"|\x1b[ -/]*+[0-~]"
)
# Control characters but tab and line feed; carriage returns are dealt with before.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")


def without_terminal_codes(text: str) -> str:
    """``text`` without escape sequences and control characters (tab and line feed stay), CR LF as LF.

    Of a line that was overwritten with carriage returns (a progress bar) the last text that is not empty stays.
    """
    if not _CONTROLS.search(text):
        return text
    text = _SEQUENCES.sub("", text)
    if "\r" in text:
        text = "\n".join(map(_last_written, text.split("\n")))
    return _CONTROLS.sub("", text)


def _last_written(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line
