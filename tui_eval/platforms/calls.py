"""One exchange with a platform: a request, its whole answer, a limit that is a total one, and errors in words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from tui_eval.errors import PlatformError, Resend
from tui_eval.net.failures import failure_of
from tui_eval.net.transport import DeadlineExceeded, Transport

CONNECT_SECONDS = 5.0
LARGEST_BODY = 64 * 1024 * 1024
LONGEST_WORDS = 300
"""Characters of what a platform says that are shown."""


@dataclass(frozen=True, slots=True)
class Exchanged:
    """An answer of any status: headers by lower-case name, the body decoded."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def exchange(transport: Transport, operation: str, request: httpx.Request, seconds: float) -> Exchanged:
    """Send ``request`` and read its answer to the end, ``seconds`` in all.

    Raises PlatformError, which begins with ``operation`` and says by ``resend`` whether the platform may have heard it.
    """
    place = f"{request.url.host}:{request.url.port or (443 if request.url.scheme == 'https' else 80)}"
    deadline = asyncio.get_running_loop().time() + seconds
    try:
        response = await transport.send(request, connect=CONNECT_SECONDS, deadline=deadline)
        try:
            async with asyncio.timeout_at(deadline):
                body = await _read(response, operation)
        finally:
            await response.aclose()
    except DeadlineExceeded as error:
        resend = Resend.MAYBE_RECEIVED if error.connected else Resend.UNSENT
        raise PlatformError(f"{operation}: {place} gave no answer within {seconds:g} s", resend=resend) from error
    except TimeoutError as error:
        message = f"{operation}: the answer of {place} did not end within {seconds:g} s"
        raise PlatformError(message, resend=Resend.MAYBE_RECEIVED) from error
    except httpx.ConnectTimeout as error:
        message = f"{operation}: no connection to {place} within {CONNECT_SECONDS:g} s"
        raise PlatformError(message, resend=Resend.UNSENT) from error
    except httpx.TransportError as error:
        failure = failure_of(error, place)
        message = f"{operation}: {failure.message.replace('is the agent running?', 'is the address right?')}"
        resend = Resend.UNSENT if failure.unsent else Resend.MAYBE_RECEIVED
        raise PlatformError(message, resend=Resend.NEVER if failure.permanent else resend) from error
    except httpx.DecodingError as error:
        message = f"{operation}: the answer of {place} cannot be decoded"
        raise PlatformError(message, resend=Resend.MAYBE_RECEIVED) from error
    except (OSError, ValueError) as error:
        raise PlatformError(f"{operation}: no way to {place}: {type(error).__name__}") from error
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Exchanged(response.status_code, headers, body)


def resend_after(status: int) -> Resend:
    """Whether a call may be made again after a status of 300 or above."""
    if status in (408, 429, 503):
        return Resend.REJECTED
    return Resend.MAYBE_RECEIVED if status >= 500 else Resend.NEVER


def words(text: str) -> str:
    """What a platform said, on one line and bounded."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_WORDS else line[:LONGEST_WORDS] + "…"


async def _read(response: httpx.Response, operation: str) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > LARGEST_BODY:
            raise PlatformError(f"{operation}: the answer is larger than {LARGEST_BODY // 1024 // 1024} MiB")
        pieces.append(piece)
    return b"".join(pieces)
