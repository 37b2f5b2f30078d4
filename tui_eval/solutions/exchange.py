"""One exchange with a server: send, receive under the limits, and turn whatever breaks into an error with words.

What a body means is not decided here: a :class:`Sink` takes its bytes as they come.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Protocol

import httpx

from tui_eval.domain import Answer, JsonValue, StreamEvent, Usage
from tui_eval.errors import Resend, SolutionError
from tui_eval.net.decoding import Decoders, EncodingError, TooLong, decoder_for
from tui_eval.net.failures import Failure, failure_of
from tui_eval.net.sse import EventTooLong
from tui_eval.net.trace import TraceContext, trace_id_from, usable_trace_id
from tui_eval.net.transport import DeadlineExceeded, Transport
from tui_eval.solutions.base import CallContext, Limits
from tui_eval.solutions.body_text import decoded_text
from tui_eval.solutions.statuses import status_error
from tui_eval.solutions.strict_json import InvalidJson, parse_json
from tui_eval.solutions.wording import plural, seconds

ERROR_BODY_BYTES = 64 * 1024
"""How much of an error's body is read, and how much of a too long answer is kept."""
DRAIN_SECONDS = 0.02
"""How long to wait for the end of a body whose answer is already whole, so that its connection can be used again."""
DRAIN_PIECES = 4


class Sink(Protocol):
    """Takes the body of one answer, decoded, in pieces."""

    done: bool  # the answer is whole; what still comes does not count
    noun: str  # what it counts: ``byte`` or ``event``
    events: list[StreamEvent]

    @property
    def whole(self) -> bool:
        """True when nothing is missing if the connection ends now."""
        ...

    def feed(self, data: bytes, at: float) -> bool:
        """Take a piece that came ``at`` seconds; True if it is progress. May raise SolutionError (the agent's own)."""
        ...

    def close(self) -> None:
        """The body ended, for whatever reason; take what was still held back. May raise SolutionError."""
        ...

    def output(self) -> JsonValue:
        """The output so far, None if there is none."""
        ...


class Collected:
    """The sink for a body that is read as a whole: the reply keeps the bytes, nothing else is done with them."""

    noun = "byte"

    def __init__(self, at_most: int | None = None, whole: bool = False) -> None:
        self.done = False
        self.whole = whole
        self.events: list[StreamEvent] = []
        self._left = at_most

    @classmethod
    def of_refusal(cls) -> Collected:
        """For a bad status or a redirect: the status is the answer, however its body ends."""
        return cls(ERROR_BODY_BYTES, whole=True)

    @classmethod
    def of_redirect(cls) -> Collected:
        """For a redirect that is followed: nothing in its body counts, and nobody waits for it."""
        sink = cls(0, whole=True)
        sink.done = True
        return sink

    def feed(self, data: bytes, at: float) -> bool:
        if self._left is not None:
            self._left -= len(data)
            self.done = self._left <= 0
        return bool(data)

    def close(self) -> None:
        return None

    def output(self) -> JsonValue:
        return None


@dataclass(slots=True)
class Reply:
    """What has come back so far. ``started`` is loop time; ``received`` counts bytes on the wire, before decoding.
    ``by_name`` has the headers by lower-case name; of several with one name the last."""

    started: float
    trace_id: str
    place: str
    status: int | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)
    by_name: dict[str, str] = field(default_factory=dict)
    first_byte_seconds: float | None = None
    received: int = 0
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0
    truncated: bool = False
    encoding: str = ""
    encoding_cut: bool = False
    sink: Sink = field(default_factory=Collected)
    notes: list[str] = field(default_factory=list)
    detail: dict[str, JsonValue] = field(default_factory=dict)

    def head(self, response: httpx.Response) -> None:
        """Take status and headers."""
        self.status = response.status_code
        self.headers = [(name.decode("latin-1"), _header_text(value)) for name, value in response.headers.raw]
        self.by_name = {name.lower(): value for name, value in self.headers}

    @property
    def content_type(self) -> str:
        return self.by_name.get("content-type", "")

    def body(self) -> bytes:
        return b"".join(self.pieces)

    def answer(self, output: JsonValue = None, usage: Usage | None = None, finish_reason: str = "") -> Answer:
        return Answer(
            output=output,
            raw=decoded_text(self.body(), self.content_type)[0],
            raw_truncated=self.truncated,
            status_code=self.status,
            content_type=self.content_type,
            headers=self.headers,
            events=self.sink.events,
            usage=usage,
            finish_reason=finish_reason,
            trace_id=trace_id_from(self.by_name) or self.trace_id,
            first_byte_seconds=self.first_byte_seconds,
            notes=self.notes,
            detail=self.detail,
        )

    def again(self, request: httpx.Request) -> Reply:
        """The reply to a request that follows this one in the same attempt."""
        following = Reply(self.started, self.trace_id, _place(request.url))
        following.detail = self.detail
        return following


def begin(request: httpx.Request, trace: TraceContext) -> Reply:
    """An empty reply to ``request``; its trace id is the one sent, which may be the user's own."""
    sent = next((value for name, value in request.headers.raw if name.lower() == b"traceparent"), b"")
    parts = sent.decode("latin-1").split("-")
    theirs = usable_trace_id(parts[1]) if len(parts) > 2 and parts[1] != trace.trace_id else None
    return Reply(asyncio.get_running_loop().time(), theirs or trace.trace_id, _place(request.url))


def _place(url: httpx.URL) -> str:
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{host}:{url.port or (443 if url.scheme == 'https' else 80)}"


async def exchange(
    transport: Transport,
    request: httpx.Request,
    reply: Reply,
    context: CallContext,
    *,
    max_bytes: int,
    sink_for: Callable[[Reply], Sink],
) -> None:
    """Send ``request`` and fill ``reply`` to the end of the body, or to where its sink is done.

    ``sink_for`` is asked once the head is there. ``max_bytes`` bounds the decoded body. Raises SolutionError with what
    was received as its ``partial``; cancellation closes the connection.
    """
    limits = context.limits
    deadline = None if limits.total is None else reply.started + limits.total
    try:
        response = await _head(transport, request, reply, context, deadline)
        try:
            await _body(response, reply, context, deadline, max_bytes, sink_for)
        finally:
            await response.stream.aclose()  # type: ignore[union-attr]
    except SolutionError as error:
        if error.partial is None:
            error.partial = partial(reply)
        raise


def bad_answer(reply: Reply, message: str, *, kind: str = "bad_answer", resend: Resend = Resend.NEVER) -> SolutionError:
    """The error of a body that is no usable answer, with what was received."""
    return SolutionError(kind, message, resend, partial=partial(reply))


def refused(reply: Reply) -> SolutionError:
    """The error of a status of 400 or above."""
    text = decoded_text(reply.body(), reply.content_type)[0]
    try:
        document = parse_json(text)
    except InvalidJson:
        document = None
    error = status_error(reply.status or 0, reply.by_name, document, text)
    error.partial = partial(reply)
    return error


def partial(reply: Reply) -> Answer:
    """What was received, for reading only."""
    return reply.answer(reply.sink.output())


async def _head(
    transport: Transport, request: httpx.Request, reply: Reply, context: CallContext, deadline: float | None
) -> httpx.Response:
    limits = context.limits
    try:
        response = await transport.send(request, connect=limits.connect, deadline=deadline, on_phase=context.on_phase)
    except DeadlineExceeded as error:
        what = "no response" if error.connected else f"no connection to {reply.place}"
        resend = Resend.MAYBE_RECEIVED if error.connected else Resend.UNSENT
        raise SolutionError("timed_out", f"timed out: total {_limit(limits.total)} ({what})", resend) from error
    except httpx.ConnectTimeout as error:
        message = f"timed out: connect {_limit(limits.connect)} ({reply.place} did not accept the connection in time)"
        raise SolutionError("timed_out", message, Resend.UNSENT) from error
    except httpx.TransportError as error:
        failure = failure_of(error, reply.place, proxy=transport.proxy_place(request.url))
        raise _connection_error(failure) from error
    except (OSError, ValueError) as error:
        raise SolutionError("argument", f"no way to {reply.place}: {_own_words(error)}") from error
    reply.head(response)
    reply.first_byte_seconds = asyncio.get_running_loop().time() - reply.started
    return response


async def _body(
    response: httpx.Response,
    reply: Reply,
    context: CallContext,
    deadline: float | None,
    max_bytes: int,
    sink_for: Callable[[Reply], Sink],
) -> None:
    limits = context.limits
    loop = asyncio.get_running_loop()
    if "content-encoding" in reply.by_name:  # repeated, it is one list (RFC 9110, section 5.3)
        reply.encoding = ", ".join(value for name, value in reply.headers if name.lower() == "content-encoding")
    reply.sink = sink_for(reply)
    by_idle = False
    # One iterator for all: a dropped one would close the connection while another still reads from it.
    pieces = aiter(response.stream)  # type: ignore[arg-type]
    whole_by_its_head = reply.sink.done
    if whole_by_its_head:
        await _drain(pieces)
        return
    try:
        decoder = decoder_for(reply.encoding) if reply.encoding else None
        first = _sooner(deadline, loop.time(), limits.idle)
        async with asyncio.timeout_at(first) as timer:
            by_idle = first != deadline
            async for piece in pieces:
                now = loop.time()
                progress = _take(piece, reply, decoder, max_bytes, now)
                if reply.sink.done:
                    break
                if progress and limits.idle is not None and not timer.expired():
                    until = _sooner(deadline, now, limits.idle)
                    by_idle = until != deadline
                    timer.reschedule(until)
        reply.encoding_cut = decoder is not None and not decoder.whole and not reply.sink.done
        if reply.sink.done:
            await _drain(pieces)
    except TimeoutError as error:
        _broken(reply, _timed_out(reply, limits, by_idle), error)
    except httpx.TransportError as error:
        failure = failure_of(error, reply.place, reply.received, streamed=reply.sink.noun == "event")
        _broken(reply, _connection_error(failure), error)
    except EncodingError as error:
        message = f"{error}, {plural(reply.received, 'byte')} received" if reply.received else str(error)
        _broken(reply, SolutionError("bad_answer", message), error)
    except (TooLong, EventTooLong) as error:
        reply.truncated = True
        reply.pieces = [reply.body()[:ERROR_BODY_BYTES]]
        message = f"the answer is longer than max_response_bytes ({max_bytes}); the connection was closed"
        _broken(reply, SolutionError("bad_answer", message), error)
    reply.sink.close()


def _take(piece: bytes, reply: Reply, decoder: Decoders | None, max_bytes: int, now: float) -> bool:
    reply.received += len(piece)
    if decoder is not None:
        try:
            piece = decoder.decode(piece, max_bytes - reply.size)
        except EncodingError:
            if not reply.size:
                reply.pieces.append(piece[:ERROR_BODY_BYTES])  # it was not encoded at all: people can read it
            raise
    reply.size += len(piece)
    reply.pieces.append(piece)
    if reply.size > max_bytes:
        raise TooLong
    return reply.sink.feed(piece, now - reply.started)


def _broken(reply: Reply, error: SolutionError, cause: Exception) -> None:
    """The body did not end well. That is an error, unless everything that matters had come."""
    if reply.sink.whole:
        reply.notes.append(f"after the end of the answer: {error}")
        return
    # A stream that its sink finds cut is what ``error`` says already, and better.
    with contextlib.suppress(SolutionError):
        reply.sink.close()
    raise error from cause


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Give a body that is as good as over the chance to end. What comes is thrown away."""
    # When it does not end in time, or breaks, the answer is whole all the same; only the connection is not kept.
    with contextlib.suppress(TimeoutError, httpx.TransportError):
        async with asyncio.timeout(DRAIN_SECONDS):
            for _ in range(DRAIN_PIECES):
                if await anext(pieces, None) is None:
                    return


def _timed_out(reply: Reply, limits: Limits, by_idle: bool) -> SolutionError:
    noun = reply.sink.noun
    if by_idle:
        total = f"; total limit {_limit(limits.total)}" if limits.total is not None else ""
        text = f"timed out: idle {_limit(limits.idle)} (no {noun} for {_limit(limits.idle)}{total})"
    else:
        count = len(reply.sink.events) if noun == "event" else reply.received
        text = f"timed out: total {_limit(limits.total)} ({plural(count, noun)} received)"
    return SolutionError("timed_out", text, Resend.MAYBE_RECEIVED)


def _connection_error(failure: Failure) -> SolutionError:
    resend = Resend.UNSENT if failure.unsent else Resend.MAYBE_RECEIVED
    return SolutionError("connection", failure.message, Resend.NEVER if failure.permanent else resend)


def _header_text(value: bytes) -> str:
    """A header's value: UTF-8, as servers write what is not ASCII, else Latin-1 (RFC 9110, section 5.5)."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _own_words(error: OSError | ValueError) -> str:
    """Certificate files that cannot be read, a proxy address that cannot be used."""
    if isinstance(error, OSError):
        file = f"{error.filename}: " if error.filename else ""
        return f"a file of `tls` cannot be used: {file}{error.strerror or 'not a PEM file'}"
    return str(error)


def _sooner(deadline: float | None, now: float, idle: float | None) -> float | None:
    if idle is None:
        return deadline
    return now + idle if deadline is None else min(deadline, now + idle)


def _limit(value: float | None) -> str:
    return "none" if value is None else seconds(value)
