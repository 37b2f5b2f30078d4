"""What is kept when something unexpected happens: where it happened, and nothing that a user's data may be in."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator

from tui_eval import __version__

# Their messages speak of code (a missing attribute, a wrong argument). Others may quote data: a header, an address.
_ABOUT_CODE = (AttributeError, ImportError, NameError, NotImplementedError, TypeError)


def write_report(error: BaseException) -> str:
    """Write where ``error`` came from to a new file that only its owner can read; its path, ``""`` if that failed.

    Source lines and class names, no values of variables; messages only of errors that speak of code.
    """
    head = f"tui-eval {__version__}, Python {platform.python_version()}, {sys.platform}\n\n"
    try:
        handle, path = tempfile.mkstemp(prefix=f"tui-eval-{time.strftime('%Y%m%d-%H%M%S')}-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(head + "".join(_describe(error)))
    except OSError:
        return ""
    return path


def _describe(error: BaseException, seen: frozenset[int] = frozenset()) -> Iterator[str]:
    if id(error) in seen:
        return
    seen |= {id(error)}
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _describe(before, seen)
        yield "\nwhich led to:\n\n"
    yield from traceback.format_tb(error.__traceback__)
    message = f": {error}" if isinstance(error, _ABOUT_CODE) else ""
    yield f"{type(error).__module__}.{type(error).__qualname__}{message}\n"
    if isinstance(error, BaseExceptionGroup):
        for number, inner in enumerate(error.exceptions, 1):
            yield f"\n{number} of {len(error.exceptions)} inside:\n\n"
            yield from _describe(inner, seen)
