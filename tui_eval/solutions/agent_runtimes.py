"""An agent that speaks the AI SDK's UI message stream over server-sent events.

That is what agent-runtimes serves under ``/api/v1/vercel-ai/{agent}``, what pydantic-ai's Vercel adapter and
``toUIMessageStreamResponse()`` of a Next.js route send: useful with all of them (``url`` is the chat's address).

The output is the text of the last step that has any (``answer: all_steps``: of all steps, joined). Reasoning and tool
calls are in the answer's ``detail`` (``reasoning``, ``tool_calls``), usage comes from the message's metadata. An error
inside the stream, a finish reason ``error``, a stream without ``finish`` and a pause for approval are errors, the last
of kind ``approval``; nothing of them is ever judged. See ``ui_messages`` for the events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote

from tui_eval.domain import Answer, JsonValue, as_text
from tui_eval.errors import SolutionError
from tui_eval.net.transport import Transport
from tui_eval.solutions.base import PREPARING, CallContext, SolutionSetup
from tui_eval.solutions.body_text import decoded_text, media_type
from tui_eval.solutions.connecting import transport_for
from tui_eval.solutions.events import EventSink
from tui_eval.solutions.exchange import Collected, Reply, Sink, bad_answer
from tui_eval.solutions.outgoing import NEW_EACH_TIME, Outgoing, host_of, outgoing, to_httpx
from tui_eval.solutions.sending import reply_to
from tui_eval.solutions.strict_json import InvalidJson, parse_json
from tui_eval.solutions.ui_messages import MessageTaker, answer_of_messages
from tui_eval.solutions.wording import snippet, status_message
from tui_eval.spec.rendered import Rendered
from tui_eval.spec.solution_options import AgentRuntimesOptions

AGENT_HOST = "agent_host"
"""Name of the service that makes agents of an agentspec for a run."""


class AgentHost(Protocol):
    """Makes agents for a run, and deletes them after it."""

    async def chat_address(self, agentspec: str) -> str:
        """The address of the chat of an agent of this spec; made when it is first asked for. Raises SolutionError."""
        ...


def chat_address(base_url: str, agent: str) -> str:
    """The chat of an agent of an agent-runtimes server (Datalayer contract, section 3b)."""
    address, mark, query = base_url.strip().partition("?")
    return f"{address.rstrip('/')}/api/v1/vercel-ai/{quote(agent, safe='')}{mark}{query}"


class AgentRuntimes:
    """See the module. Connections are kept between calls and closed by :meth:`aclose`."""

    def __init__(self, options: AgentRuntimesOptions, setup: SolutionSetup) -> None:
        self._options = options
        self._setup = setup
        self._host: AgentHost | None = setup.services.get(AGENT_HOST)
        self._transport: Transport | None = None

    async def call(self, request: Rendered, context: CallContext) -> Answer:
        """One attempt. Raises SolutionError."""
        if self._options.agentspec is not None:
            context.on_phase(PREPARING)  # of no limit of the chat: a server may have to be started first
        address = await self._address(request.sent)
        context.on_phase("calling")
        message = to_httpx(self._outgoing(request.sent, address, context))
        if self._transport is None:
            self._transport = transport_for(self._options, self._setup)
        most = self._options.max_response_bytes
        reply = await reply_to(message, self._transport, context, max_bytes=most, sink_for=self._sink)
        if not isinstance(reply.sink, EventSink):
            raise _no_stream(reply)
        taker = reply.sink.taker
        assert isinstance(taker, MessageTaker)
        return answer_of_messages(reply, reply.sink, taker)

    def host(self, request: Rendered) -> str | None:
        fields = request.sent
        return host_of(as_text(fields.get("url") or fields.get("base_url") or ""))

    def preview(self, request: Rendered) -> dict[str, Any]:
        fields = request.shown
        address = as_text(fields.get("url") or "")
        if self._options.agentspec is not None:
            address = f"(chat of an agent made of `{self._options.agentspec}`)"
        elif not address:
            address = chat_address(as_text(fields.get("base_url", "")), as_text(fields.get("agent", "")))
        return self._outgoing(fields, address, None).preview()

    async def aclose(self) -> None:
        if self._transport is not None:
            await self._transport.aclose()

    async def _address(self, fields: Mapping[str, Any]) -> str:
        spec = self._options.agentspec
        if spec is None:
            url = fields.get("url")
            return (
                as_text(url) if url is not None else chat_address(as_text(fields["base_url"]), as_text(fields["agent"]))
            )
        if self._host is None:
            raise SolutionError(
                "argument", f"no agent is made of `{spec}` here: that needs a run of a plan with a `datalayer` section"
            )
        return await self._host.chat_address(spec)

    def _outgoing(self, fields: Mapping[str, Any], address: str, context: CallContext | None) -> Outgoing:
        chat = f"tui-eval-{context.trace.trace_id}" if context else NEW_EACH_TIME
        messages = _messages(fields, chat)
        body: dict[str, JsonValue] = {"trigger": "submit-message", "id": chat, "messages": messages}
        if self._options.sdk_version is not None:
            body["sdkVersion"] = self._options.sdk_version
        body.update(fields.get("body") or {})
        return outgoing(
            "POST",
            {"url": address, "headers": fields.get("headers"), "body": body},
            context.trace if context else None,
            json_body=True,
            own_headers={"accept": "text/event-stream"},
            problems=_problems(messages) if context else (),
        )

    def _sink(self, reply: Reply, context: CallContext) -> Sink:
        if (reply.status or 0) >= 300:
            return Collected.of_refusal()
        if media_type(reply.content_type) != "text/event-stream":
            return Collected()
        context.on_phase("streaming")
        taker = MessageTaker(reply.detail, self._options.answer == "all_steps")
        return EventSink(taker, self._options.max_response_bytes)


def _messages(fields: Mapping[str, Any], chat: str) -> JsonValue:
    """The messages of the request: one user message with the prompt, unless the plan gives them."""
    if fields.get("messages") is not None:
        return fields["messages"]
    text = as_text(fields.get("prompt"))
    identity = f"{chat}-1" if chat != NEW_EACH_TIME else chat
    return [{"id": identity, "role": "user", "parts": [{"type": "text", "text": text}]}]


def _problems(messages: JsonValue) -> list[str]:
    if not isinstance(messages, list) or not messages:
        return ["`messages` must be a list of at least one message"]
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or not {"role", "parts"} <= message.keys():
            return [f"`messages[{number}]` must be an object with `role` and `parts`"]
    return []


def _no_stream(reply: Reply) -> SolutionError:
    """A status of success with something else than a stream: what it says is an error, never an answer."""
    text = decoded_text(reply.body(), reply.content_type)[0]
    try:
        said = status_message(parse_json(text))
    except InvalidJson:
        said = None
    kind = media_type(reply.content_type) or "no content type"
    if not text.strip():
        return bad_answer(reply, f"empty body (HTTP {reply.status}, {kind}), expected an event stream")
    if said is not None:
        return bad_answer(reply, f"the agent says: {said}", kind="agent_error")
    return bad_answer(reply, f"expected an event stream, got {kind}: {snippet(text)}")
