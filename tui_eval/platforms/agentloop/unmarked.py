"""Event streams that do not say that they are one: their content type is another, and they begin with ``data:``.

AgentLoop's own client goes by these first characters (contract, section 2), so agents that never set the type work with
it. Here they count only where the user reads events at all, with a ``chunk_extractor``.
"""

from __future__ import annotations

from collections.abc import Callable

from tui_eval.domain import JsonValue, StreamEvent
from tui_eval.solutions.events import EventSink
from tui_eval.solutions.exchange import Collected, Reply

_BEGINNING = b"data:"


class FirstLook:
    """The sink until the first characters are there; then ``reply`` gets the one that fits, and what has come."""

    noun = "byte"

    def __init__(self, reply: Reply, stream: Callable[[], EventSink]) -> None:
        self.done = False
        self.whole = False
        self.events: list[StreamEvent] = []
        self._reply = reply
        self._stream = stream
        self._held = b""

    def feed(self, data: bytes, at: float) -> bool:
        self._held += data
        begun = self._held.lstrip()
        if len(begun) < len(_BEGINNING) and _BEGINNING.startswith(begun):
            return bool(data)
        self._reply.sink = self._stream() if begun.startswith(_BEGINNING) else Collected()
        if isinstance(self._reply.sink, EventSink):
            kind = self._reply.content_type or "none"
            self._reply.notes.append(f"read as an event stream, which it begins like; its content type is {kind}")
        return self._reply.sink.feed(begun if begun.startswith(_BEGINNING) else self._held, at)

    def close(self) -> None:
        return None

    def output(self) -> JsonValue:
        return None
