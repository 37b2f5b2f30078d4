"""Names of requests as names of files and folders."""

from __future__ import annotations

import hashlib
import re

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LOOKS_HASHED = re.compile(r".*-[0-9a-f]{10}", re.DOTALL)
_LONGEST = 80


def safe_name(name: str) -> str:
    """``name`` as a file name: letters, digits, ``.``, ``_`` and ``-``, at most 91 characters.

    Different names give different file names: a name that had to be changed (and one that looks as if it had been)
    gets ten digits of a hash of the name behind it.
    """
    safe = _UNSAFE.sub("_", name).strip("._-")[:_LONGEST] or "request"
    if safe == name and not _LOOKS_HASHED.fullmatch(name):
        return name
    return f"{safe}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"
