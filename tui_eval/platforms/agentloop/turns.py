"""What AgentLoop's multi-turn experiments read: the turns of a row, and reply, session and trace of one answer.

Names, defaults and their order are those of ``agentloop_experiment_sdk`` 0.1.0 (contract, section 1.4).
"""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tui_eval.domain import JsonValue, as_text
from tui_eval.platforms.agentloop.functions import Task
from tui_eval.solutions.strict_json import InvalidJson, parse_json

REPLY_FIELDS = ("reply", "content", "output", "text", "answer")
SESSION_REQUEST_HEADERS = ("X-Session-Id", "X-Conversation-Id", "X-Thread-Id")
SESSION_HEADERS = (
    *("x-session-id", "x-sessionid", "session-id", "x-conversation-id", "conversation-id", "openai-conversation-id"),
    *("x-thread-id", "thread-id"),
)
SESSION_PATHS = (
    *("session_id", "sessionId", "SessionId", "conversation_id", "conversationId", "ConversationId"),
    *("conversation.id", "thread_id", "threadId", "ThreadId", "thread.id", "chat_id", "chatId", "chat.id"),
    *("data.session_id", "data.sessionId", "data.SessionId", "data.conversation_id", "data.conversationId"),
    *("data.thread_id", "data.threadId", "result.session_id", "conversation", "previous_response_id", "session"),
    *("session.id", "data.conversation", "data.session.id"),
)
TRACE_HEADERS = ("traceid", "eagleeye-traceid", "x-trace-id")
TRACE_PATHS = ("trace_ids.gateway", "trace_ids.agent", "trace_ids.model", "traceId", "trace_id")
_TURN_SESSIONS = ("session_id", "sessionId", "conversation_id", "conversationId", "thread_id", "threadId")
_CLI_SESSIONS = ("session_id", "sessionId", "conversation_id", "conversationId", "conversation", "thread_id")
USAGE = ("input_tokens", "output_tokens", "total_tokens")


class MissingTurns(ValueError):
    """A row that has no turns where they were looked for."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer. ``session_id`` is the agent's own when it names another one than it was sent, "" otherwise; ``raw`` is
    its whole answer."""

    reply: JsonValue
    raw: JsonValue = None
    trace_id: str = ""
    session_id: str = ""
    usage: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, value: Any) -> Turn:
        """What a user's ``send_turn`` or ``output_parser`` returned. Raises TypeError for no mapping."""
        if not isinstance(value, Mapping):
            raise TypeError(f"a turn must be a mapping with `reply`, not {type(value).__name__}")
        own = next((value[name] for name in _TURN_SESSIONS if value.get(name)), "")
        usage = value.get("usage")
        return cls(
            value.get("reply"),
            value.get("raw"),
            str(value.get("trace_id") or ""),
            str(own),
            usage if isinstance(usage, Mapping) else None,
        )


def default_session_id() -> str:
    """``sess-<date>-<time>-<8 hex digits>``."""
    return f"sess-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"


def uuid_session_id() -> str:
    """A UUID, as the command lines of coding agents take it for ``--session-id``."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class TurnRules:
    """Where the turns of a row are: in the column ``field``, else in the first of ``fallbacks`` that has some; or what
    ``extractor(column, task)`` returns. ``skip``: a row without turns is answered as skipped, not failed."""

    field: str = "turns"
    extractor: Callable[[Any, Task], Any] | None = None
    fallbacks: Sequence[str] = ()
    skip: bool = True

    def messages(self, task: Task) -> list[str]:
        """The texts of the user, in their order. Raises MissingTurns, and what the extractor raises."""
        raw = task.input.get(self.field)
        if self.extractor is not None:
            raw = self.extractor(raw, task)
            looked = "the turn_extractor gave"
        else:
            columns = (self.field, *self.fallbacks)
            raw = next((found for name in columns if (found := _listed(task.input.get(name)))), None)
            looked = f"{', '.join(f'`{name}`' for name in columns)}:"
        if not isinstance(raw, list | tuple) or not raw:
            raise MissingTurns(f"row {task.id} has no turns: {looked} no list with something in it")
        return [_message(item) for item in raw]


def _listed(column: Any) -> list[Any]:
    """A column as a list; the platform's query gives texts also for columns that are lists."""
    if isinstance(column, str) and column.lstrip().startswith("["):
        try:
            column = parse_json(column)
        except InvalidJson:
            return []
    return column if isinstance(column, list) else []


def _message(item: Any) -> str:
    if not isinstance(item, Mapping):
        return str(item)
    text = next((item[name] for name in ("content", "message", "input") if item.get(name)), None)
    return as_text(dict(item)) if text is None else str(text)


def reply_in(document: JsonValue, text: str, *, first: Sequence[str] = ()) -> JsonValue:
    """The reply in a JSON answer: the first of the usual fields that is a text; else the whole ``text``."""
    if not isinstance(document, Mapping):
        return text if document is None else document
    fields = (*first, *REPLY_FIELDS)
    return next((found for name in fields if isinstance(found := document.get(name), str) and found), text)


def first_at(document: JsonValue, paths: Sequence[str], *, but: str = "") -> str:
    """The text (or whole number) at the first dotted path that has one other than ``but``; "" for none."""
    for path in paths:
        found: Any = document
        for step in path.split("."):
            found = found.get(step) if isinstance(found, Mapping) else None
        if isinstance(found, int) and not isinstance(found, bool):
            found = str(found)
        if isinstance(found, str) and found and found != but:
            return found
    return ""


def first_header(headers: Mapping[str, str], names: Sequence[str], *, but: str = "") -> str:
    """The first of these headers (``headers`` by lower-case name) with a value other than ``but``; "" for none."""
    values = (headers.get(name.lower(), "").strip() for name in names)
    return next((value for value in values if value and value != but), "")


def cli_turn(stdout: str) -> dict[str, Any]:
    """A turn from what a coding agent prints with ``--output-format json``, or a plain text."""
    text = stdout.strip()
    try:
        document: JsonValue = parse_json(text)
    except InvalidJson:
        return {"reply": text, "raw": text}
    turn: dict[str, Any] = {"reply": reply_in(document, text, first=("result",)), "raw": document}
    if isinstance(document, Mapping):
        turn["session_id"] = first_at(document, _CLI_SESSIONS)
        turn["usage"] = document.get("usage")
    return turn
