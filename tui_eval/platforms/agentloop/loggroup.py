"""A LogGroup of the log service as protobuf bytes (AgentLoop contract, section 7).

``LogGroup{Logs=1: Log{Time=1 varint, Contents=2: Content{Key=1, Value=2}}, Topic=3, Source=4}``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Log:
    """One log: ``at`` in whole seconds since the epoch, its fields in order."""

    at: int
    fields: tuple[tuple[str, str], ...]

    def encoded(self) -> bytes:
        contents = b"".join(_field(2, _field(1, _utf8(name)) + _field(2, _utf8(value))) for name, value in self.fields)
        return b"\x08" + _varint(self.at) + contents


def log_group(logs: Sequence[bytes], *, topic: str = "", source: str = "") -> bytes:
    """The group of logs that are encoded already."""
    return b"".join(_field(1, log) for log in logs) + _field(3, _utf8(topic)) + _field(4, _utf8(source))


def _utf8(text: str) -> bytes:
    # Half a surrogate pair has no UTF-8 form; it is shown as its escape.
    return text.encode("utf-8", "backslashreplace")


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
