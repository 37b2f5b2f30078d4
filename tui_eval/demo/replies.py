"""What the embedded agent sends for one call: pure functions from a call to the bytes and their timing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Literal

from tui_eval.demo.judging import JUDGE_MODEL, verdict_on
from tui_eval.demo.knowledge import quirk_of, reply_to
from tui_eval.domain import JsonValue, as_text

QUESTION_KEYS = ("input", "question", "prompt", "message", "query", "text")
FAULTS = ("drop", "cut", "hang", "garbage", "drip", "flood")  # and any status from 400 to 599
_PIECE = 6  # characters in one streamed piece


@dataclass(frozen=True, slots=True)
class Reply:
    """Bytes to send: the first part ``delay_ms`` after the call, the others ``gap_ms`` apart (0: all at once).

    ``ending``: ``keep`` the connection, ``close`` it, ``hang`` (never answer), or ``flood`` (repeat the last part
    until the caller goes away).
    """

    parts: tuple[bytes, ...]
    delay_ms: float = 0.0
    gap_ms: float = 0.0
    ending: Literal["keep", "close", "hang", "flood"] = "keep"


@dataclass(frozen=True, slots=True)
class Asked:
    """One call as the agent understands it.

    ``question`` is the first of :data:`QUESTION_KEYS` in a JSON body (for chat: the last user message), else the whole
    body. ``fault`` and ``times`` come from the body (``{"fault": "503", "fault_times": 2}``), so that a dataset's
    columns can decide them; ``earlier`` is how often the same question was asked on the same path before.
    """

    path: str
    query: Mapping[str, str]
    body: JsonValue
    question: JsonValue
    trace_id: str
    earlier: int = 0

    def number(self, name: str, default: float) -> float:
        """A number of the query, at least 0."""
        return max(float(self.query.get(name, default)), 0.0)


def question_in(body: JsonValue) -> JsonValue:
    """What is asked in a body: a chat's last user message (`content`, or `parts`), a known key, else the body itself."""
    if not isinstance(body, dict):
        return body
    messages = body.get("messages")
    if isinstance(messages, list):
        users = [message for message in messages if isinstance(message, dict) and message.get("role") == "user"]
        return _message_text(users[-1].get("content") or users[-1].get("parts")) if users else ""
    return next((body[key] for key in QUESTION_KEYS if key in body), body)


def _message_text(content: JsonValue) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def trace_id_for(traceparent: str, body: bytes) -> str:
    """The caller's own trace id when it sent one, else one made from the body."""
    parts = traceparent.split("-")
    if len(parts) == 4 and len(parts[1]) == 32:
        return parts[1]
    return hashlib.sha256(body).hexdigest()[:32]


def flavour_of(path: str) -> str:
    """``json``, ``sse``, ``chat`` or ``ui``; ``""`` for a path that is not an agent's."""
    if path.endswith("/chat/completions"):
        return "chat"
    return {"/json": "json", "/flaky": "json", "/sse": "sse", "/api/chat": "ui"}.get(path, "")


def agent_reply(asked: Asked) -> Reply:
    """The answer to a call of one of the agent's paths, with whatever goes wrong with it."""
    flavour = flavour_of(asked.path)
    quirk = quirk_of(asked.question, flavour)
    fault, times = quirk.fault, quirk.times
    if isinstance(asked.body, dict) and "fault" in asked.body:
        fault, times = str(asked.body["fault"] or ""), int(asked.body.get("fault_times", 0))
    output = _output(asked, quirk.says)
    good = {"json": _json_reply, "sse": _sse_reply, "chat": _chat_reply, "ui": _ui_reply}[flavour](asked, output)
    good = replace(good, delay_ms=asked.number("ms", quirk.delay_ms))
    if fault and (not times or asked.earlier < times):
        return with_fault(good, fault, asked)
    return good


def _output(asked: Asked, says: str | None) -> JsonValue:
    if says is not None:
        return says
    if isinstance(asked.body, dict) and asked.body.get("model") == JUDGE_MODEL:
        return verdict_on(asked.body["messages"])
    output = reply_to(asked.question) if isinstance(asked.question, str) else asked.question
    share = asked.number("wrong", 0.0)
    digest = hashlib.sha256(as_text(asked.question).encode("utf-8", "replace")).digest()
    wrong = int.from_bytes(digest[:4], "big") < share * 2**32
    return f"wrong: {as_text(output)[::-1]}" if wrong else output


def with_fault(good: Reply, fault: str, asked: Asked) -> Reply:
    """The reply as it is when ``fault`` happens to it; an unknown name answers 400."""
    if fault.isdigit() and 400 <= int(fault) <= 599:
        return replace(_status_reply(int(fault), asked), delay_ms=good.delay_ms)
    whole = b"".join(good.parts)
    match fault:
        case "drop":
            return Reply((), good.delay_ms, ending="close")
        case "cut":
            return replace(good, parts=(whole[: -max(len(whole) // 4, 8)],), ending="close")
        case "hang":
            return Reply((), ending="hang")
        case "garbage":
            return replace(good, parts=(response(200, b"<html>not json", "text/html", asked.trace_id),))
        case "drip":
            bytes_one_by_one = tuple(whole[index : index + 1] for index in range(len(whole)))
            return replace(good, parts=bytes_one_by_one, gap_ms=asked.number("gap", 1000.0))
        case "flood":
            return replace(good, parts=_flood(asked), ending="flood")
    return response_reply(400, {"error": {"message": f"no such fault: {fault}"}}, asked.trace_id)


def _status_reply(status: int, asked: Asked) -> Reply:
    body = {"error": {"message": f"the demo agent answers {status} here"}}
    more = f"Retry-After: {asked.query.get('retry_after', '1')}\r\n" if status in (429, 503) else ""
    return Reply((response(status, _dump(body), "application/json", asked.trace_id, more),))


def _json_reply(asked: Asked, output: JsonValue) -> Reply:
    return response_reply(200, {"output": output, "usage": _usage(asked.question, output)}, asked.trace_id)


def _sse_reply(asked: Asked, output: JsonValue) -> Reply:
    """Events ``{"delta": …}``, the last one with ``usage``, then ``[DONE]``. ``chunks=K`` sends K made-up pieces."""
    if "chunks" in asked.query:
        pieces = [f"tok{index} " for index in range(max(int(asked.number("chunks", 1)), 1))]
    else:
        pieces = _pieces(as_text(output))
    events: list[dict[str, Any]] = [{"delta": piece} for piece in pieces]
    events[-1]["usage"] = _usage(asked.question, output)
    return _stream(asked, [_dump(event) for event in events])


def _chat_reply(asked: Asked, output: JsonValue) -> Reply:
    body = asked.body if isinstance(asked.body, dict) else {}
    text = as_text(output)
    usage = _usage(asked.question, output)
    usage = {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage["output_tokens"],
        "total_tokens": usage["total_tokens"],
    }
    base = {"id": "chatcmpl-demo", "created": 1_700_000_000, "model": body.get("model", "demo")}
    if not body.get("stream"):
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
        return response_reply(200, whole, asked.trace_id)
    events: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in _pieces(text)
    ]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    options = body.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage"):
        events.append({"choices": [], "usage": usage})
    return _stream(asked, [_dump({**base, "object": "chat.completion.chunk", **event}) for event in events])


def _ui_reply(asked: Asked, output: JsonValue) -> Reply:
    """The AI SDK's UI message stream, with the token counts where pydantic-ai's adapter puts them."""
    usage = {"pydantic_ai": {"usage": _usage(asked.question, output)}}
    events: list[dict[str, Any]] = [
        {"type": "start"},
        {"type": "start-step"},
        {"type": "text-start", "id": "text-1"},
        *({"type": "text-delta", "id": "text-1", "delta": piece} for piece in _pieces(as_text(output))),
        {"type": "text-end", "id": "text-1"},
        {"type": "message-metadata", "messageMetadata": usage},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "stop"},
    ]
    return _stream(asked, [_dump(event) for event in events])


def _stream(asked: Asked, payloads: list[bytes]) -> Reply:
    parts = [chunk(b"data: " + payload + b"\n\n") for payload in payloads]
    parts[0] = _stream_head("text/event-stream", asked.trace_id) + parts[0]
    parts.append(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    return Reply(tuple(parts), gap_ms=asked.number("gap", 0.0))


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)] or [""]


def _usage(question: JsonValue, output: JsonValue) -> dict[str, int]:
    """Tokens as such agents count them, roughly: one for four characters, and one."""
    sent, received = len(as_text(question)) // 4 + 1, len(as_text(output)) // 4 + 1
    return {"input_tokens": sent, "output_tokens": received, "total_tokens": sent + received}


def _dump(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def chunk(data: bytes) -> bytes:
    """One piece of a body in HTTP's chunked coding."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def _flood(asked: Asked) -> tuple[bytes, bytes]:
    """The beginning of an endless answer and the part that repeats."""
    if flavour_of(asked.path) == "json":
        return _stream_head("application/json", asked.trace_id) + chunk(b'{"output": "'), chunk(b"x" * 65536)
    return _stream_head("text/event-stream", asked.trace_id), chunk(b'data: {"delta": "' + b"x" * 65536 + b'"}\n\n')


def _stream_head(content_type: str, trace_id: str) -> bytes:
    return (
        f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nCache-Control: no-cache\r\n"
        f"Transfer-Encoding: chunked\r\ntraceId: {trace_id}\r\n\r\n"
    ).encode("ascii")


def response(status: int, body: bytes, content_type: str, trace_id: str = "", more: str = "") -> bytes:
    """A whole HTTP answer."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    trace = f"traceId: {trace_id}\r\n" if trace_id else ""
    head = f"HTTP/1.1 {status} {phrase}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n{trace}{more}"
    return head.encode("latin-1") + b"\r\n" + body


def response_reply(status: int, value: JsonValue, trace_id: str = "") -> Reply:
    """A whole HTTP answer with a JSON body."""
    return Reply((response(status, _dump(value), "application/json", trace_id),))
