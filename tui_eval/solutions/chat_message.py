"""What a chat completion says: the message of a whole answer, or the pieces of a streamed one put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tui_eval.domain import Answer, JsonValue, Usage, as_text
from tui_eval.errors import Resend, SolutionError
from tui_eval.net.sse import ServerSentEvent
from tui_eval.solutions.events import EventSink
from tui_eval.solutions.exchange import Reply, bad_answer
from tui_eval.solutions.strict_json import InvalidJson, mend, mend_value, parse_json
from tui_eval.solutions.usage import finish_reason_of, usage_in
from tui_eval.solutions.wording import agent_message, keys_of, plural, snippet, type_name

_EXPECTED_ENDS = frozenset({"", "stop", "tool_calls", "function_call"})


@dataclass(slots=True)
class Message:
    """What a model said. ``content`` is None when it said nothing, not even ``""``."""

    content: str | None = None
    refusal: str = ""
    reasoning: str = ""
    tool_calls: list[JsonValue] = field(default_factory=list)
    finish_reason: str = ""
    usage: Usage | None = None


def answer_of_choice(reply: Reply, document: JsonValue) -> Answer:
    """The answer in a JSON body. Raises SolutionError."""
    said = agent_message(document)
    choices = document.get("choices") if isinstance(document, dict) else None
    if said is not None and not choices:
        raise bad_answer(reply, f"the agent says: {said}", kind="agent_error")
    if not isinstance(choices, list) or not choices:
        what = keys_of(document) if isinstance(document, dict) else f"it is {type_name(document)}"
        raise bad_answer(reply, f"response has no `choices` with a message; {what}")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        what = keys_of(choice) if isinstance(choice, dict) else f"it is {type_name(choice)}"
        raise bad_answer(reply, f"`choices[0]` has no `message`; {what}")
    if agent_message(choice) is not None:
        raise bad_answer(reply, f"the agent says: {agent_message(choice)}", kind="agent_error")
    read = Message(finish_reason=finish_reason_of(document), usage=usage_in(document, None))
    _add(read, message)
    return _answer(reply, read, f"`message` has no text; {keys_of(message)}")


def answer_of_stream(reply: Reply, sink: EventSink) -> Answer:
    """The answer in a stream that has ended. Raises SolutionError, ``incomplete`` when nothing marked its end."""
    taker = sink.taker
    assert isinstance(taker, DeltaTaker)
    if not taker.count:
        raise bad_answer(reply, "stream had no event", kind="incomplete", resend=Resend.MAYBE_RECEIVED)
    if not (taker.whole or sink.saw_done):
        message = "incomplete: stream ended without a finish reason and without `[DONE]`"
        raise bad_answer(reply, message, kind="incomplete", resend=Resend.MAYBE_RECEIVED)
    reply.notes += sink.notes()
    if taker.foreign:
        reply.notes.append(f"{taker.foreign} of {plural(taker.count, 'event')} had no `choices` and no `usage`")
    read = taker.message
    return _answer(reply, read, f"the stream had no text; the first event: {snippet(taker.first)}")


class DeltaTaker:
    """Puts the deltas of the first choice together. ``foreign`` counts events that are no part of a completion."""

    reads_json = True

    def __init__(self) -> None:
        self.message = Message()
        self.whole = False
        self.count = 0
        self.foreign = 0
        self.first = ""
        self._calls: dict[int, dict[str, Any]] = {}

    def ends(self, event: ServerSentEvent) -> bool:
        return False

    def take(self, event: ServerSentEvent) -> None:
        if not self.count:
            self.first = event.data
        self.count += 1
        try:
            document = parse_json(event.data, keep_halves=True)
        except InvalidJson:
            document = None
        said = agent_message(document)
        if said is not None:
            raise SolutionError("agent_error", f"the agent says in the stream: {said}")
        if not isinstance(document, dict) or not ("choices" in document or "usage" in document):
            self.foreign += 1
            return
        self.message.usage = usage_in(document, None, self.message.usage)
        choices = document.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and choice.get("index", 0) in (0, None):
                self._take_choice(choice)

    def output(self) -> JsonValue:
        return None if self.message.content is None else mend(self.message.content)

    def _take_choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get("message")  # some servers send the last piece as a whole message
            delta = delta if isinstance(delta, dict) and self.message.content is None else None
        if delta is not None:
            calls = delta.get("tool_calls")
            _add(self.message, {name: value for name, value in delta.items() if name != "tool_calls"})
            for call in calls if isinstance(calls, list) else []:
                if isinstance(call, dict):
                    self._take_call(call)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.message.finish_reason = reason
            self.whole = True

    def _take_call(self, piece: dict[str, Any]) -> None:
        """A tool call comes in pieces with one ``index``: its name first, its arguments as text bit by bit."""
        index = piece.get("index")
        index = index if isinstance(index, int) else len(self._calls)
        call = self._calls.get(index)
        if call is None:
            call = self._calls[index] = {name: value for name, value in piece.items() if name != "index"}
            call["function"] = dict(call["function"]) if isinstance(call.get("function"), dict) else {}
            self.message.tool_calls.append(call)
            return
        function = piece.get("function")
        more = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(more, str):
            # Some servers begin with an object instead of a text.
            call["function"]["arguments"] = as_text(call["function"].get("arguments") or "") + more


def _add(message: Message, said: dict[str, Any]) -> None:
    """Add a message, or a delta of one, to what was said before."""
    text = _text_of(said.get("content"))
    if text is not None:
        message.content = (message.content or "") + text
    if isinstance(said.get("refusal"), str):
        message.refusal += said["refusal"]
    for name in ("reasoning_content", "reasoning"):
        if isinstance(said.get(name), str):
            message.reasoning += said[name]
            break
    calls = said.get("tool_calls")
    if isinstance(calls, list):
        message.tool_calls.extend(calls)
    elif isinstance(said.get("function_call"), dict):
        message.tool_calls.append({"type": "function", "function": said["function_call"]})


def _text_of(content: JsonValue) -> str | None:
    """The text of ``content``: itself, or the texts of its parts; None when there is none."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [
            part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, str | dict)
        ]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if texts or not content else None
    return as_text(content)


def _answer(reply: Reply, message: Message, nothing: str) -> Answer:
    for name, value in (
        ("refusal", message.refusal),
        ("reasoning", message.reasoning),
        ("tool_calls", message.tool_calls),
    ):
        if value:
            reply.detail[name] = mend_value(value)
    if message.finish_reason not in _EXPECTED_ENDS:
        reply.notes.append(f"finish reason: {snippet(message.finish_reason, 40)}")
    output = message.content
    if not output and message.refusal:
        reply.notes.append("the model refused")
        output = message.refusal
    elif not output and message.tool_calls:
        reply.notes.append(f"no text: {plural(len(message.tool_calls), 'tool call')}")
        output = ""
    if output is None:
        reason = f" (finish reason: {snippet(message.finish_reason, 40)})" if message.finish_reason else ""
        raise bad_answer(reply, nothing + reason)
    return reply.answer(mend(output), message.usage, message.finish_reason)
