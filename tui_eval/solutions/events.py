"""The sink for a stream of server-sent events: what the stream as a whole means. What one event means is its taker's.

Rules, for every kind of stream: data ``[DONE]`` ends it and nothing after it counts; an event named ``error`` is the
agent's failure; comments, and events that only keep the connection open, are no progress; a last event without a blank
line after it counts when it is whole.
"""

from __future__ import annotations

from typing import Protocol

from tui_eval.domain import JsonValue, StreamEvent
from tui_eval.errors import Resend, SolutionError
from tui_eval.net.sse import ServerSentEvent, SseParser
from tui_eval.solutions.strict_json import InvalidJson, parse_json
from tui_eval.solutions.wording import agent_message, plural, snippet

KEPT_EVENTS = 2000
"""Events that are kept with their times; the later ones are in the raw body only."""

_HEARTBEATS = frozenset({"ping", "heartbeat", "keepalive", "keep-alive"})


class EventTaker(Protocol):
    """Knows one dialect. ``reads_json`` says whether the data of its events is JSON."""

    reads_json: bool
    whole: bool  # what marks the end of a whole answer has come

    def ends(self, event: ServerSentEvent) -> bool:
        """True for an event that only marks the end: it adds nothing, and nothing after it counts."""
        ...

    def take(self, event: ServerSentEvent) -> None:
        """Use one event. May raise SolutionError (``agent_error``)."""
        ...

    def output(self) -> JsonValue:
        """The output so far, None if there is none."""
        ...


class EventSink:
    """See the module. ``count`` is the number of events (``saw_done``: one of them was ``[DONE]``), ``broken`` of those
    that were not all UTF-8; ``unclosed`` is True when the last one had no blank line."""

    noun = "event"

    def __init__(self, taker: EventTaker, max_event_bytes: int) -> None:
        self.done = False
        self.saw_done = False
        self.events: list[StreamEvent] = []
        self.count = 0
        self.broken = 0
        self.unclosed = False
        self.taker = taker
        self._parser = SseParser(max_event_bytes)
        self._pending = 0
        self._at = 0.0

    @property
    def whole(self) -> bool:
        return self.done or self.taker.whole

    def feed(self, data: bytes, at: float) -> bool:
        self._at = at
        progress = False
        for event in self._parser.feed(data):
            progress = self._take(event) or progress
            if self.done:
                return True
        # The bytes of a long event count as well, those of comments do not.
        pending = self._parser.pending_data
        progress, self._pending = progress or pending > self._pending, pending
        return progress

    def close(self) -> None:
        if self.done:
            return
        for event in self._parser.close():
            if event.cut_character or (self.taker.reads_json and not self._is_whole(event)):
                message = f"stream cut inside an event, which begins: {snippet(event.data, 80)}"
                raise SolutionError("incomplete", message, Resend.MAYBE_RECEIVED)
            self.unclosed = True
            self._take(event)

    def output(self) -> JsonValue:
        return self.taker.output()

    def notes(self) -> list[str]:
        """What a reader should know of how the stream was read."""
        notes = ["the last event had no blank line after it"] if self.unclosed else []
        if self.broken:
            notes.append(f"{plural(self.broken, 'event')} cannot be read as UTF-8: what is wrong stands as \ufffd")
        return notes

    def _take(self, event: ServerSentEvent) -> bool:
        self.count += 1
        self.broken += event.broken
        if len(self.events) < KEPT_EVENTS:
            self.events.append(StreamEvent(self._at, event.event, event.data))
        if event.event == "error":
            raise SolutionError("agent_error", f"the agent says in the stream: {_said(event.data)}")
        if event.data.strip() == "[DONE]":
            self.done = self.saw_done = True
        elif self.taker.ends(event):
            self.done = True
        else:
            self.taker.take(event)
        return bool(event.data) and event.event.lower() not in _HEARTBEATS

    def _is_whole(self, event: ServerSentEvent) -> bool:
        if event.data.strip() == "[DONE]" or self.taker.ends(event):
            return True
        try:
            parse_json(event.data)
        except InvalidJson:
            return False
        return True


def _said(data: str) -> str:
    try:
        document = parse_json(data)
    except InvalidJson:
        return snippet(data) or "error, without words"
    if isinstance(document, dict) and not agent_message(document):
        return agent_message({"error": document}) or snippet(data)
    return agent_message(document) or snippet(data)
