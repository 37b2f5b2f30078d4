"""For terminals that cannot show Unicode: every line that is drawn, in ASCII, each cell where it was."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from tui_eval.display import GLYPHS

_SUBSTITUTES = {
    **dict(GLYPHS.values()),
    **dict.fromkeys("─═╌╍┄┅▔▁⎯╶╴╸╺", "-"),
    "━": "=",  # what is done of a bar; what is not is the thin line
    **dict.fromkeys("│┃║▏▎▍▌▐▕╎╏┆┇▊▋╵╷╹╻", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯┏┓┗┛┣┫┳┻╋╔╗╚╝", "+"),
    **dict.fromkeys("█▉▇▆▅▄▃▂▀", "#"),
    **dict.fromkeys("░▒▓", ":"),
    **dict.fromkeys("●◉•■◆", "*"),
    **dict.fromkeys("○□◇", "o"),
    **dict.fromkeys("▶▸›❯→", ">"),
    **dict.fromkeys("◀◂‹❮←", "<"),
    **dict.fromkeys("▲△↑", "^"),
    **dict.fromkeys("▼▽↓", "v"),
    "×": "x",
    "…": "~",
    "–": "-",
    "—": "-",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "⏎": "$",
    "↵": "$",
    "∅": "0",
    "\u00a0": " ",
}


@lru_cache(4096)
def ascii_text(text: str) -> str:
    """``text`` in ASCII, in exactly as many cells: what has no likeness becomes ``?``."""
    if text.isascii():
        return text
    return "".join(_substitute(character) for character in text)


def _substitute(character: str) -> str:
    if character.isascii():
        return character
    return _SUBSTITUTES.get(character) or "?" * cell_len(character)


class AsciiLines(LineFilter):
    """The last step before the terminal, for everything on the screen, the toolkit's own borders included."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(ascii_text(text), style, control) for text, style, control in segments]
