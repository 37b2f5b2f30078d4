"""CSV and TSV (RFC 4180): a header with distinct names, every row as long as the header, every cell text.

A line number is the physical line on which a row begins; a quoted cell may go over several. Lines end at LF or CRLF;
a file that has only CR is read with those.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import repeat

from tui_eval.datasets import csv_blocks, csv_faults
from tui_eval.datasets.encoding import Line, detect, read_lines
from tui_eval.datasets.files import InputFile, refuse_foreign
from tui_eval.datasets.json_text import NotJson, StrictDecoder
from tui_eval.datasets.limits import Limits
from tui_eval.datasets.rows import (
    BEGIN,
    UNKNOWN,
    BadRow,
    Block,
    Item,
    Place,
    Reading,
    Row,
    bad_row,
    excerpt,
    listed,
    refusal,
)
from tui_eval.errors import DatasetError
from tui_eval.spec.model import Dataset
from tui_eval.spec.nearest import suggestion

# The module's own limit counts characters a cell and is one for the whole process; ours is checked row by row.
csv.field_size_limit(sys.maxsize)

_FORBIDDEN_DELIMITERS = '"\r\n\0\ufeff'
# A quote left open takes in very many short lines; joined they take a tenth of the memory.
_LINES_A_BLOCK = 1000
_EXCEL_SEPARATOR = re.compile(r"sep=(.)\r?", re.IGNORECASE)


def read(file: InputFile, options: Dataset, limits: Limits, reading: Reading, start: Place = BEGIN) -> Iterator[Item]:
    """The rows of a file in order. Raises DatasetError for a header that cannot be used and a quote never closed."""
    sheet = Sheet(file, options, limits, reading)
    yield from sheet.rows(None if start == BEGIN else start)
    sheet.end(reading)


def blocks(file: InputFile, options: Dataset, limits: Limits, reading: Reading) -> Iterator[Block | Item]:
    """The same rows as :func:`read` gives, many at a time where nothing is wrong with them."""
    sheet = Sheet(file, options, limits, reading)
    if sheet.splits_quickly:
        yield from csv_blocks.read(sheet)
    else:
        yield from sheet.rows(None)
    sheet.end(reading)


class Sheet:
    """A file whose header is read. Raises DatasetError for a header that cannot be used."""

    def __init__(self, file: InputFile, options: Dataset, limits: Limits, reading: Reading) -> None:
        head = file.head()
        refuse_foreign(file, head, "CSV")
        self.file = file
        self.encoding = detect(file, head, options.encoding, reading)
        self.limit = limits.record
        self._separator = _line_end(head[self.encoding.mark :].decode(self.encoding.codec, "ignore"))
        self._table = Table(self._feed(BEGIN), file.name, limits.record)
        self.header = self._table.header(_delimiter(options, file.name), chosen=options.delimiter is not None)
        reading.header = self.header
        if not self.header:
            reading.notes.append("the file has no header")
        for name in self.header:
            if name != name.strip():
                reading.notes.append(f"the column name `{excerpt(name, 80)}` begins or ends with a blank")
        self._json_columns = _json_columns(options, self.header, file.name) if self.header else ()
        self._decode = StrictDecoder().decode

    @property
    def splits_quickly(self) -> bool:
        """Whether lines may be cut as bytes, at line feeds, and the limit leaves room for pieces of many lines."""
        return self.encoding.byte_lines and self._separator == "\n" and self.limit >= csv_blocks.LEAST_LIMIT

    @property
    def delimiter(self) -> str:
        return self._table.delimiter

    def rows(self, start: Place | None) -> Iterator[Item]:
        """The rows from a place that begins one (None: those right behind the header), one by one."""
        if not self.header:
            return
        if start is not None:
            self._table.restart(self._feed(start))
        for item in self._table.rows():
            yield self.with_json(item) if self._json_columns and isinstance(item, Row) else item

    def with_json(self, row: Row) -> Item:
        """A row with the columns decoded that hold JSON; a fault when one does not."""
        values = dict(row.columns)
        for column in self._json_columns:
            text = values[column]
            try:
                values[column] = self._decode(text)
            except NotJson as error:
                message = f"column `{excerpt(column, 80)}` is not JSON: {error.message}; it holds `{excerpt(text)}`"
                hint = "write null for nothing, and quote texts" if not text.strip() else "texts are in quotes in JSON"
                return bad_row(message, self.file.name, line=row.line, hint=hint)
        return row._replace(columns=values)

    def passed_over(self, cells: list[str], line: int) -> Iterator[Item]:
        """A row that is blank or not as long as the header; see :meth:`Table.passed_over`."""
        return self._table.passed_over(cells, line)

    def block(self, cells: list[list[str]], lines: Sequence[int]) -> Iterator[Block | Item]:
        """Rows that are as long as the header, many at a time."""
        header = self.header
        rows = [dict(zip(header, row, strict=True)) for row in cells]
        if self._json_columns:
            yield from map(self.with_json, map(Row, rows, lines, repeat(UNKNOWN)))
        elif rows:
            yield Block(rows, lines)

    def end(self, reading: Reading) -> None:
        """Notes what is known only behind the last row."""
        blank = self._table.blank_rows
        if blank:
            reading.notes.append(f"{blank} blank row{'s' if blank > 1 else ''} skipped")

    def _feed(self, start: Place) -> _Feed:
        lines = read_lines(self.file, self.encoding, self.limit, start, self._separator)
        return _Feed(lines, self._separator, self.limit)


class _Feed:
    """The lines that the csv module asks for; remembers which ones the row at hand took."""

    def __init__(self, lines: Iterator[Line], separator: str, limit: int) -> None:
        self._lines = lines
        self._separator = separator
        self._limit = limit
        self.begin()

    def begin(self) -> None:
        """A new row begins with the next line."""
        self.first: Line | None = None
        self.bad: Line | None = None
        self.lines = 0
        self.size = 0
        self.too_long = False
        self._blocks: list[str] = []
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        """All lines of the row, joined by LF."""
        return "\n".join([*self._blocks, *self._texts])

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        text = line.text
        if self.first is None:
            self.first = line
        if (line.problem or "\0" in text) and self.bad is None:
            self.bad = line
        self._texts.append(text)
        if len(self._texts) == _LINES_A_BLOCK:
            self._blocks.append("\n".join(self._texts))
            self._texts.clear()
        self.lines += 1
        self.size += len(text)
        if self.size > self._limit or line.cut:
            self.too_long = True
            raise StopIteration
        return text + self._separator if line.ended else text


class Table:
    """A CSV file while it is read, row by row."""

    def __init__(self, feed: _Feed, name: str, limit: int) -> None:
        self.name = name
        self.blank_rows = 0
        self._limit = limit
        self._feed = feed
        self.delimiter = ","
        self._header: tuple[str, ...] = ()
        self._reader = csv.reader(feed, strict=True)

    def restart(self, feed: _Feed) -> None:
        """Goes on with other lines; the first of them begins a row."""
        self._feed = feed
        self._reader = csv.reader(feed, delimiter=self.delimiter, strict=True)

    def header(self, delimiter: str, *, chosen: bool) -> tuple[str, ...]:
        """The column names; ``chosen``: the plan names the delimiter. Empty for a file without any row.

        Raises DatasetError when a name is missing or occurs twice, or the delimiter is plainly another one. A first
        line ``sep=;``, as spreadsheets write it, names the delimiter where the plan does not.
        """
        self.delimiter = delimiter
        self.restart(self._feed)
        while (cells := self._next()) is not None:
            if isinstance(cells, BadRow):
                raise DatasetError([cells.fault])
            text = self._feed.first.text if self._feed.first else ""
            if (separator := _EXCEL_SEPARATOR.fullmatch(text)) and separator[1] not in _FORBIDDEN_DELIMITERS:
                self.delimiter = delimiter if chosen else separator[1]
                chosen = True
                self.restart(self._feed)
            elif any(cell.strip() for cell in cells):
                if not chosen:
                    csv_faults.check_delimiter(cells, text, self.delimiter, self.name, self._line())
                csv_faults.check_header(cells, self.name, self._line())
                self._header = tuple(cells)
                break
        return self._header

    def rows(self) -> Iterator[Item]:
        """The rows behind the header. Raises DatasetError for a quote that is never closed and a row too long."""
        header = self._header
        width = len(header)
        while (cells := self._next()) is not None:
            if isinstance(cells, BadRow):
                yield cells
                continue
            first = self._feed.first
            if not cells or first is None:
                continue
            if len(cells) == width and any(map(str.strip, cells)):
                yield Row(dict(zip(header, cells, strict=True)), first.number, first.offset)
            else:
                yield from self.passed_over(cells, first.number)

    def passed_over(self, cells: Sequence[str], line: int) -> Iterator[BadRow]:
        """What is wrong with a row that is blank (nothing: those are counted) or not as long as the header."""
        if any(map(str.strip, cells)):
            message, hint = csv_faults.ragged(cells, self._header)
            yield bad_row(message, self.name, line=line, hint=hint)
        elif cells:
            self.blank_rows += 1

    def _next(self) -> list[str] | BadRow | None:
        feed = self._feed
        feed.begin()
        try:
            cells = next(self._reader)
        except StopIteration:
            if feed.too_long:
                raise self._too_long() from None
            return None
        except csv.Error as error:
            if feed.too_long:
                raise self._too_long() from None
            return self._broken(str(error))
        return cells if feed.bad is None else self._unusable(feed.bad)

    def _line(self) -> int:
        return self._feed.first.number if self._feed.first else 1

    def _broken(self, reason: str) -> BadRow:
        line = self._line()
        text = self._feed.text
        if found := csv_faults.open_quote(text, self.delimiter, line):
            cell, opened, column = found
            rest = self._feed.lines - 1 - (opened - line)
            message = f"the quote that opens cell {cell} is never closed"
            if rest > 0:
                message += f"; it would take in the rest of the file ({rest} line{'s' if rest > 1 else ''})"
            raise refusal(message, self.name, line=opened, column=column, hint="close it, or double it inside quotes")
        message, hint = csv_faults.quoting_fault(text, self.delimiter, line, reason)
        return bad_row(message, self.name, line=line, hint=hint)

    def _unusable(self, bad: Line) -> BadRow:
        if bad.problem:
            return bad_row(bad.problem, self.name, line=bad.number, hint=bad.hint)
        column = bad.text.index("\0") + 1
        return bad_row("a NUL character", self.name, line=bad.number, column=column, hint="remove it")

    def _too_long(self) -> DatasetError:
        line = self._line()
        message, column = csv_faults.oversize(self._feed.text, self.delimiter, line, self._header, self._limit)
        if self._feed.bad is not None and self._feed.bad.cut:
            message = f"{self._feed.bad.problem}; {message}"
        return refusal(message, self.name, line=line, column=column, hint=csv_faults.OVERSIZE_HINT)


def _line_end(head: str) -> str:
    """CR for a file (old spreadsheets wrote such) whose beginning has no LF at all but CR inside, else LF."""
    return "\r" if "\n" not in head and "\r" in head[:-1] else "\n"


def _delimiter(options: Dataset, name: str) -> str:
    if options.delimiter is None:
        return "\t" if options.format == "tsv" else ","
    if options.delimiter in _FORBIDDEN_DELIMITERS:
        hint = 'use a character such as "," ";" "|" or a tab ("\\t")'
        raise refusal(f"{options.delimiter!r} cannot be a delimiter", name, path="dataset.delimiter", hint=hint)
    return options.delimiter


def _json_columns(options: Dataset, header: Sequence[str], name: str) -> tuple[str, ...]:
    missing = [column for column in options.json_columns if column not in header]
    if missing:
        message = f"no column {listed(missing)}; the columns are {listed(list(header))}"
        raise refusal(message, name, path="dataset.json_columns", hint=suggestion(missing[0], header))
    return tuple(dict.fromkeys(options.json_columns))
