"""A model behind an OpenAI-compatible chat completions endpoint, streamed or not.

The output is the text of the message: ``content`` as a text, or the texts of its parts joined. A message without text
that calls tools gives ``""`` with a note; one that is a refusal gives the refusal's text with a note; a message that
has neither is an error. Tool calls, refusal and reasoning are in the answer's ``detail`` (``tool_calls``, ``refusal``,
``reasoning``). A stream is whole when a finish reason or ``[DONE]`` came. A finish reason other than ``stop`` and
``tool_calls`` (``length``, ``content_filter``) is noted. The first choice counts.

A server that answers a streamed call with JSON, or a plain one with events, is understood all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_eval.domain import Answer, JsonValue, as_text
from tui_eval.errors import Fault, SpecError
from tui_eval.net.trace import TraceContext
from tui_eval.net.transport import Transport
from tui_eval.solutions.base import CallContext, Limits, SolutionSetup
from tui_eval.solutions.body_text import media_type
from tui_eval.solutions.chat_message import DeltaTaker, answer_of_choice, answer_of_stream
from tui_eval.solutions.connecting import transport_for
from tui_eval.solutions.documents import json_document
from tui_eval.solutions.events import EventSink
from tui_eval.solutions.exchange import Collected, Reply, Sink, bad_answer
from tui_eval.solutions.outgoing import Outgoing, host_of, outgoing, to_httpx
from tui_eval.solutions.sending import reply_to
from tui_eval.spec.evaluator_options import JudgeOptions
from tui_eval.spec.rendered import Rendered
from tui_eval.spec.solution_options import ChatOptions

_COMPLETIONS = "/chat/completions"
_NOT_PARAMS = ("model", "messages", "stream")


def chat_options_for(judge: JudgeOptions) -> ChatOptions:
    """The options of a chat solution that talks to a judge's model; its messages come with :meth:`request_for`."""
    return ChatOptions(
        base_url=judge.base_url,
        model=judge.model,
        api_key=judge.api_key,
        messages=[],
        params=judge.params,
        headers=judge.headers,
        proxy=judge.proxy,
        tls=judge.tls,
    )


class ChatSolution:
    """See the module. Connections are kept between calls and closed by :meth:`aclose`."""

    def __init__(self, options: ChatOptions, setup: SolutionSetup) -> None:
        """Raises SpecError for ``params`` that are options of their own."""
        self._options = options
        self._setup = setup
        self._transport: Transport | None = None
        faults = [
            Fault(f"`{name}` is an option of its own", path=f"solution.params.{name}", hint=f"move it to `{name}`")
            for name in _NOT_PARAMS
            if name in options.params
        ]
        if faults:
            raise SpecError(faults)

    def request_for(self, messages: list[dict[str, Any]]) -> Rendered:
        """A request with ``messages`` as they are, for callers without a case (a judge). The other fields are those of
        the options, with the values of ``${NAME}`` in place in ``sent``."""
        shown = {
            "base_url": self._options.base_url,
            "model": self._options.model,
            "api_key": self._options.api_key,
            "params": self._options.params,
            "headers": self._options.headers,
        }
        sent = {name: _resolved(value, self._setup) for name, value in shown.items()}
        return Rendered(
            sent={**sent, "messages": messages},
            shown={**shown, "messages": messages},
            case_id="",
            case_input={},
        )

    async def call(self, request: Rendered, context: CallContext) -> Answer:
        """One attempt. Raises SolutionError."""
        message = to_httpx(self._outgoing(request.sent, context))
        if self._transport is None:
            self._transport = transport_for(self._options, self._setup)
        most = self._options.max_response_bytes
        reply = await reply_to(message, self._transport, context, max_bytes=most, sink_for=self._sink)
        if isinstance(reply.sink, EventSink):
            return answer_of_stream(reply, reply.sink)
        if not reply.size:
            raise bad_answer(reply, f"empty body (HTTP {reply.status})")
        return answer_of_choice(reply, json_document(reply))

    def host(self, request: Rendered) -> str | None:
        return host_of(str(request.sent.get("base_url", "")))

    def preview(self, request: Rendered) -> dict[str, Any]:
        return self._outgoing(request.shown, None).preview()

    def check(self, request: Rendered) -> None:
        """Raises SolutionError for what :meth:`call` could not send; sends nothing."""
        to_httpx(self._outgoing(request.sent, CallContext(Limits(), TraceContext.new())))

    async def aclose(self) -> None:
        if self._transport is not None:
            await self._transport.aclose()

    def _outgoing(self, fields: Mapping[str, Any], context: CallContext | None) -> Outgoing:
        body: dict[str, JsonValue] = {"model": fields.get("model"), "messages": _messages(fields)}
        if self._options.stream:
            body["stream"] = True
            body["stream_options"] = {"include_usage": True}
        body.update(fields.get("params") or {})
        own = {}
        if fields.get("api_key"):
            own["authorization"] = f"Bearer {as_text(fields['api_key']).strip(' ')}"
        return outgoing(
            "POST",
            {
                "url": _completions_url(as_text(fields.get("base_url", ""))),
                "headers": fields.get("headers"),
                "body": body,
            },
            context.trace if context else None,
            json_body=True,
            own_headers=own,
            problems=_problems(body["messages"]) if context else (),
        )

    def _sink(self, reply: Reply, context: CallContext) -> Sink:
        if (reply.status or 0) >= 300:
            return Collected.of_refusal()
        if media_type(reply.content_type) != "text/event-stream":
            return Collected()
        context.on_phase("streaming")
        return EventSink(DeltaTaker(), self._options.max_response_bytes)


def _completions_url(base_url: str) -> str:
    """``/chat/completions`` put behind the path, before a query (some gateways want a version there), unless it is there
    already; a fragment is never sent."""
    address, mark, query = base_url.strip().partition("#")[0].partition("?")
    address = address.rstrip("/").removesuffix(_COMPLETIONS)
    return f"{address}{_COMPLETIONS}{mark}{query}"


def _messages(fields: Mapping[str, Any]) -> JsonValue:
    if fields.get("messages") is not None:
        return fields["messages"]
    messages = []
    if fields.get("system") is not None:
        messages.append({"role": "system", "content": as_text(fields["system"])})
    messages.append({"role": "user", "content": as_text(fields.get("prompt"))})
    return messages


def _problems(messages: JsonValue) -> list[str]:
    if not isinstance(messages, list) or not messages:
        return ["`messages` must be a list of at least one message"]
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            return [f"`messages[{number}]` must be an object with a `role`"]
    return []


def _resolved(value: Any, setup: SolutionSetup) -> Any:
    """``value`` with ``${NAME}`` replaced in its texts, at any depth."""
    if isinstance(value, str):
        return setup.resolve(value)
    if isinstance(value, list):
        return [_resolved(item, setup) for item in value]
    if isinstance(value, Mapping):
        return {name: _resolved(item, setup) for name, item in value.items()}
    return value
