"""Opening a dataset file without surprises: it must be a regular file, be what its name says, and not change."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from itertools import islice
from pathlib import Path

from tui_eval.datasets.rows import refusal

CHUNK_BYTES = 256 * 1024
HEAD_BYTES = 64 * 1024

_KINDS = (
    (stat.S_ISDIR, "a directory", "a dataset is one file; name the file inside it"),
    (stat.S_ISFIFO, "a named pipe", "save its content to a file first"),
    (stat.S_ISSOCK, "a socket", "save the data to a file first"),
    (stat.S_ISCHR, "a device", "save the data to a file first"),
    (stat.S_ISBLK, "a device", "save the data to a file first"),
)

_PACKED = "unpack it first, then name the unpacked file"
_SIGNATURES = (
    (b"\x1f\x8b", "gzip-compressed", _PACKED),
    (b"BZh91AY&SY", "bzip2-compressed", _PACKED),
    (b"\xfd7zXZ\x00", "xz-compressed", _PACKED),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", _PACKED),
    (b"PK\x03\x04", "a zip archive (or a spreadsheet such as .xlsx)", "unpack it, or save the sheet as CSV UTF-8"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file such as .xls", "save the sheet as CSV UTF-8"),
    (b"PAR1\x15", "a Parquet file", "set `format: parquet`"),
    (b"ARROW1\x00\x00", "an Arrow file", "save it as Parquet or JSON lines"),
    (b"SQLite format 3\x00", "an SQLite database", "export the table as CSV or JSON lines"),
    (b"%PDF-", "a PDF document", "export the data as CSV or JSON lines"),
)
_LFS = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A regular file that was there when the dataset was opened. ``size`` is in bytes. ``name`` is for messages.

    Every pass checks that it is still the same file with the same content (device, inode, size, time of change).
    """

    path: Path
    name: str
    size: int
    stamp: tuple[int, int, int, int]

    def open(self) -> FileIO:
        """The file, unbuffered, for one pass. Raises DatasetError when it went away or changed."""
        stream = _open(self.path, self.name)
        if _stamp(os.fstat(stream.fileno())) != self.stamp:
            stream.close()
            raise self._changed()
        return stream

    def chunks(self, start: int = 0, size: int = CHUNK_BYTES) -> Iterator[bytes]:
        """The content from byte ``start`` in pieces of at most ``size`` bytes. Raises DatasetError."""
        with self.open() as stream:
            try:
                stream.seek(start)
                while chunk := stream.read(size):
                    yield chunk
            except OSError as error:
                raise refusal(f"cannot be read: {error.strerror or error}", self.name) from error
            if _stamp(os.fstat(stream.fileno())) != self.stamp:
                raise self._changed()

    def head(self) -> bytes:
        """The first 64 KiB."""
        for chunk in self.chunks(size=HEAD_BYTES):
            return chunk
        return b""

    def _changed(self) -> Exception:
        return refusal("the file changed while it was in use", self.name, hint="start again when nothing writes to it")


def open_input(path: Path, name: str) -> InputFile:
    """Checks that the file is there, is a regular file (never waits for a pipe) and can be read. Raises DatasetError.

    ``name`` is what messages call it; they never show the path, which may come from a secret variable.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError as error:
        raise refusal("no such file", name, hint=_missing_hint(path)) from error
    except (OSError, ValueError) as error:
        raise refusal(f"cannot be opened: {getattr(error, 'strerror', None) or error}", repr(name)[1:-1]) from error
    for is_kind, what, hint in _KINDS:
        if is_kind(found.st_mode):
            raise refusal(f"this is {what}, expected a regular file", name, hint=hint)
    with _open(path, name) as stream:
        found = os.fstat(stream.fileno())
    return InputFile(path, name, found.st_size, _stamp(found))


def refuse_foreign(file: InputFile, head: bytes, wanted: str) -> None:
    """Raises DatasetError when the content is plainly not of the format: compressed, a spreadsheet, a pointer."""
    if head.startswith(_LFS):
        hint = "fetch the real file: git lfs pull"
        raise refusal("this is a git-lfs pointer, not the data", file.name, hint=hint)
    for signature, what, hint in _SIGNATURES:
        if head.startswith(signature) and not (wanted == "parquet" and signature.startswith(b"PAR1")):
            raise refusal(f"this is {what}, expected {wanted}", file.name, hint=hint)
    beginning = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:200].lower()
    if beginning.startswith((b"<!doctype html", b"<html")):
        raise refusal(
            f"this is a web page, expected {wanted}",
            file.name,
            hint="the download probably ended at a login or error page; fetch the raw file",
        )


def _open(path: Path, name: str) -> FileIO:
    try:
        # Non-blocking: should the path have become a pipe in between, opening it must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        hint = "check the file's permissions" if isinstance(error, PermissionError) else ""
        raise refusal(f"cannot be opened: {error.strerror or error}", name, hint=hint) from error
    stream = FileIO(descriptor, "r")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        stream.close()
        raise refusal("this is no longer a regular file", name)
    return stream


def _stamp(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _missing_hint(path: Path) -> str:
    if any(part in ("http:", "https:", "s3:", "gs:") for part in path.parts):
        return "addresses are not read; fetch the file, and name the copy"
    if "~" in path.parts:
        return "`~` is not expanded; write the path in full or relative to the plan's folder"
    if not path.parent.is_dir():
        return "its folder does not exist either; paths are relative to the plan's folder"
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, 1000)]
    except OSError:
        names = []
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else "paths are relative to the plan's folder"
