"""Bytes of a body as text."""

from __future__ import annotations

import codecs
import json
import re
from functools import lru_cache

_CHARSET = re.compile(r"charset\s*=\s*\"?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
# Only encodings of text: Python also knows "zip", "punycode" and others that a server must not be able to start.
_KNOWN = re.compile(
    r"utf-?(8|16|32)(-?(le|be))?|ascii|iso8859-\d+|cp\d+|gbk|gb2312|gb18030|big5\w*|shift_jis\w*|euc_\w+|iso2022_\w+|koi8-\w"
)


@lru_cache(maxsize=64)
def media_type(content_type: str) -> str:
    """``application/json`` of ``Application/JSON; charset=utf-8``."""
    return content_type.partition(";")[0].strip().lower()


def is_json_type(media: str) -> bool:
    return media in ("application/json", "text/json") or media.endswith("+json")


@lru_cache(maxsize=64)
def charset_of(content_type: str) -> str | None:
    """The encoding that the content type names, None if it names none or one that is not known here."""
    found = _CHARSET.search(content_type)
    if found is None:
        return None
    try:
        name = codecs.lookup(found[1]).name
    except LookupError:
        return None
    return name if _KNOWN.fullmatch(name) else None


def decoded_text(body: bytes, content_type: str) -> tuple[str, int]:
    """The text of ``body`` by the charset of its content type (UTF-8 without one), a BOM removed; and how many pieces of
    it are not text in that encoding and stand as U+FFFD."""
    text = body.decode(charset_of(content_type) or "utf-8", "replace")
    wrong = text.count("\ufffd") - body.count(b"\xef\xbf\xbd") if "\ufffd" in text else 0
    return text.removeprefix("\ufeff"), max(0, wrong)


def json_text(body: bytes, content_type: str) -> str:
    """The text of a JSON body: UTF-8, or UTF-16/32 as its first bytes show, or the charset the content type names.

    Raises UnicodeDecodeError.
    """
    encoding = charset_of(content_type)
    if encoding in (None, "utf-8", "ascii"):
        encoding = json.detect_encoding(body)
    return body.decode(encoding or "utf-8")
