"""The clipboard of the terminal in front of which the user sits, also through SSH, tmux and screen: OSC 52.

The sequence is that of xterm's control sequences, "OSC 52". Multiplexers pass it on only inside one of their own:
tmux (``allow-passthrough on``) behind ``ESC P tmux;`` with every escape doubled, screen in device control strings of
at most 768 bytes. No program is ever started for it: a clipboard tool that hangs would hold the screen.
"""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tui_eval.errors import UsageError
from tui_eval.reports.writing import visible

MOST_BYTES = 74_994
"""What terminals take at most: 100,000 bytes of base64 with the frame around it."""
_SCREEN_CHUNK = 700


def fits(text: str) -> bool:
    """Whether a terminal's clipboard takes a text of this size."""
    return len(text) <= MOST_BYTES and len(_encoded(text)) <= MOST_BYTES


def sequence(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """What is written to the terminal to put ``text`` onto its clipboard; only base64 of it is in there.

    Control characters but tabs and line breaks are made visible: a pasted escape could end the paste and type.
    """
    plain = f"\x1b]52;c;{base64.b64encode(_encoded(text)).decode('ascii')}\x07"
    if environment.get("TMUX"):
        # With `set-clipboard on` tmux takes the plain one itself; with `allow-passthrough on` it hands the other on.
        return plain + "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environment.get("STY") or environment.get("TERM", "").startswith("screen"):
        chunks = (plain[start : start + _SCREEN_CHUNK] for start in range(0, len(plain), _SCREEN_CHUNK))
        return "".join(f"\x1bP{chunk}\x1b\\" for chunk in chunks)
    return plain


def _encoded(text: str) -> bytes:
    return visible(text).encode("utf-8", "backslashreplace")


def write_file(path: Path, text: str) -> None:
    """Write ``text`` exactly as it is (UTF-8; halves of surrogate pairs as ``\\udxxx``) into a new file, readable by
    its owner only; there as a whole or not at all. Raises UsageError when it is there already or cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, draft = tempfile.mkstemp(prefix=".tui-eval-", dir=path.parent)
        try:
            with open(handle, "wb") as stream:
                stream.write(text.encode("utf-8", "backslashreplace"))
            os.link(draft, path)  # unlike a renaming, this never replaces a file
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft)
    except FileExistsError as error:
        if error.filename2 is None:  # the folder, not the file
            raise UsageError(f"{path} cannot be written: {path.parent} is no folder") from None
        raise UsageError(f"{path} is there already; name a new file") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from error
