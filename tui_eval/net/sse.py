"""Server-sent events, read as the WHATWG text says (HTML Living Standard, section 9.2.6), plus a final flush.

``httpx-sse`` 0.4.3 was tried first and not taken: it loses an event that is not followed by a blank line, keeps a BOM in
the first field name, holds a line back that ends in CR until the next bytes come, does not bound an event's size, and
does not show comments, which a limit on silence has to tell from events.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_EVENT_BYTES = 16 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class EventTooLong(ValueError):
    """One event is longer than the parser's limit."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event. ``event`` is ``message`` when the stream named none, ``id`` the last id seen, ``retry`` milliseconds.

    ``complete`` is False for a last event that no blank line followed: it may be cut. ``cut_character`` is True when
    such an event ends inside a UTF-8 character (it is then certainly cut). ``broken`` is True when something in its
    data was not UTF-8 and stands as U+FFFD.
    """

    data: str
    event: str = "message"
    id: str = ""
    retry: int | None = None
    complete: bool = True
    cut_character: bool = False
    broken: bool = False


class SseParser:
    """Bytes in any pieces in, events out. One parser reads one stream.

    Only CR, LF and CRLF end a line (U+2028, U+0085 and the like are text), also when a CR and its LF come in different
    pieces. Lines are split as bytes and decoded one by one, so a character cut by the network is whole again.
    ``comments`` counts comment lines; ``pending_data`` is the number of bytes of data of the event being received.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.comments = 0
        self._max = max_event_bytes
        self._line: list[bytes] = []  # pieces of the line that has not ended yet
        self._line_bytes = 0
        self._started = False
        self._skip_lf = False
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._event = ""
        self._id = ""
        self._retry: int | None = None

    @property
    def pending_data(self) -> int:
        pending = self._data_bytes
        if self._line and b"".join(self._line[:8])[:5] == b"data:":
            pending += self._line_bytes
        return pending

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that ``chunk`` completes, in order. Raises :class:`EventTooLong`."""
        if not self._started:
            chunk = self._without_bom(chunk)
        if not chunk:
            return []
        if self._skip_lf:
            self._skip_lf = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._skip_lf = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *rest = chunk.split(b"\n")
        self._line.append(first)
        self._line_bytes += len(first)
        self._check_size()
        events: list[ServerSentEvent] = []
        for following in rest:
            self._take_line(b"".join(self._line), events)
            self._line, self._line_bytes = [following], len(following)
            self._check_size()
        return events

    def close(self) -> list[ServerSentEvent]:
        """The event that the end of the stream left open, if it has data (one event, ``complete`` False)."""
        events: list[ServerSentEvent] = []
        line = b"".join(self._line)
        self._line, self._line_bytes = [], 0
        if line:
            self._take_line(line, events)
        if not self._data:
            return []
        cut = bool(line) and _ends_inside_a_character(line)
        return [self._dispatch(complete=False, cut_character=cut)]

    def _without_bom(self, chunk: bytes) -> bytes:
        """Hold the first bytes back until it is known whether they are a BOM."""
        start = b"".join(self._line) + chunk
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._line = [start]
            return b""
        self._started = True
        self._line = []
        return start.removeprefix(_BOM)

    def _check_size(self) -> None:
        if self._line_bytes + self._data_bytes > self._max:
            raise EventTooLong(f"an event is longer than {self._max} bytes")

    def _take_line(self, line: bytes, events: list[ServerSentEvent]) -> None:
        if not line:
            if self._data:
                events.append(self._dispatch())
            self._event = ""
            return
        name, colon, value = line.partition(b":")
        if colon and not name:
            self.comments += 1
            return
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._data_bytes += len(value) + 1
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 16:
            self._retry = int(value)

    def _dispatch(self, complete: bool = True, cut_character: bool = False) -> ServerSentEvent:
        data, broken = b"\n".join(self._data), False
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text, broken = data.decode("utf-8", "replace"), True
        event = ServerSentEvent(
            data=text,
            event=self._event or "message",
            id=self._id,
            retry=self._retry,
            complete=complete,
            cut_character=cut_character,
            broken=broken,
        )
        self._data, self._data_bytes, self._event = [], 0, ""
        return event


def _ends_inside_a_character(line: bytes) -> bool:
    """True when the last bytes are the beginning of a UTF-8 character whose rest is missing."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return False
