"""JSON calls of an agent-runtimes server and of the platform."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import httpx

from tui_eval import __version__
from tui_eval.domain import JsonValue
from tui_eval.errors import PlatformError
from tui_eval.net.retry_after import wait_asked_for
from tui_eval.net.transport import Transport
from tui_eval.platforms.calls import LONGEST_WORDS, Exchanged, exchange, resend_after, words

CALL_SECONDS = 60.0
"""Limit of one call, as the reference has it (its requests end after 60 s); ours is a total one."""


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
        answer = await exchange(self._transport, what, request, seconds)
        document, received = _document(answer.body), answer.body.strip()
        if answer.status >= 300:
            raise _refusal(what, answer, document)
        if received and document is None and received != b"null":
            raise PlatformError(f"{what}: the answer is not JSON (is the address right?)", status=answer.status)
        return document


def _document(body: bytes) -> JsonValue:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _refusal(what: str, answer: Exchanged, document: JsonValue) -> PlatformError:
    """The error of a status of 300 or above, with what the server says about it."""
    said: Any = None
    if isinstance(document, dict):
        said = next((document[name] for name in ("detail", "message", "error") if document.get(name)), None)
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False) if said is not None else ""
    shown = words(text or answer.body[: LONGEST_WORDS * 4].decode("utf-8", "replace"))
    hint = "; check the API key" if answer.status in (401, 403) else ""
    return PlatformError(
        f"{what}: HTTP {answer.status}{f': {shown}' if shown else ''}{hint}",
        resend=resend_after(answer.status),
        status=answer.status,
        retry_after=wait_asked_for(answer.headers),
    )
