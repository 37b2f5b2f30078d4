"""An agent behind an HTTP endpoint: JSON, text or server-sent events.

What makes an output:

* JSON: the value at ``output_extractor``, or the whole body. Missing is an error that names the keys that are there;
  null is an error unless ``allow_null``; ``""``, ``0``, ``false``, ``[]`` and ``{}`` are outputs like any other.
* events: the texts at ``chunk_extractor`` of each event, joined as they are (numbers and truth values as JSON); events
  without it add nothing and are counted in a note. Without ``chunk_extractor``: the data of the events, joined.
* text: the body, when there is no extractor and the content type is not JSON.

``auto`` goes by the content type and never by what a body looks like, with one kindness: where JSON is expected, a body
of another type (but HTML) is accepted if it is JSON.
"""

from __future__ import annotations

from typing import Any

from tui_eval.domain import Answer
from tui_eval.net.trace import TraceContext
from tui_eval.net.transport import Transport
from tui_eval.solutions.base import CallContext, Limits, SolutionSetup
from tui_eval.solutions.body_text import is_json_type, media_type
from tui_eval.solutions.chunks import ChunkTaker, StreamRules, whole_text
from tui_eval.solutions.connecting import transport_for
from tui_eval.solutions.documents import HTML_TYPES, DocumentRules, read_document
from tui_eval.solutions.events import EventSink
from tui_eval.solutions.exchange import Collected, Reply, Sink, bad_answer, begin, exchange, refused
from tui_eval.solutions.outgoing import Outgoing, host_of, outgoing, to_httpx
from tui_eval.solutions.redirects import leads_on, next_request
from tui_eval.spec.rendered import Rendered
from tui_eval.spec.solution_options import HttpOptions


class HttpSolution:
    """See the module. Connections are kept between calls and closed by :meth:`aclose`."""

    def __init__(self, options: HttpOptions, setup: SolutionSetup) -> None:
        """Raises SpecError for an extractor that is not JMESPath."""
        self._options = options
        self._setup = setup
        self._documents = DocumentRules.of(options)
        self._streams = StreamRules.of(options)
        self._transport: Transport | None = None

    async def call(self, request: Rendered, context: CallContext) -> Answer:
        """One attempt. Raises SolutionError."""
        options = self._options
        message = to_httpx(self._outgoing(request.sent, context))
        if self._transport is None:
            self._transport = transport_for(options, self._setup)
        reply = begin(message, context.trace)
        while True:
            await exchange(
                self._transport,
                message,
                reply,
                context,
                max_bytes=options.max_response_bytes,
                sink_for=lambda reply: self._sink(reply, context),
            )
            if not 300 <= (reply.status or 0) < 400:
                break
            message = next_request(message, reply, options.follow_redirects)
            reply = reply.again(message)
        if (reply.status or 0) >= 400:
            raise refused(reply)
        if isinstance(reply.sink, EventSink):
            return self._from_events(reply, reply.sink)
        output, usage, finish_reason = read_document(reply, self._documents, message.method)
        return reply.answer(output, usage, finish_reason)

    def host(self, request: Rendered) -> str | None:
        return host_of(str(request.sent.get("url", "")))

    def preview(self, request: Rendered) -> dict[str, Any]:
        return self._outgoing(request.shown, None).preview()

    def check(self, request: Rendered) -> None:
        """Raises SolutionError for what :meth:`call` could not send; sends nothing."""
        to_httpx(self._outgoing(request.sent, CallContext(Limits(), TraceContext.new())))

    async def aclose(self) -> None:
        if self._transport is not None:
            await self._transport.aclose()

    def _outgoing(self, fields: Any, context: CallContext | None) -> Outgoing:
        options = self._options
        trace = context.trace if context else None
        return outgoing(options.method, fields, trace, json_body=options.body is not None)

    def _sink(self, reply: Reply, context: CallContext) -> Sink:
        """What takes the body, once its status and content type are known."""
        status = reply.status or 0
        if status >= 300:
            followed = leads_on(status, self._options.method, self._options.follow_redirects)
            return Collected.of_redirect() if followed and "location" in reply.by_name else Collected.of_refusal()
        response, media = self._options.response, media_type(reply.content_type)
        if response in ("json", "text") or (response == "auto" and media != "text/event-stream"):
            return Collected()
        if response == "sse" and (is_json_type(media) or media in HTML_TYPES):
            return Collected()  # certainly no stream; the body is quoted in the error
        context.on_phase("streaming")
        return EventSink(ChunkTaker(self._streams), self._options.max_response_bytes)

    def _from_events(self, reply: Reply, sink: EventSink) -> Answer:
        taker = sink.taker
        assert isinstance(taker, ChunkTaker)
        if self._documents.extractor is not None and self._streams.text is None:
            message = "the answer is an event stream, but only output_extractor is set; set chunk_extractor"
            raise bad_answer(reply, message)
        output = whole_text(reply, sink, taker)
        return reply.answer(output, taker.usage, taker.finish_reason)
