"""Sending one message to an endpoint that answers it itself: redirects and refusals are errors."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from tui_eval.net.transport import Transport
from tui_eval.solutions.base import CallContext
from tui_eval.solutions.exchange import Reply, Sink, begin, exchange, refused
from tui_eval.solutions.redirects import next_request


async def reply_to(
    message: httpx.Request,
    transport: Transport,
    context: CallContext,
    *,
    max_bytes: int,
    sink_for: Callable[[Reply, CallContext], Sink],
) -> Reply:
    """The whole reply to ``message``, of a status below 300. ``max_bytes`` bounds the decoded body.

    Raises SolutionError: what went wrong on the way, a status that sends elsewhere (a body with a question is not sent
    to another place unasked), a status of 400 or above.
    """
    reply = begin(message, context.trace)
    await exchange(
        transport, message, reply, context, max_bytes=max_bytes, sink_for=lambda reply: sink_for(reply, context)
    )
    status = reply.status or 0
    if 300 <= status < 400:
        next_request(message, reply, follow=False)
    if status >= 400:
        raise refused(reply)
    return reply
