"""Of several processes that would report the same run, one does."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def reporting_lock(history: Path, run_id: str) -> Iterator[bool]:
    """True while this process is the one that reports ``run_id``; False when another one is. A killed process lets go."""
    place = history.with_name(f"{history.name}.{run_id}.reporting")
    descriptor = _taken(place)
    if descriptor is None:
        yield False
        return
    try:
        yield True
    finally:
        place.unlink(missing_ok=True)
        os.close(descriptor)


def _taken(place: Path) -> int | None:
    while True:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), place.stat()):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except FileNotFoundError:
            pass  # the one before us took it away when it ended: make it anew
        os.close(descriptor)
