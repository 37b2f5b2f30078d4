"""What is wrong with a row or a header of a CSV file, in words. Only runs for a fault, so it may be slow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tui_eval.datasets.limits import RECORD_SETTING
from tui_eval.datasets.rows import excerpt, listed, refusal

QUOTE_HINT = 'quote a cell that holds the delimiter and double the quotes inside it: "{""day"": ""Tuesday""}"'


class Cell(NamedTuple):
    """Where a cell lies in the text of its row. ``closed`` is False for a quote that is still open at the end,
    ``clean`` is False when something follows the closing quote."""

    start: int
    end: int
    closed: bool = True
    clean: bool = True


def cells_of(text: str, delimiter: str) -> Iterator[Cell]:
    """The cells of one row, up to the first one that is broken."""
    at = 0
    while True:
        start = at
        if text.startswith('"', at):
            at = _closing_quote(text, at + 1)
            if at < 0:
                yield Cell(start, len(text), closed=False)
                return
            at += 1
            if text[at : at + 1] not in ("", delimiter, "\r", "\n"):
                yield Cell(start, at, clean=False)
                return
        else:
            ends = [found for mark in (delimiter, "\r", "\n") if (found := text.find(mark, at)) >= 0]
            at = min(ends, default=len(text))
        yield Cell(start, at)
        if not text.startswith(delimiter, at):
            return
        at += 1


def _closing_quote(text: str, at: int) -> int:
    while (at := text.find('"', at)) >= 0 and text.startswith('""', at):
        at += 2
    return at


def open_quote(text: str, delimiter: str, line: int) -> tuple[int, int, int] | None:
    """The number of the cell whose quote is never closed, and the line and column where it opens; None without one."""
    *_, last = enumerate(cells_of(text, delimiter), start=1)
    number, cell = last
    return None if cell.closed else (number, *_place(text, cell.start, line))


def quoting_fault(text: str, delimiter: str, line: int, reason: str) -> tuple[str, str]:
    """Message and hint for a row that the csv module gave up on; ``reason`` is what it said."""
    for number, cell in enumerate(cells_of(text, delimiter), start=1):
        if not cell.clean:
            opened, column = _place(text, cell.start, line)
            closed = _place(text, cell.end, line)
            message = (
                f"cell {number} begins with a quote (line {opened}, column {column}) and goes on behind the closing "
                f"one (line {closed[0]}, column {closed[1]}): `{excerpt(text[cell.end :], 20)}`"
            )
            return message, "double a quote inside a quoted cell, and close the cell right before the delimiter"
    if "new-line character" in reason:
        return "a carriage return inside a cell without quotes", "quote the cell, or end all lines the same way"
    return reason, QUOTE_HINT


def ragged(cells: Sequence[str], header: Sequence[str]) -> tuple[str, str]:
    """Message and hint for a row that is not as long as the header."""
    width = len(header)
    message = f"{len(cells)} field{'s' if len(cells) != 1 else ''}, the header has {width}"
    if len(cells) < width:
        return f"{message}; nothing for {listed(list(header[len(cells) :]))}", "a row has one field for each column"
    return f"{message}; extra: {listed(list(cells[width:]))}", QUOTE_HINT


def oversize(text: str, delimiter: str, line: int, header: Sequence[str], limit: int) -> tuple[str, int]:
    """Message and column for a row that is longer than ``limit``: names its longest cell."""
    cells = list(enumerate(cells_of(text, delimiter)))
    index, cell = max(cells, key=lambda found: found[1].end - found[1].start)
    name = f" (`{excerpt(header[index])}`)" if index < len(header) else ""
    size = cell.end - cell.start
    at_least = "more than " if cell is cells[-1][1] else ""
    opened, column = _place(text, cell.start, line)
    message = f"column {index + 1}{name} has a cell of {at_least}{size} characters, beginning on line {opened}"
    return f"{message}; a row may have {limit}", column


OVERSIZE_HINT = f"close its quotes, or raise the limit with the environment variable {RECORD_SETTING}"


def check_header(cells: Sequence[str], name: str, line: int) -> None:
    """Raises DatasetError for a column without a name and for a name that occurs twice: neither can be addressed."""
    places: dict[str, list[str]] = {}
    for number, cell in enumerate(cells, start=1):
        places.setdefault(cell, []).append(str(number))
    unnamed = [number for cell, numbers in places.items() if not cell.strip() for number in numbers]
    if unnamed:
        message = (
            f"column {_and(unnamed)} has no name" if len(unnamed) == 1 else f"columns {_and(unnamed)} have no name"
        )
        raise refusal(message, name, line=line, hint="name every column, or remove what is behind the last delimiter")
    repeated = [
        f"column `{excerpt(cell, 80)}` appears {_times(len(numbers))} (columns {_and(numbers)})"
        for cell, numbers in places.items()
        if len(numbers) > 1
    ]
    if repeated:
        raise refusal("; ".join(repeated[:10]), name, line=line, hint="give each column a name of its own")


def check_delimiter(cells: Sequence[str], text: str, delimiter: str, name: str, line: int) -> None:
    """Raises DatasetError when the header is one column that plainly holds another delimiter, or is JSON."""
    if text.lstrip().startswith("{") and text.rstrip().endswith("}"):
        raise refusal("the first line is a JSON object, not a header", name, line=line, hint="set `format: jsonl`")
    others = [mark for mark in ";\t|," if mark != delimiter and mark in cells[0]]
    if len(cells) == 1 and others and not text.lstrip().startswith('"'):
        found = max(others, key=cells[0].count)
        message = f"the header is one column, `{excerpt(cells[0])}`; the delimiter seems to be {_shown(found)}"
        hint = f"set `delimiter: {_shown(found)}`" if found != "\t" else 'set `format: tsv` or `delimiter: "\\t"`'
        raise refusal(message, name, line=line, hint=hint)


def _shown(mark: str) -> str:
    return "a tab" if mark == "\t" else f'"{mark}"'


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _and(numbers: Sequence[str]) -> str:
    return " and ".join([", ".join(numbers[:-1]), numbers[-1]]) if len(numbers) > 1 else numbers[0]


def _place(text: str, position: int, line: int) -> tuple[int, int]:
    before = text.count("\n", 0, position)
    return line + before, position - (text.rfind("\n", 0, position) + 1) + 1
