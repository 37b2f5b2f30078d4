"""Keys that come faster than the screens follow: each waits until the one before it has had its effect.

The toolkit hands keys on as they come. A key that is meant for a question that is about to appear would reach the screen
below it: ``R``, enter, ``y`` typed in one go must not copy, cancel or delete anything there. So keys wait while

* the key before has not had its effect yet (it goes up from widget to widget, and so does what is posted for it),
* the screen in front is not composed yet, or gives the focus to another panel,
* an action that asks something (:func:`asks`) is on its way to its question, or between two of them.

What takes longer than :data:`PATIENCE` seconds holds no key any more, and the keys that waited for it are dropped: they
were meant for a question that nobody has seen.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from textual import work
from textual.worker import NoActiveWorker, WorkerState, get_current_worker

if TYPE_CHECKING:
    from textual.app import App
    from textual.events import Key
    from textual.message_pump import MessagePump
    from textual.screen import Screen
    from textual.worker import Worker

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE = 2.0
"""Seconds that keys wait for a question."""
LOOK_SECONDS = 0.02
"""Between two looks whether the keys that wait can go on."""
ROUNDS = 2
"""Ways up from the widget with the focus: the key goes up on the first, what its action posts there on the second."""


def asks(group: str = "ask", *, exclusive: bool = False) -> Callable[..., Callable[..., Worker[Any]]]:
    """``@work`` for an action that asks something before it acts: keys wait for its questions.

    The worker is known from the moment the action is called, also before it has run its first line; from Python 3.12 on
    the toolkit's tasks are eager, and it has run up to its first question when the call returns.
    """

    def decorate(method: Callable[P, Coroutine[None, None, T]]) -> Callable[P, Worker[T]]:
        @wraps(method)
        async def expected(*args: P.args, **kwargs: P.kwargs) -> T:
            _expect(get_current_worker())
            return await method(*args, **kwargs)

        start = work(group=group, exclusive=exclusive)(expected)

        def started(*args: P.args, **kwargs: P.kwargs) -> Worker[T]:
            worker = start(*args, **kwargs)
            if worker.state is WorkerState.PENDING:
                _expect(worker)
            return worker

        started.__name__, started.__doc__ = method.__name__, method.__doc__
        return started

    return decorate


def _expect(worker: Worker[Any]) -> None:
    type_ahead = getattr(worker.node.app, "type_ahead", None)
    if isinstance(type_ahead, TypeAhead):
        type_ahead.expect(worker)


class TypeAhead:
    """The keys of one application on their way to its screens. ``deliver`` gives a key to the toolkit."""

    def __init__(self, app: App[Any], deliver: Callable[[Key], Awaitable[None]]) -> None:
        self._app = app
        self._deliver = deliver
        self._keys: deque[Key] = deque()
        self._waiting_since = 0.0
        self._looking = False
        self._turn = 0
        self._at: MessagePump | None = None  # where the way up of the last key has come to; None: it is over
        self._asking: dict[Worker[Any], Screen[Any] | None] = {}  # and the question that each has shown

    @property
    def waiting(self) -> int:
        """How many keys wait."""
        return len(self._keys)

    # -- questions --

    def expect(self, worker: Worker[Any]) -> None:
        """This worker will ask something: keys wait until it has, or has ended."""
        self._asking.setdefault(worker, None)

    @contextmanager
    def asking(self, question: Screen[Any]) -> Iterator[None]:
        """In a worker: it asks this question now; when it is answered it may ask another one."""
        worker = get_current_worker()
        if worker in self._asking:
            self._asking[worker] = question
        try:
            yield
        finally:
            if worker in self._asking:
                self._asking[worker] = None

    def asks_no_more(self) -> None:
        """In a worker: it asks nothing more, and does what it was answered."""
        with suppress(NoActiveWorker):
            self._asking.pop(get_current_worker(), None)

    # -- keys --

    async def take(self, key: Key) -> None:
        """A key was pressed. It is delivered now, or when those before it and what they began let it."""
        if not self._keys:
            self._waiting_since = time.monotonic()
        self._keys.append(key)
        await self._go_on()

    async def _go_on(self) -> None:
        while self._keys and self._at is None and self._app.is_running:
            if self._question_is_coming():
                if time.monotonic() - self._waiting_since < PATIENCE:
                    break
                self._keys.clear()
                self._asking.clear()
                return
            key = self._keys.popleft()
            self._waiting_since = time.monotonic()
            self._turn += 1
            self._at = start = self._app.focused or self._app.screen
            await self._deliver(key)
            self._climb(self._turn, start, start, ROUNDS)
        if self._keys and not self._looking:
            self._looking = True
            self._app.set_timer(LOOK_SECONDS, self._look)

    async def _look(self) -> None:
        self._looking = False
        if self._at is not None and self._at._closing:
            self._arrive(self._turn)  # the widget went away with what it had before it
        await self._go_on()

    def _climb(self, turn: int, start: MessagePump, at: MessagePump, rounds: int) -> None:
        """Wait behind all that waits at ``at``, then one step up; at the top once more from the start, or done."""
        if turn != self._turn:
            return
        self._at = at
        top = at is self._app
        above, left = (start, rounds - 1) if top else (at._parent or self._app, rounds)
        step = partial(self._climb, turn, start, above, left) if left else partial(self._arrive_and_go_on, turn)
        if not at.call_later(step):
            self._arrive(turn) if top else self._climb(turn, start, above, left)

    async def _arrive_and_go_on(self, turn: int) -> None:
        self._arrive(turn)
        await self._go_on()

    def _arrive(self, turn: int) -> None:
        if turn == self._turn:
            self._turn += 1
            self._at = None

    def _question_is_coming(self) -> bool:
        self._asking = {worker: shown for worker, shown in self._asking.items() if not worker.is_finished}
        front = self._app.screen
        if not front.is_mounted or getattr(front, "focus_is_coming", False):
            return True
        return not all(self._is_shown(shown) for shown in self._asking.values())

    def _is_shown(self, question: Screen[Any] | None) -> bool:
        return question is not None and question in self._app.screen_stack and question.is_mounted
