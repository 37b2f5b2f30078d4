"""The HTTP side of the embedded agent: one connection at a time, just enough of HTTP/1.1, nothing but asyncio.

A server that can also misbehave on purpose (hang, drip, flood, cut an answer) is hard to get from a framework.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from tui_eval.demo.replies import Reply, response_reply

if TYPE_CHECKING:
    from tui_eval.demo.agent import CallLog

_MAX_HEAD = 64 * 1024
_MAX_BODY = 64 * 1024 * 1024


class Service(Protocol):
    """What answers the calls of all connections."""

    calls: CallLog
    connections: set[Connection]

    def reply(self, method: str, target: str, headers: dict[str, str], raw: bytes) -> Reply: ...


class Malformed(ValueError):
    """A request that is not HTTP as this server reads it."""


class Connection(asyncio.Protocol):
    """One connection: calls one after the other, each answered by :meth:`Service.reply`."""

    def __init__(self, service: Service, loop: asyncio.AbstractEventLoop) -> None:
        self.service = service
        self.loop = loop
        self.transport: asyncio.Transport | None = None
        self.buffer = b""
        self.busy = False
        self.continued = False
        self.flood = b""
        self.paused = False
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        calls = self.service.calls
        calls.connections += 1
        calls.open += 1
        calls.open_peak = max(calls.open_peak, calls.open)
        self.service.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.service.connections.discard(self)
        self.service.calls.open -= 1
        if self.busy:
            self.service.calls.in_flight -= 1
        if self.timer is not None:
            self.timer.cancel()
        self.transport = None
        self.flood = b""

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.busy:
            self.take_request()

    def take_request(self) -> None:
        try:
            taken = self._request()
            if taken is None or self.transport is None:
                return
            method, target, headers, body = taken
            self.busy = True
            self.continued = False
            calls = self.service.calls
            calls.in_flight += 1
            calls.in_flight_peak = max(calls.in_flight_peak, calls.in_flight)
            calls.first_at = calls.first_at or self.loop.time()
            reply = self.service.reply(method, target, headers, body)
        except (ValueError, TypeError, OverflowError, RecursionError) as problem:
            if not self.busy:
                self.busy = True
                self.service.calls.in_flight += 1
            reply = Reply(response_reply(400, {"error": {"message": str(problem)}}).parts, ending="close")
        self.send(reply)

    def _request(self) -> tuple[str, str, dict[str, str], bytes] | None:
        """The next whole request in the buffer, None while it is not there yet."""
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self.buffer) > _MAX_HEAD:
                raise Malformed("the head of the request is too long")
            return None
        lines = self.buffer[:end].decode("latin-1").split("\r\n")
        words = lines[0].split(" ")
        if len(words) != 3:
            raise Malformed(f"not an HTTP request: {lines[0][:80]}")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        if "expect" in headers and not self.continued and self.transport is not None:
            self.continued = True
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = self._take_body(headers, end + 4)
        return None if body is None else (words[0], words[1], headers, body)

    def _take_body(self, headers: dict[str, str], start: int) -> bytes | None:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return self._take_chunks(start)
        length = int(headers.get("content-length", "0"))
        if not 0 <= length <= _MAX_BODY:
            raise Malformed(f"a body of {length} bytes is not accepted")
        if len(self.buffer) < start + length:
            return None
        body, self.buffer = self.buffer[start : start + length], self.buffer[start + length :]
        return body

    def _take_chunks(self, position: int) -> bytes | None:
        body = b""
        while True:
            line = self.buffer.find(b"\r\n", position)
            if line < 0:
                return None
            size = int(self.buffer[position:line].split(b";")[0], 16)
            if not 0 <= size + len(body) <= _MAX_BODY:
                raise Malformed("the body is too long")
            end = line + 2 + size + 2
            if len(self.buffer) < end:
                return None
            body += self.buffer[line + 2 : line + 2 + size]
            position = end
            if size == 0:
                self.buffer = self.buffer[position:]
                return body

    def send(self, reply: Reply) -> None:
        if reply.ending == "hang":
            return
        if reply.delay_ms > 0:
            self.timer = self.loop.call_later(reply.delay_ms / 1000, self.send_parts, reply)
        else:
            self.send_parts(reply)

    def send_parts(self, reply: Reply, index: int = 0) -> None:
        """Send the parts from ``index`` on: all at once, or one now and the next one after the gap."""
        if self.transport is None:
            return
        if reply.gap_ms <= 0:
            self.transport.write(b"".join(reply.parts[index:]))
            self.finish(reply)
        elif index < len(reply.parts):
            self.transport.write(reply.parts[index])
            self.timer = self.loop.call_later(reply.gap_ms / 1000, self.send_parts, reply, index + 1)
        else:
            self.finish(reply)

    def finish(self, reply: Reply) -> None:
        if self.transport is None:
            return
        if reply.ending == "flood":
            self.flood = reply.parts[-1]
            self.pour()
            return
        self.busy = False
        self.service.calls.in_flight -= 1
        self.service.calls.last_at = self.loop.time()
        if reply.ending == "close":
            self.transport.close()
        elif self.buffer:
            self.loop.call_soon(self.take_request)

    def pour(self) -> None:
        """Parts of an endless answer, for as long as the caller takes them."""
        if self.transport is not None and self.flood and not self.paused:
            self.transport.write(self.flood)
            self.timer = self.loop.call_later(0.001, self.pour)

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        self.pour()
