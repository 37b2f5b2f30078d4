"""The history as screens read it: in threads of its own, a question at a time, answered with typed messages.

A screen never waits for the disk. It asks once (:meth:`HistoryAccess.read`, awaited in a worker) or watches
(:class:`Watch`): the question is asked again whenever anything was committed, at most as often as the terminal can
take it, and only while the screen is in front. What comes back unchanged draws nothing, so an idle screen sends no
byte to the terminal.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from textual.message import Message

from tui_eval.errors import TaskGone, TuiEvalError, UsageError

if TYPE_CHECKING:
    from textual.screen import Screen

    from tui_eval.store.reader import History

T = TypeVar("T")
Question = Callable[["History"], T]

READERS = 3
"""Threads, each with a connection: a long search does not hold a page of a table."""


class HistoryAccess:
    """Reads the history at ``path`` off the event loop. One for the application; :meth:`close` ends it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="history")
        self._free: queue.SimpleQueue[History] = queue.SimpleQueue()
        self._closed = False

    async def read(self, question: Question[T]) -> T:
        """The answer to a question. Raises HistoryError when the history cannot be read, and what the question raises
        (UsageError for a run that is not there)."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, question)

    async def call(self, work: Callable[[], T]) -> T:
        """Something else that must not hold the keys (a deletion, a command to a runner), in the same threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        """Close the connections; questions that are being answered are waited for (they are short)."""
        self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._free.empty():
            self._free.get().close()

    def _answer(self, question: Question[T]) -> T:
        from tui_eval.store.reader import History

        try:
            history = self._free.get_nowait()
        except queue.Empty:
            history = History(self.path)
        try:
            history.changed()  # a history that was made or replaced since is found by this
            return question(history)
        finally:
            self._free.put(history)


def in_front(screen: Screen[Any]) -> bool:
    """Whether a screen is the one that the user works with.

    The toolkit's ``is_current`` is also true for the screen below, as if it shone through: each change of it would
    send the whole screen in front anew.
    """
    stack = screen.app.screen_stack
    return bool(stack) and stack[-1] is screen


class HistoryTrouble(Message):
    """A question could not be answered. The application shows it; a watch goes on trying.

    ``missing``: the history can be read, but what was asked for is not in it. ``before``: it was there once.
    """

    def __init__(self, text: str, *, missing: bool = False, before: bool = False) -> None:
        super().__init__()
        self.text = text
        self.missing = missing
        self.before = before


class Watch(Generic[T]):
    """A question that is asked again when the history changes, for one screen.

    ``answer`` makes the message that the screen gets. ``every`` is how often, in seconds, it is asked without any
    change (a runner that dies commits nothing). The loop runs in a worker of the screen and ends with it.
    """

    def __init__(
        self,
        screen: Screen[Any],
        access: HistoryAccess,
        question: Question[T],
        answer: Callable[[T], Message],
        *,
        hz: float,
        every: float = 5.0,
    ) -> None:
        self._screen = screen
        self._access = access
        self._question = question
        self._answer = answer
        self._pause = 1.0 / hz
        self._every = every
        self._due = 0.0
        self._again = asyncio.Event()
        self._again.set()
        self._troubled = False
        self._answered = False
        self._own = _OwnHistory(access.path)

    def ask_again(self) -> None:
        """Ask at the next opportunity, whether or not anything was committed (a filter was changed)."""
        self._again.set()

    async def run(self) -> None:
        """The loop; ends when it is cancelled."""
        try:
            while True:
                started = time.monotonic()
                if in_front(self._screen):
                    await self._once()
                await self._wait(self._pause - (time.monotonic() - started))
        finally:
            self._own.close()

    async def _once(self) -> None:
        asked = self._again.is_set() or time.monotonic() >= self._due
        self._again.clear()
        try:
            found = await self._access.call(lambda: self._own.look(self._question, asked))
        except TuiEvalError as error:
            self._again.set()
            if not self._troubled:
                self._troubled = True
                missing = isinstance(error, UsageError | TaskGone)
                self._screen.post_message(HistoryTrouble(str(error), missing=missing, before=self._answered))
            return
        self._troubled = False
        if found is not None:
            self._answered = True
            self._due = time.monotonic() + self._every
            self._screen.post_message(self._answer(found[0]))

    async def _wait(self, seconds: float) -> None:
        """The pause between two looks; ``ask_again`` ends it early, but two looks are never closer than 50 ms."""
        await asyncio.sleep(0.05)
        try:
            await asyncio.wait_for(self._again.wait(), max(0.0, seconds - 0.05))
        except TimeoutError:
            return


class _OwnHistory:
    """The connection of one watch. When the watch ends, a thread may still be reading: closing a connection under it
    would take the whole program down, so then that thread closes it when it is done."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._history: History | None = None
        self._in_use = threading.Lock()
        self._ended = False

    def look(self, question: Question[T], asked: bool) -> tuple[T] | None:
        """In a thread: the answer in a box, None when nothing has changed (or nobody waits for it any more)."""
        from tui_eval.store.reader import History

        try:
            with self._in_use:
                if self._ended:
                    return None
                self._history = self._history or History(self._path)
                if self._history.changed() or asked:
                    return (question(self._history),)
                return None
        finally:
            if self._ended:
                self.close()

    def close(self) -> None:
        """Close the connection, now or as soon as the thread that uses it is done."""
        self._ended = True
        if self._in_use.acquire(blocking=False):
            try:
                if self._history is not None:
                    self._history.close()
                    self._history = None
            finally:
                self._in_use.release()
