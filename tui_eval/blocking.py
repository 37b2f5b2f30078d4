"""A coroutine from a program that has no event loop: what the blocking doors of the Python API have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from tui_eval.errors import UsageError

Result = TypeVar("Result")


def blocking(name: str, work: Coroutine[Any, Any, Result]) -> Result:
    """Run ``work`` to its end. ``name`` is the function that was called; ``async_`` before it names the coroutine.

    Raises UsageError where an event loop is running: it would stand still until the end of the run.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    work.close()
    raise UsageError(f"{name} blocks and there is a running event loop: await async_{name} instead")
