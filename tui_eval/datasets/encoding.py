"""From bytes to text and lines, the same way on every machine, whatever its locale.

Rules: a byte order mark decides (as the WHATWG Encoding standard has it), then the ``encoding`` setting, which is
UTF-8 by default. Bytes that are not valid are reported with their place and never replaced. A line ends at LF only;
U+2028, U+2029, U+0085, form feeds and the like are ordinary characters.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeVar

from tui_eval.datasets.files import InputFile
from tui_eval.datasets.limits import RECORD_SETTING
from tui_eval.datasets.rows import BEGIN, UNKNOWN, Place, Reading, excerpt, refusal
from tui_eval.errors import DatasetError

_LONG_HINT = f"split the record, or raise the limit with the environment variable {RECORD_SETTING}"

Text = TypeVar("Text", bytes, str)

# UTF-32 before UTF-16: the mark of UTF-16-LE begins that of UTF-32-LE.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Without a mark Python would take the machine's own byte order; files do not depend on the machine.
_UNMARKED = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
_NOT_FOR_FILES = {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"}
# In these the byte 0x0A is always a line feed, so that lines can be cut before they are decoded.
_BYTE_LINES = re.compile(r"utf-8|ascii|iso8859-\d+|cp125\d|cp437|cp85\d|cp866|koi8-[rut]|mac-[a-z]+|tis-620")


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """How a file is decoded: Python's codec name, the bytes its byte order mark takes, and whether lines may be cut
    as bytes (then reading can also start in the middle)."""

    codec: str
    mark: int
    byte_lines: bool

    @property
    def label(self) -> str:
        return self.codec.upper() if self.codec.startswith("utf") else self.codec


class Line(NamedTuple):
    """One line without its LF. ``problem`` (with a ``hint``) says why ``text`` cannot be trusted; then it is good for
    messages only; ``cut``: it was too long and ``text`` is its beginning. ``ended`` is False for a last line without a line break; ``offset`` is
    :data:`~tui_eval.datasets.rows.UNKNOWN` when bytes cannot be counted."""

    number: int
    offset: int
    text: str
    ended: bool
    problem: str = ""
    hint: str = ""
    cut: bool = False


def detect(file: InputFile, head: bytes, setting: str, reading: Reading) -> TextEncoding:
    """The encoding of a file that begins with ``head``. Raises DatasetError for an unknown name or a binary file."""
    chosen = _lookup(setting, file.name)
    for mark, codec in _MARKS:
        if head.startswith(mark):
            if chosen not in (codec, codec[:6]) and chosen != "utf-8":
                reading.notes.append(f"the file has a byte order mark of {codec.upper()}; read as that, not {setting}")
            size = len(mark)
            while head.startswith(mark, size):
                size += len(mark)
            return TextEncoding(codec, size, codec == "utf-8")
    codec = _UNMARKED.get(chosen, chosen)
    # Further down a NUL is the fault of one line (a disk that lost power leaves such), here it is that of the file.
    first_line = head[: head.find(b"\n") + 1 or 4096]
    if not codec.startswith(("utf-16", "utf-32")) and b"\x00" in first_line:
        raise _binary(head[:4096], file.name)
    return TextEncoding(codec, 0, _BYTE_LINES.fullmatch(codec) is not None)


def invalid_bytes(encoding: TextEncoding, byte: int, line: int) -> str:
    return f"not valid {encoding.label} at byte {byte} (line {line})"


def invalid_hint(encoding: TextEncoding) -> str:
    if encoding.codec == "utf-8":
        return "save the file as UTF-8, or set `encoding: latin-1` (or what it was saved in)"
    return "set `encoding` to what the file was saved in"


def read_text(file: InputFile, encoding: TextEncoding, chunks: Iterable[bytes] | None = None) -> Iterator[str]:
    """The whole text in pieces. Raises DatasetError at the first byte that is not valid, after the text before it."""
    decoder = codecs.getincrementaldecoder(encoding.codec)("strict")
    consumed, line = encoding.mark, 1
    pieces = file.chunks(encoding.mark) if chunks is None else chunks
    for chunk, final in chain(((piece, False) for piece in pieces), [(b"", True)]):
        try:
            text = decoder.decode(chunk, final)
        except UnicodeDecodeError as error:
            good = error.object[: error.start].decode(encoding.codec, "ignore")
            if good:
                yield good
            # The object begins with what the decoder had kept back from earlier chunks.
            byte = consumed + len(chunk) - len(error.object) + error.start
            line += good.count("\n")
            message = invalid_bytes(encoding, byte, line)
            raise refusal(message, file.name, line=line, hint=invalid_hint(encoding)) from error
        consumed += len(chunk)
        line += text.count("\n")
        if text:
            yield text


def read_lines(
    file: InputFile,
    encoding: TextEncoding,
    limit: int,
    start: Place = BEGIN,
    separator: str = "\n",
    chunks: Iterable[bytes] | None = None,
) -> Iterator[Line]:
    """The lines of a file. ``limit`` is in bytes (characters where lines cannot be cut as bytes); a longer line comes
    without its text and with a problem. ``chunks`` stands for the file's bytes behind the mark."""
    if encoding.byte_lines:
        offset = start.offset or encoding.mark
        pieces = _cut(file.chunks(offset) if chunks is None else chunks, separator.encode("ascii"), limit)
        return _byte_lines(pieces, encoding, limit, Place(offset, start.line))
    return _text_lines(read_text(file, encoding, chunks), separator, limit)


def whole_lines(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The bytes in pieces that end behind a line feed, but for the last one. ``limit`` is in bytes: a piece that would
    be longer, because one line is, ends in the middle of that line, and is the last."""
    begun: list[bytes] = []
    size = 0
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join((*begun, chunk[:end]))
            begun, size = [], 0
        begun.append(chunk[end:])
        size += len(chunk) - end
        if size > limit:
            break
    if size:
        yield b"".join(begun)


def lines_of(piece: bytes, encoding: TextEncoding, limit: int, start: Place) -> Iterator[Line]:
    """The lines of a piece of a file whose lines can be cut as bytes; see :func:`read_lines`."""
    return _byte_lines(_cut((piece,), b"\n", limit), encoding, limit, start)


def _byte_lines(
    pieces: Iterator[tuple[bytes, int, bool]], encoding: TextEncoding, limit: int, start: Place
) -> Iterator[Line]:
    offset, number = start
    codec = encoding.codec
    for raw, size, ended in pieces:
        if size > limit:
            text = raw.decode(codec, "ignore")
            yield Line(number, offset, text, ended, _too_long(size, "bytes", limit), _LONG_HINT, cut=True)
        else:
            try:
                text = raw.decode(codec)
            except UnicodeDecodeError as error:
                problem = invalid_bytes(encoding, offset + error.start, number)
                text = raw.decode(codec, "backslashreplace")
                yield Line(number, offset, text, ended, problem, invalid_hint(encoding))
            else:
                yield Line(number, offset, text, ended)
        offset += size + 1
        number += 1


def _text_lines(texts: Iterator[str], separator: str, limit: int) -> Iterator[Line]:
    for number, (text, size, ended) in enumerate(_cut(texts, separator, limit), start=1):
        if size > limit:
            yield Line(number, UNKNOWN, text, ended, _too_long(size, "characters", limit), _LONG_HINT, cut=True)
        else:
            yield Line(number, UNKNOWN, text, ended)


def _cut(chunks: Iterable[Text], separator: Text, limit: int) -> Iterator[tuple[Text, int, bool]]:
    """Lines without their separator, each with its size and whether a separator followed. Of a line longer than
    ``limit`` only the beginning is kept, so that no line can take all memory."""
    empty = separator[:0]
    begun: list[Text] = []
    size = 0
    for chunk in chunks:
        pieces = chunk.split(separator)
        last = pieces.pop()
        for piece in pieces:
            if size:
                if size <= limit:
                    begun.append(piece)
                size += len(piece)
                yield empty.join(begun)[:limit], size, True
                begun.clear()
                size = 0
            else:
                yield piece[:limit], len(piece), True
        if last and size <= limit:
            begun.append(last)
        size += len(last)
    if size:
        yield empty.join(begun)[:limit], size, False


def _too_long(size: int, unit: str, limit: int) -> str:
    return f"the line is {size} {unit} long, at most {limit} are read"


def _lookup(setting: str, name: str) -> str:
    try:
        codec = codecs.lookup(setting)
    except (LookupError, ValueError) as error:
        raise _unknown(setting, name) from error
    # Python also lists transformations such as base64 among its codecs; and some text codecs are not for files.
    if (
        not codec._is_text_encoding
        or codec.name.replace("-", "_") in _NOT_FOR_FILES
        or codec.incrementaldecoder is None
    ):
        raise _unknown(setting, name)
    return _UNMARKED["utf-8-sig"] if codec.name == "utf-8-sig" else codec.name


def _unknown(setting: str, name: str) -> DatasetError:
    hint = "use a name such as utf-8, utf-16, latin-1, cp1252, shift_jis or gb18030"
    return refusal(f"unknown text encoding `{excerpt(setting)}`", name, path="dataset.encoding", hint=hint)


def _binary(head: bytes, name: str) -> DatasetError:
    """A text in UTF-8 has no NUL bytes; a mostly Western one in UTF-16 without a mark has one in every second place."""
    odd, even = head[1::2].count(0), head[0::2].count(0)
    if max(odd, even) > 4 * min(odd, even) and max(odd, even) > len(head) // 5:
        hint = f"set `encoding: {'utf-16-le' if odd > even else 'utf-16-be'}`"
        return refusal("this looks like UTF-16 without a byte order mark", name, line=1, hint=hint)
    message = f"a NUL byte at byte {head.index(0)} (line 1): this is not a text file"
    return refusal(message, name, line=1, hint="name the right file, or set its `encoding`")
