"""Content-Encoding (RFC 9110, section 8.4.1), decoded with a bound on the size and an eye on the end.

httpx's decoders do not tell a body that was cut before the end of its gzip stream from a whole one, and give any amount
of text for a small bomb; hence these.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

_GZIP = 16 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"


class EncodingError(ValueError):
    """The body is not what its ``content-encoding`` says, or the encoding is one we never asked for."""


class TooLong(ValueError):
    """The decoded body is longer than the limit."""


class ZlibDecoder:
    """gzip (one or more members) or deflate (with or without the zlib header, as servers send both)."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._wbits = zlib.MAX_WBITS if name == "deflate" else _GZIP
        self._stream = zlib.decompressobj(self._wbits)
        self._begun = False
        self._head = b""  # a zlib header is two bytes; until both are there, it may still be raw deflate

    @property
    def whole(self) -> bool:
        """False while the end of the compressed stream has not come (an empty body has none and is whole)."""
        return self._stream.eof or not self._begun

    def decode(self, data: bytes, room: int) -> bytes:
        """The text of ``data``. Raises :class:`TooLong` beyond ``room`` bytes, :class:`EncodingError`."""
        pieces: list[bytes] = []
        size = 0
        while data:
            if self._stream.eof:
                if self._wbits != _GZIP or not data.startswith(b"\x1f"):
                    break  # padding after the end; other programs ignore it as well
                self._stream = zlib.decompressobj(self._wbits)
            piece = self._decompress(data, room + 1 - size)
            pieces.append(piece)
            size += len(piece)
            if size > room:
                raise TooLong
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
        return b"".join(pieces)

    def _decompress(self, data: bytes, length: int) -> bytes:
        head = self._head
        self._head = (head + data)[:2]
        try:
            piece = self._stream.decompress(data, length)
        except zlib.error as error:
            if self._wbits != zlib.MAX_WBITS or len(head) == 2:
                begun = len(head) == 2 or (self._wbits == _GZIP and self._head == _GZIP_MAGIC)
                state = "the body is damaged" if begun else f"the body is not {self._name}"
                raise EncodingError(f"content-encoding: {self._name}, but {state}") from error
            self._wbits = _RAW
            self._stream = zlib.decompressobj(_RAW)
            return self._decompress(head + data, length)
        self._begun = True
        return piece


class Decoders:
    """The encodings of one body, undone in the reverse order of their use."""

    def __init__(self, decoders: Sequence[ZlibDecoder]) -> None:
        self._decoders = decoders

    @property
    def whole(self) -> bool:
        return all(decoder.whole for decoder in self._decoders)

    def decode(self, data: bytes, room: int) -> bytes:
        for decoder in self._decoders:
            data = decoder.decode(data, room)
        return data


def decoder_for(content_encoding: str) -> Decoders | None:
    """What undoes ``content-encoding``, None for a plain body. Raises :class:`EncodingError` for an unknown one."""
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in names if name and name != "identity"]
    if len(names) > 4:
        raise EncodingError("content-encoding names more than 4 encodings")
    for name in names:
        if name not in ("gzip", "x-gzip", "deflate"):
            raise EncodingError(
                f"content-encoding: {name[:40]} is not supported; ask for gzip or none (header accept-encoding)"
            )
    return Decoders([ZlibDecoder(name) for name in reversed(names)]) if names else None
