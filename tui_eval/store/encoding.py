"""How values become bytes in the history: JSON, compressed when that pays, and text that SQLite accepts."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from hashlib import sha256

from tui_eval.domain import JsonValue, canonical_json

PLAIN, ZLIB = 0, 1
COMPRESS_FROM = 2048  # bytes; below, the time is worth more than the space
_LARGEST_INTEGER = 2**63 - 1
_LARGEST_AMOUNT = 10**12

# One encoder for the process: json.dumps with options of its own makes a new one for every call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str).encode
_encode_ascii = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False, default=str).encode


def to_json(value: JsonValue) -> str:
    """JSON text that SQLite and every reader accept: no NaN or infinity (null instead), no lone surrogate.

    Raises TypeError, ValueError or RecursionError for what is no JSON value at all (odd keys, cycles, endless depth).
    """
    try:
        text = _encode(value)
    except ValueError:
        value = _finite(value)
        text = _encode(value)
    if text.isascii() or _is_unicode(text):
        return text
    return _encode_ascii(value)


def pack(value: JsonValue) -> tuple[int, bytes]:
    """``(codec, bytes)`` of a value; see :func:`to_json` for what it raises."""
    data = to_json(value).encode()
    if len(data) > COMPRESS_FROM:
        smaller = zlib.compress(data, 1)
        if len(smaller) < len(data):
            return ZLIB, smaller
    return PLAIN, data


def unpack(codec: int, data: bytes) -> JsonValue:
    """The value that :func:`pack` was given. Raises zlib.error, UnicodeDecodeError or JSONDecodeError for damaged bytes."""
    return json.loads(unpacked(codec, data))


def unpacked(codec: int, data: bytes) -> bytes:
    """The JSON text that :func:`pack` made. Raises zlib.error for damaged bytes."""
    return zlib.decompress(data) if codec == ZLIB else data


def content_hash(case_id: str, columns: Mapping[str, JsonValue]) -> bytes:
    """16 bytes that stand for a case: the same id and columns give the same, whatever the order of the columns."""
    return sha256(canonical_json([case_id, columns]).encode("utf-8", "surrogatepass")).digest()[:16]


def clean(text: str) -> str:
    """``text`` as SQLite can store it: a lone surrogate becomes its escape (``\\udc80``)."""
    if text.isascii() or _is_unicode(text):
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def shortened(text: str, limit: int) -> str:
    """At most ``limit`` characters, the last one an ellipsis when something was cut."""
    return clean(text if len(text) <= limit else text[: limit - 1] + "…")


def finite(value: float | None) -> float | None:
    """The number, or None where it is NaN or infinite."""
    return value if value is not None and math.isfinite(value) else None


def integer(value: int | None) -> int | None:
    """The number within what SQLite holds (64 bits), None stays None."""
    return None if value is None else max(-_LARGEST_INTEGER, min(int(value), _LARGEST_INTEGER))


def amount(value: int | None) -> int | None:
    """A number of tokens as an agent reports it, from 0 to 10**12: a million of them can still be added up."""
    return None if value is None else max(0, min(int(value), _LARGEST_AMOUNT))


def price(value: float | None) -> float | None:
    """A cost as an agent reports it, from 0 to 10**12; None for NaN."""
    return None if value is None or math.isnan(value) else max(0.0, min(float(value), _LARGEST_AMOUNT))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _finite(value: JsonValue) -> JsonValue:
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
