"""JSON calls of an agent-runtimes server and of the platform: our own transport, limits that are total, errors in words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import httpx

from tui_eval import __version__
from tui_eval.domain import JsonValue
from tui_eval.errors import PlatformError, Resend
from tui_eval.net.failures import failure_of
from tui_eval.net.retry_after import wait_asked_for
from tui_eval.net.transport import DeadlineExceeded, Transport

CONNECT_SECONDS = 5.0
CALL_SECONDS = 60.0
"""Limit of one call, as the reference has it (its requests end after 60 s); ours is a total one."""
LARGEST_BODY = 64 * 1024 * 1024
_SHOWN = 300


class Api:
    """Calls below one address. Belongs to one event loop; end it with :meth:`aclose`.

    ``headers`` go with every call; they may hold credentials and are never shown.
    """

    def __init__(
        self, base_url: str, headers: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._headers = {"accept": "application/json", "user-agent": f"tui-eval/{__version__}", **(headers or {})}
        self._transport = Transport(environment=environment)

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def __aenter__(self) -> Api:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def call(
        self,
        method: str,
        path: str,
        body: JsonValue = None,
        *,
        query: Mapping[str, str] | None = None,
        seconds: float = CALL_SECONDS,
    ) -> JsonValue:
        """The JSON answer, None for an empty one. ``path`` is encoded already. Raises PlatformError."""
        what = f"{method} {path}"
        url = f"{self.base_url}{path}" + (f"?{urlencode(query)}" if query else "")
        headers, content = dict(self._headers), None
        if body is not None:
            content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
            headers["content-type"] = "application/json"
        try:
            request = httpx.Request(method, url, headers=headers, content=content)
        except (httpx.InvalidURL, ValueError, UnicodeError) as error:
            raise PlatformError(f"{what}: the address or a header cannot be used ({type(error).__name__})") from error
        status, answer_headers, received = await self._sent(what, request, seconds)
        document = _document(received)
        if status >= 300:
            raise _refusal(what, status, answer_headers, document, received)
        if received.strip() and document is None and received.strip() != b"null":
            raise PlatformError(f"{what}: the answer is not JSON (is the address right?)", status=status)
        return document

    async def _sent(self, what: str, request: httpx.Request, seconds: float) -> tuple[int, Mapping[str, str], bytes]:
        url = request.url
        place = f"{url.host}:{url.port or (443 if url.scheme == 'https' else 80)}"
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            response = await self._transport.send(request, connect=CONNECT_SECONDS, deadline=deadline)
            try:
                async with asyncio.timeout_at(deadline):
                    received = await _read(response, what)
            finally:
                await response.aclose()
        except DeadlineExceeded as error:
            resend = Resend.MAYBE_RECEIVED if error.connected else Resend.UNSENT
            raise PlatformError(f"{what}: {place} gave no answer within {seconds:g} s", resend=resend) from error
        except TimeoutError as error:
            message = f"{what}: the answer of {place} did not end within {seconds:g} s"
            raise PlatformError(message, resend=Resend.MAYBE_RECEIVED) from error
        except httpx.ConnectTimeout as error:
            message = f"{what}: no connection to {place} within {CONNECT_SECONDS:g} s"
            raise PlatformError(message, resend=Resend.UNSENT) from error
        except httpx.TransportError as error:
            failure = failure_of(error, place)
            message = f"{what}: {failure.message.replace('is the agent running?', 'is the address right?')}"
            resend = Resend.UNSENT if failure.unsent else Resend.MAYBE_RECEIVED
            raise PlatformError(message, resend=Resend.NEVER if failure.permanent else resend) from error
        except (httpx.DecodingError, OSError, ValueError) as error:
            raise PlatformError(f"{what}: no usable answer of {place}: {type(error).__name__}") from error
        return response.status_code, {name.lower(): value for name, value in response.headers.items()}, received


async def _read(response: httpx.Response, what: str) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > LARGEST_BODY:
            raise PlatformError(f"{what}: the answer is larger than {LARGEST_BODY // 1024 // 1024} MiB")
        pieces.append(piece)
    return b"".join(pieces)


def _document(body: bytes) -> JsonValue:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _refusal(what: str, status: int, headers: Mapping[str, str], document: JsonValue, body: bytes) -> PlatformError:
    """The error of a status of 300 or above, with what the server says about it."""
    said: Any = None
    if isinstance(document, dict):
        said = next((document[name] for name in ("detail", "message", "error") if document.get(name)), None)
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False) if said is not None else ""
    text = " ".join((text or body[: _SHOWN * 4].decode("utf-8", "replace")).split())
    shown = f": {text if len(text) <= _SHOWN else text[:_SHOWN] + '…'}" if text else ""
    hint = "; check the API key" if status in (401, 403) else ""
    resend = Resend.NEVER
    if status in (408, 429, 503):
        resend = Resend.REJECTED
    elif status >= 500:
        resend = Resend.MAYBE_RECEIVED
    return PlatformError(
        f"{what}: HTTP {status}{shown}{hint}", resend=resend, status=status, retry_after=wait_asked_for(headers)
    )
