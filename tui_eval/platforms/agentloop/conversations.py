"""Rows that are whole conversations: each turn is sent when the one before was answered, in one session.

One row is one task and one result; a turn that fails fails the row, with the turns before it kept. An agent that names
its own session is followed from then on. Each turn has the limit that is given, and all of a row carry one trace.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tui_eval.domain import Answer, JsonValue, Usage
from tui_eval.errors import Resend, SolutionError
from tui_eval.platforms.agentloop import turns
from tui_eval.platforms.agentloop.described import DescribedHttp
from tui_eval.platforms.agentloop.functions import (
    HttpRequestSpec,
    SolutionFunction,
    Task,
    described_request,
    plain_output,
    run_program,
)
from tui_eval.platforms.agentloop.turns import MissingTurns, Turn, TurnRules
from tui_eval.solutions.base import CallContext
from tui_eval.solutions.command import Invocation

Send = Callable[[str, str, int, Task, CallContext], Awaitable[Turn]]


@dataclass(slots=True)
class _Talk:
    """What has been said so far. ``asked`` is the session that we named."""

    asked: str
    session: str
    raw: list[JsonValue] = field(default_factory=list)
    replies: list[JsonValue] = field(default_factory=list)
    trace_id: str = ""
    usage: dict[str, float] = field(default_factory=lambda: dict.fromkeys(turns.USAGE, 0))

    def take(self, turn: Turn) -> None:
        self.trace_id = self.trace_id or turn.trace_id
        self.session = turn.session_id or self.session
        self.raw.append(turn.raw if turn.raw is not None else turn.reply)
        self.replies.append(turn.reply)
        for name in turns.USAGE:
            count = (turn.usage or {}).get(name)
            if isinstance(count, int | float) and not isinstance(count, bool):
                self.usage[name] += count

    def answer(self, trace_id: str) -> Answer:
        output: dict[str, JsonValue] = {
            "session_id": self.session,
            "turns_total": len(self.raw),
            "turns": self.raw,
            "final_reply": self.replies[-1] if self.replies else None,
            "usage_total": dict(self.usage),
        }
        if self.session != self.asked:
            output["requested_session_id"] = self.asked
        answer = Answer(output=output, trace_id=self.trace_id or trace_id)
        answer.detail["session_id"] = self.session
        if any(self.usage.values()):
            answer.usage = Usage(*(int(self.usage[name]) for name in turns.USAGE))
        return answer


class ConversationFunction(SolutionFunction):
    """What the builders below return. ``timeout`` is None: each turn has a limit of its own."""

    timeout = None

    def __init__(self, send: Send, rules: TurnRules, session_id: str | None, new_session: Callable[[], str]) -> None:
        self._send = send
        self._rules = rules
        self._session_id = session_id
        self._new_session = new_session
        self.http: DescribedHttp | None = None

    async def answer(self, task: Task, context: CallContext) -> tuple[Answer, dict[str, JsonValue]]:
        try:
            messages = self._rules.messages(task)
        except MissingTurns as error:
            if not self._rules.skip:
                raise SolutionError("missing_turns", str(error)) from error
            return Answer({"skipped": True, "reason": str(error)}, notes=[f"skipped: {error}"]), {"turns": []}
        except Exception as error:  # a user's function: it costs its own task only
            raise SolutionError("argument", f"turn_extractor: {type(error).__name__}: {error}") from error
        asked = self._session_id or self._new_session()
        talk = _Talk(asked, asked)
        for index, message in enumerate(messages):
            talk.take(await self._turn(message, index, task, talk, context))
        return talk.answer(context.trace.trace_id), {"turns": list(messages), "session_id": asked}

    async def _turn(self, message: str, index: int, task: Task, talk: _Talk, context: CallContext) -> Turn:
        try:
            return await self._send(message, talk.session, index, task, context)
        except SolutionError as error:
            kind, said, resend = error.kind, error.message, error.resend
            trace_id = error.partial.trace_id if error.partial is not None else ""
            cause: Exception = error
        except Exception as error:  # a user's function: it costs its own task only
            kind, said, resend, trace_id = "agent_error", f"{type(error).__name__}: {error}", Resend.MAYBE_RECEIVED, ""
            cause = error
        if index and resend in (Resend.UNSENT, Resend.REJECTED):
            resend = Resend.MAYBE_RECEIVED  # the agent has answered the turns before
        partial = talk.answer(talk.trace_id or trace_id or context.trace.trace_id)
        raise SolutionError(kind, f"turn {index + 1}: {said}", resend, partial=partial) from cause

    async def aclose(self) -> None:
        if self.http is not None:
            await self.http.aclose()
            self.http = DescribedHttp(self.http.chunk_extractor)


def multi_turn_http_solution(
    send_turn: Callable[[str, str, int, Task], Any],
    session_id: str | None = None,
    turns_field: str = "turns",
    turn_extractor: Callable[[Any, Task], Any] | None = None,
    turns_fallback_fields: Sequence[str] = (),
    on_missing_turns: str = "skip",
    session_id_factory: Callable[[], str] | None = None,
) -> ConversationFunction:
    """A solution whose turns a function of the user's sends: ``send_turn(message, session_id, turn_index, task)`` -> a
    mapping with ``reply`` and perhaps ``trace_id``, ``session_id``, ``usage``, ``raw``; async or not."""

    async def send(message: str, session: str, index: int, task: Task, context: CallContext) -> Turn:
        if inspect.iscoroutinefunction(send_turn):
            return Turn.of(await send_turn(message, session, index, task))
        value = await asyncio.to_thread(send_turn, message, session, index, task)
        return Turn.of(await value if inspect.isawaitable(value) else value)

    rules = _rules(turns_field, turn_extractor, turns_fallback_fields, on_missing_turns)
    return ConversationFunction(send, rules, session_id, session_id_factory or turns.default_session_id)


def multi_turn_http_solution_with(
    url: str,
    *,
    session_id: str | None = None,
    headers: Mapping[str, str] | None = None,
    turns_field: str = "turns",
    turn_extractor: Callable[[Any, Task], Any] | None = None,
    turns_fallback_fields: Sequence[str] = (),
    on_missing_turns: str = "skip",
    session_field: str = "session_id",
    message_field: str = "message",
    body_builder: Callable[[str, str, int, Task], Any] | None = None,
    timeout: float = 300.0,
    trace_id_body_paths: Sequence[str] = turns.TRACE_PATHS,
    trace_id_response_headers: Sequence[str] = turns.TRACE_HEADERS,
    inject_session_headers: bool = True,
    session_id_request_headers: Sequence[str] = turns.SESSION_REQUEST_HEADERS,
    session_id_response_headers: Sequence[str] = turns.SESSION_HEADERS,
    session_id_body_paths: Sequence[str] = turns.SESSION_PATHS,
    chunk_extractor: Callable[[Any], Any] | None = None,
) -> ConversationFunction:
    """A solution that posts each turn as ``{session_field: …, message_field: …}``, or what ``body_builder(message,
    session_id, turn_index, task)`` makes. ``timeout`` is in seconds, for each turn. Raises ValueError."""
    HttpRequestSpec(url, timeout=timeout)  # refused now, not once for each task
    own = {str(name): str(value) for name, value in (headers or {}).items() if value is not None}
    named = {name.lower() for name in own}

    async def send(message: str, session: str, index: int, task: Task, context: CallContext) -> Turn:
        body = {session_field: session, message_field: message}
        if body_builder is not None:
            body = body_builder(message, session, index, task)
        sent = dict(own)
        if inject_session_headers:
            sent.update({name: session for name in session_id_request_headers if name.lower() not in named})
        request = described_request(HttpRequestSpec(url, headers=sent, json=body), task)
        limits = replace(context.limits, total=timeout)
        assert made.http is not None
        answer = await made.http.call(request, replace(context, limits=limits))
        document = None if answer.events else plain_output(answer)
        by_name = {name.lower(): value for name, value in answer.headers}
        trace_id = first_of(by_name, trace_id_response_headers, document, trace_id_body_paths)
        return Turn(
            reply=answer.output if answer.events else turns.reply_in(document, answer.raw),
            raw=answer.raw if answer.events else document,
            trace_id=trace_id or answer.trace_id,
            session_id=first_of(by_name, session_id_response_headers, document, session_id_body_paths, but=session),
            usage=document.get("usage")
            if isinstance(document, dict) and isinstance(document.get("usage"), dict)
            else None,
        )

    rules = _rules(turns_field, turn_extractor, turns_fallback_fields, on_missing_turns)
    made = ConversationFunction(send, rules, session_id, turns.default_session_id)
    made.http = DescribedHttp(chunk_extractor)
    return made


def multi_turn_cli_solution(
    command_builder: Callable[[str, str, int, Task], Any],
    *,
    session_id: str | None = None,
    output_parser: Callable[[str], Any] | None = None,
    trace_id_resolver: Callable[[str, int, Any], str | None] | None = None,
    per_turn_timeout: float = 1800.0,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    turns_field: str = "turns",
    turn_extractor: Callable[[Any, Task], Any] | None = None,
    session_id_factory: Callable[[], str] | None = None,
    on_missing_turns: str = "fail",
) -> ConversationFunction:
    """A solution that starts a program for each turn: ``command_builder(message, session_id, turn_index, task)`` -> its
    arguments, or a mapping with ``argv`` and perhaps ``env``, ``stdin``, ``timeout`` (seconds) and ``parser``.

    What it prints is read as coding agents print JSON, or by ``output_parser(stdout)``. Raises ValueError.
    """
    if not per_turn_timeout > 0:
        raise ValueError(f"per_turn_timeout must be above 0 seconds, not {per_turn_timeout}")
    folder = Path(cwd) if cwd is not None else Path.cwd()

    async def send(message: str, session: str, index: int, task: Task, context: CallContext) -> Turn:
        made = command_builder(message, session, index, task)
        given: Mapping[str, Any] = made if isinstance(made, Mapping) else {"argv": made}
        argv = given.get("argv")
        if isinstance(argv, str | bytes) or not argv:
            raise ValueError("command_builder must return a list of arguments, or a mapping with `argv`")
        added = {str(name): str(value) for name, value in {**(env or {}), **(given.get("env") or {})}.items()}
        stdin = given.get("stdin")
        invocation = Invocation(
            [str(word) for word in argv], None, None if stdin is None else str(stdin), added, folder
        )
        limits = replace(context.limits, total=float(given.get("timeout") or per_turn_timeout))
        answer = await run_program(invocation, task, replace(context, limits=limits))
        parser = given.get("parser") or output_parser or turns.cli_turn
        turn = Turn.of(parser(answer.raw))
        if turn.session_id == session:
            turn = replace(turn, session_id="")
        if not turn.trace_id and trace_id_resolver is not None:
            found = await asyncio.to_thread(trace_id_resolver, session, index, turn.raw)
            turn = replace(turn, trace_id=found or "")
        return turn

    rules = _rules(turns_field, turn_extractor, (), on_missing_turns)
    return ConversationFunction(send, rules, session_id, session_id_factory or turns.uuid_session_id)


def first_of(
    headers: Mapping[str, str], names: Sequence[str], document: JsonValue, paths: Sequence[str], *, but: str = ""
) -> str:
    """What the headers say, else the document; "" for neither."""
    return turns.first_header(headers, names, but=but) or turns.first_at(document, paths, but=but)


def _rules(
    column: str, extractor: Callable[[Any, Task], Any] | None, fallbacks: Sequence[str], on_missing: str
) -> TurnRules:
    if on_missing not in ("skip", "fail"):
        raise ValueError(f'on_missing_turns must be "skip" or "fail", not {on_missing!r}')
    return TurnRules(column, extractor, tuple(fallbacks), on_missing == "skip")
