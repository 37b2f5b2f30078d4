"""The AI SDK's UI message stream (version 1): what its events say, put together to one answer.

Sources: Datalayer contract, section 3b (recorded streams of agent-runtimes); the stream protocol as the AI SDK
documents it (``x-vercel-ai-ui-message-stream: v1``). Only ``text-delta`` is answer. Reasoning and tool calls are kept
apart, in the answer's ``detail``. ``finish`` ends the stream; a stream without it is incomplete, also after ``[DONE]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_eval.domain import Answer, JsonValue, Usage
from tui_eval.errors import Resend, SolutionError
from tui_eval.net.sse import ServerSentEvent
from tui_eval.solutions.events import EventSink
from tui_eval.solutions.exchange import Reply, bad_answer
from tui_eval.solutions.strict_json import InvalidJson, mend, mend_value, parse_json
from tui_eval.solutions.usage import usage_of
from tui_eval.solutions.wording import plural, snippet

APPROVAL = "approval"
"""Kind of the error of an answer that paused: a tool waits for somebody's approval, or for a result."""

_QUIET = frozenset(("start", "text-end", "source-url", "source-document", "file", "finish-step"))


class MessageTaker:
    """Puts the events of one stream together. ``detail`` is filled as the answer's detail.

    ``foreign`` counts events that are no part of the protocol, ``finish_reason`` is None until ``finish`` came.
    """

    reads_json = True

    def __init__(self, detail: dict[str, JsonValue], all_steps: bool) -> None:
        self.whole = False
        self.count = 0
        self.foreign = 0
        self.first = ""
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self.approvals: dict[str, str] = {}
        self.calls: dict[str, dict[str, Any]] = {}
        self._detail = detail
        self._all_steps = all_steps
        self._steps: list[list[str]] = [[]]
        self._reasoning: list[str] = []

    def ends(self, event: ServerSentEvent) -> bool:
        """``finish`` is the last event that means anything."""
        if '"finish"' not in event.data:
            return False
        part = _part(event)
        if part is None or part.get("type") != "finish":
            return False
        self._take_metadata(part)
        reason = part.get("finishReason")
        self.finish_reason = reason if isinstance(reason, str) else ""
        self.count = max(self.count, 1)
        self.whole = True
        return True

    def take(self, event: ServerSentEvent) -> None:
        if not self.count:
            self.first = event.data
        self.count += 1
        part = _part(event)
        kind = part.get("type") if part is not None else None
        if part is None or not isinstance(kind, str):
            self.foreign += 1
            return
        self._take_metadata(part)
        if kind == "text-delta":
            self._steps[-1].append(_text(part, "delta"))
        elif kind == "text-start":
            self._steps[-1].append("")
        elif kind == "start-step":
            self._steps.append([])
        elif kind.startswith("reasoning"):
            self._reasoning.append(_text(part, "delta") if kind != "reasoning-end" else "\n")
        elif kind.startswith("tool-"):
            self._take_tool(kind, part)
        elif kind == "error":
            raise SolutionError("agent_error", f"the agent says in the stream: {_said(part)}")
        elif kind == "abort":
            raise SolutionError("agent_error", "the agent broke its answer off (`abort`)")
        elif kind not in _QUIET and kind != "message-metadata" and not kind.startswith("data-"):
            self.foreign += 1

    def output(self) -> JsonValue:
        """The text so far, None when there is none. Also brings ``detail`` up to date."""
        reasoning = "".join(self._reasoning).strip("\n")
        if reasoning:
            self._detail["reasoning"] = mend(reasoning)
        if self.calls:
            self._detail["tool_calls"] = mend_value(list(self.calls.values()))
        spoken = [step for step in self._steps if step]
        if not spoken:
            return None
        if self._all_steps:
            return mend("".join("".join(step) for step in spoken))
        return mend("".join(spoken[-1]))

    @property
    def spoke_last(self) -> bool:
        """Whether the last step had text."""
        return bool(self._steps[-1])

    def _take_metadata(self, part: Mapping[str, Any]) -> None:
        """Token counts: those of pydantic-ai, or what a Next.js route puts there under ``usage`` or ``totalUsage``."""
        metadata = part.get("messageMetadata")
        if not isinstance(metadata, Mapping):
            return
        inner = metadata.get("pydantic_ai")
        for holder in (metadata, inner if isinstance(inner, Mapping) else {}):
            for name in ("usage", "totalUsage"):
                self.usage = usage_of(_snake_counts(holder.get(name)), self.usage)

    def _take_tool(self, kind: str, part: Mapping[str, Any]) -> None:
        """Calls in the order they began: name, input, and output, error or that it was denied."""
        key = str(part.get("toolCallId", ""))
        call = self.calls.get(key)
        if call is None:
            call = self.calls[key] = {"id": key, "name": ""}
        if isinstance(part.get("toolName"), str):
            call["name"] = part["toolName"]
        if kind in ("tool-input-available", "tool-input-error"):
            call["input"] = part.get("input")
        if kind == "tool-output-available":
            call["output"] = part.get("output")
        elif kind in ("tool-input-error", "tool-output-error"):
            call["error"] = snippet(_said(part), 2000)
        elif kind == "tool-output-denied":
            call["denied"] = True
        elif kind == "tool-approval-request":
            self.approvals[key] = str(part.get("approvalId", key))

    def waiting(self) -> list[dict[str, Any]]:
        """Calls without a result: nobody has given it, or approved that it may be made."""
        return [call for call in self.calls.values() if not call.keys() & {"output", "error", "denied"}]


def answer_of_messages(reply: Reply, sink: EventSink, taker: MessageTaker) -> Answer:
    """The answer in a stream that has ended. Raises SolutionError: ``incomplete`` without ``finish``, ``approval`` for
    an answer that paused, ``agent_error`` for one that failed, ``bad_answer`` when nothing was said."""
    output = taker.output()
    if not taker.count:
        raise bad_answer(reply, "stream had no event", kind="incomplete", resend=Resend.MAYBE_RECEIVED)
    if taker.foreign == taker.count and taker.finish_reason is None:
        message = f"this is no UI message stream; its first event: {snippet(taker.first)}"
        raise bad_answer(reply, message)
    if taker.finish_reason is None:
        last = "after `[DONE]`" if sink.saw_done else "early"
        message = f"incomplete: stream ended {last} without the event `finish`"
        raise bad_answer(reply, message, kind="incomplete", resend=Resend.MAYBE_RECEIVED)
    if taker.finish_reason == "error":
        raise bad_answer(reply, "the agent says its answer failed (finishReason: error)", kind="agent_error")
    _refuse_pause(reply, taker)
    reply.notes += sink.notes()
    if taker.foreign:
        reply.notes.append(f"{taker.foreign} of {plural(taker.count, 'event')} are no part of the protocol")
    if taker.finish_reason not in ("", "stop"):
        reply.notes.append(f"finish reason: {snippet(taker.finish_reason, 40)}")
    if output is None:
        reason = f" (finish reason: {snippet(taker.finish_reason, 40)})" if taker.finish_reason else ""
        raise bad_answer(reply, f"the agent finished without any text{reason}")
    if not taker.spoke_last:
        reply.notes.append("the last step had no text: the output is that of an earlier step")
    return reply.answer(output, taker.usage, taker.finish_reason)


def _refuse_pause(reply: Reply, taker: MessageTaker) -> None:
    waiting = taker.waiting()
    asked = [call for call in waiting if call["id"] in taker.approvals]
    if not asked and taker.finish_reason != "tool-calls":
        return
    names = ", ".join(f"`{snippet(str(call['name']), 60)}`" for call in (asked or waiting)[:5])
    if not waiting:
        message = "the agent stopped after its tool calls, before an answer (finishReason: tool-calls)"
    elif asked:
        message = f"paused for approval of the tool {names}: start the agent with approvals disabled"
    else:
        message = f"paused at the tool {names}: it waits for approval, or for a result from the caller"
    raise bad_answer(reply, message, kind=APPROVAL)


def _part(event: ServerSentEvent) -> dict[str, Any] | None:
    try:
        document = parse_json(event.data, keep_halves=True)
    except InvalidJson:
        return None
    return document if isinstance(document, dict) else None


def _text(part: Mapping[str, Any], name: str) -> str:
    value = part.get(name)
    return value if isinstance(value, str) else ""


def _said(part: Mapping[str, Any]) -> str:
    said = part.get("errorText")
    return snippet(said) if isinstance(said, str) and said.strip() else "error, without words"


_SNAKE = {"inputTokens": "input_tokens", "outputTokens": "output_tokens", "totalTokens": "total_tokens"}


def _snake_counts(counts: JsonValue) -> JsonValue:
    """Counts under the names of the AI SDK as under those of the APIs."""
    if not isinstance(counts, Mapping):
        return counts
    return {_SNAKE.get(name, name): value for name, value in counts.items()}
