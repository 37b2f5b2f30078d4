"""Signed calls of the OpenAPI and of the log service: sent over our own transport, tried again where that is safe."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from tui_eval import __version__
from tui_eval.errors import PlatformError, Resend
from tui_eval.net.retry_after import wait_asked_for
from tui_eval.net.transport import Transport
from tui_eval.platforms.agentloop.credentials import Credentials
from tui_eval.platforms.agentloop.endpoints import Address, Endpoints
from tui_eval.platforms.agentloop.signing import (
    acs3_authorization,
    acs_time,
    canonical_query,
    sls_authorization,
    sls_time,
)
from tui_eval.platforms.calls import exchange, resend_after, words

API_VERSION = "2026-05-20"
"""``x-acs-version``: the API is young; another version may name fields differently."""
CALL_SECONDS = 20.0
TRIES = 4
LONGEST_PAUSE = 10.0
"""Seconds between two tries at most; a platform that asks for more is asked again later by whoever called."""
_CLOCK = ("InvalidTimeStamp", "RequestTimeTooSkewed", "RequestTimeExpired", "InvalidDate")
_RIGHTS = ("Forbidden", "NoPermission", "Unauthorized", "AccessDenied")

Headers = dict[str, str]


@dataclass(frozen=True, slots=True)
class Reply:
    """A good answer: headers by lower-case name, the body decoded."""

    headers: Mapping[str, str]
    body: bytes

    def json(self, operation: str) -> Any:
        """The body as JSON data; nothing is an empty object. Raises PlatformError."""
        if not self.body.strip():
            return {}
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise PlatformError(
                f"{operation}: the answer is not JSON (is the endpoint right?)", resend=Resend.MAYBE_RECEIVED
            ) from error


class Caller:
    """Makes signed calls for one access key. Belongs to one event loop; end it with :meth:`aclose`.

    ``now`` is seconds since the epoch, ``pause`` waits between two tries.
    """

    def __init__(
        self,
        credentials: Credentials,
        endpoints: Endpoints,
        *,
        environment: Mapping[str, str] | None = None,
        now: Callable[[], float] = time.time,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.endpoints = endpoints
        self._credentials = credentials
        self._environment = environment
        self._transport = Transport(environment=environment)
        self._now = now
        self._pause = pause

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def openapi(
        self,
        action: str,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        repeatable: bool = True,
        tries: int = TRIES,
        seconds: float = CALL_SECONDS,
    ) -> dict[str, Any]:
        """One operation. ``path`` is encoded already. ``repeatable`` says that carrying it out twice does no harm: else
        it is only tried again when it was certainly not carried out. Raises PlatformError."""
        content = b"" if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        address = self.endpoints.openapi_address()

        def signed() -> Headers:
            headers = {
                "host": address.host,
                "accept": "application/json",
                "user-agent": f"tui-eval/{__version__}",
                "x-acs-action": action,
                "x-acs-version": API_VERSION,
                "x-acs-date": acs_time(self._now()),
                "x-acs-signature-nonce": secrets.token_hex(16),
                "x-acs-content-sha256": hashlib.sha256(content).hexdigest(),
            }
            if body is not None:
                headers["content-type"] = "application/json; charset=utf-8"
            if self._credentials.security_token:
                headers["x-acs-security-token"] = self._credentials.security_token
            key, secret = self._credentials.access_key_id, self._credentials.access_key_secret
            headers["authorization"] = acs3_authorization(method, path, query or {}, headers, content, key, secret)
            return headers

        reply = await self._tried(
            action, method, address, path, query or {}, content, signed, repeatable, tries, seconds
        )
        answer = reply.json(action)
        if not isinstance(answer, dict):
            raise PlatformError(f"{action}: the answer is not a JSON object", resend=Resend.MAYBE_RECEIVED)
        return answer

    async def logs(
        self,
        operation: str,
        method: str,
        project: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
        tries: int = TRIES,
        seconds: float = CALL_SECONDS,
        repeatable: bool = True,
    ) -> Reply:
        """One call of the log service (signature version 4). Raises PlatformError."""
        address = self.endpoints.sls_address(project)

        def signed() -> Headers:
            now = self._now()
            made = {
                "host": address.host,
                "accept": "application/json",
                "user-agent": f"tui-eval/{__version__}",
                "x-log-apiversion": "0.6.0",
                "x-log-bodyrawsize": "0",
                "x-log-date": sls_time(now),
                "x-log-content-sha256": hashlib.sha256(content).hexdigest(),
                **(headers or {}),
            }
            if self._credentials.security_token:
                made["x-acs-security-token"] = self._credentials.security_token
            key, secret = self._credentials.access_key_id, self._credentials.access_key_secret
            made["authorization"] = sls_authorization(
                method, path, query or {}, made, self.endpoints.region, key, secret
            )
            return made

        return await self._tried(
            operation, method, address, path, query or {}, content, signed, repeatable, tries, seconds
        )

    async def _tried(
        self,
        operation: str,
        method: str,
        address: Address,
        path: str,
        query: Mapping[str, str],
        content: bytes,
        signed: Callable[[], Headers],
        repeatable: bool,
        tries: int,
        seconds: float,
    ) -> Reply:
        text = canonical_query(query)
        url = f"{address.base}{path}" + (f"?{text}" if text else "")
        number = 0
        while True:
            number += 1
            try:
                request = httpx.Request(method, url, headers=signed(), content=content or None)
                if repeatable:
                    return await self._once(self._transport, operation, request, seconds)
                # A kept connection that ends without an answer is replaced, and the call sent once more: not this one.
                fresh = Transport(environment=self._environment)
                try:
                    return await self._once(fresh, operation, request, seconds)
                finally:
                    await fresh.aclose()
            except PlatformError as error:
                again = error.resend in (Resend.UNSENT, Resend.REJECTED) or (
                    repeatable and error.resend is Resend.MAYBE_RECEIVED
                )
                if not again or number >= tries or (error.retry_after or 0.0) > LONGEST_PAUSE:
                    raise
                backoff = min(0.3 * 2**number, LONGEST_PAUSE) * (0.5 + random.random() / 2)
                await self._pause(max(backoff, error.retry_after or 0.0))

    async def _once(self, transport: Transport, operation: str, request: httpx.Request, seconds: float) -> Reply:
        answer = await exchange(transport, operation, request, seconds)
        if answer.status >= 300:
            raise refusal(operation, answer.status, answer.headers, answer.body)
        return Reply(answer.headers, answer.body)


def refusal(operation: str, status: int, headers: Mapping[str, str], body: bytes) -> PlatformError:
    """The error of a status of 300 or above, in the platform's own words as far as it gave some."""
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    said = {key.lower(): value for key, value in document.items()} if isinstance(document, dict) else {}
    code = _word(said, "code", "errorcode")
    message = _word(said, "message", "errormessage")
    request_id = _word(said, "requestid") or headers.get("x-acs-request-id") or headers.get("x-log-requestid") or ""
    parts = [f"{operation}: HTTP {status}"]
    if code:
        parts.append(f" {code}")
    if message:
        parts.append(f": {message}")
    if request_id:
        parts.append(f" (request id {request_id[:80]})")
    hint = _hint(status, code)
    text = "".join(parts) + (f"; {hint}" if hint else "")
    return PlatformError(
        text,
        resend=_resend(status, code),
        status=status,
        code=code,
        request_id=request_id,
        retry_after=wait_asked_for(headers),
    )


def _word(said: Mapping[str, Any], *names: str) -> str:
    for name in names:
        value = said.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return words(str(value))
    return ""


def _resend(status: int, code: str) -> Resend:
    throttled = "throttl" in code.lower() or "quotaexceed" in code.lower()
    return Resend.REJECTED if throttled else resend_after(status)


def _hint(status: int, code: str) -> str:
    if code.startswith(_CLOCK):
        return "is the clock of this machine right?"
    if status == 401 or "SignatureDoesNotMatch" in code or "InvalidAccessKeyId" in code:
        return "check the access key and its secret"
    if status == 403 or code.startswith(_RIGHTS):
        return "the access key needs the right to do this (agentloop:<operation>, or log:<operation> on the project)"
    if 300 <= status < 400:
        return "the address redirects, which signed calls do not follow; check the endpoint"
    return ""
