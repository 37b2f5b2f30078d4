"""What went wrong on the way to a server and back, in words.

``str(httpx.ReadTimeout())`` is empty, other texts carry a Python repr or a header's value; so no text of httpx is shown,
only what the exception *is*, and the reason that the operating system or the TLS library gave.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import httpx

_E = TypeVar("_E", bound=BaseException)


class HeadCut(httpx.RemoteProtocolError):
    """The connection ended inside the head of an answer; ``begun`` is what had come of it."""

    def __init__(self, begun: bytes) -> None:
        super().__init__("the connection ended inside the head of the answer")
        self.begun = begun


@dataclass(frozen=True, slots=True)
class Failure:
    """``unsent`` is True when the request certainly did not reach the server. ``permanent``: the same call would fail
    the same way (a certificate that is not trusted)."""

    message: str
    unsent: bool
    permanent: bool = False


def failure_of(
    error: Exception, place: str, received: int | None = None, streamed: bool = False, proxy: str | None = None
) -> Failure:
    """``place`` is ``host:port``; ``received`` the bytes of the body so far, None before the head of a response;
    ``streamed`` is True when the body is a stream of events; ``proxy`` is the ``host:port`` of the proxy on the way."""
    if isinstance(error, httpx.ProxyError):
        return _proxy_failure(error, place)
    if isinstance(error, httpx.ConnectError):
        return _connect_failure(error, place, proxy)
    if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
        return Failure(f"the request to {place} is not valid HTTP ({type(error).__name__})", True, permanent=True)
    tls = _find(error, ssl.SSLError)
    if tls is not None:
        return Failure(f"TLS broke in the talk with {place}: {_tls_reason(tls)}", unsent=False)
    if isinstance(error, HeadCut) and error.begun.startswith(b"HTTP/"):
        return Failure(f"connection closed inside the headers of the answer of {place}", unsent=False)
    if received is not None and isinstance(error, httpx.RemoteProtocolError) and "peer closed" not in str(error):
        return Failure(f"the answer of {place} is not valid HTTP/1.1 after {received} bytes of its body", unsent=False)
    if received is not None:
        when = "early, before the end of the stream" if streamed else "before the end of the answer"
        return Failure(f"connection closed {when}, {received} bytes received", unsent=False)
    if isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error):
        if "buffer too long" in str(error):
            return Failure(f"the headers of the answer of {place} are too long (more than 100 kB)", unsent=False)
        return Failure(f"{place} did not answer in HTTP/1.1", unsent=False)
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError):
        how = " (connection reset)" if _find(error, ConnectionResetError) else ""
        return Failure(f"server disconnected without a response{how}: {place}", unsent=False)
    return Failure(f"the call to {place} broke: {type(error).__name__}", unsent=False)


def _proxy_failure(error: httpx.ProxyError, place: str) -> Failure:
    status = str(error)[:3]
    if status == "407":
        return Failure("the proxy wants a user and password (407): check `proxy`", True, permanent=True)
    said = f" ({status})" if status.isdigit() else ""
    return Failure(f"the proxy did not connect to {place}{said}", unsent=True)


def _connect_failure(error: httpx.ConnectError, place: str, proxy: str | None) -> Failure:
    certificate = _find(error, ssl.SSLCertVerificationError)
    if certificate is not None:
        reason = (certificate.verify_message or "not valid").rstrip(".")
        # OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH: no authority would change it.
        other_name = certificate.verify_code in (62, 64)
        advice = "call it by a name that stands in it" if other_name else "name the server's authority in `tls.ca_file`"
        advice += ", or set `tls.verify: false` for a server of your own"
        return Failure(f"the certificate of {place} is not trusted: {reason} ({advice})", True, permanent=True)
    tls = _find(error, ssl.SSLError)
    if tls is not None:
        return Failure(f"no TLS connection to {place}: {_tls_reason(tls)}", True, permanent=True)
    # What is left went wrong before the server was reached: with a proxy, on the way to it.
    if proxy is not None:
        place = f"the proxy {proxy}"
    name = _find(error, socket.gaierror)
    if name is not None:
        again = name.errno == socket.EAI_AGAIN
        message = "cannot be looked up just now" if again else "is not known"
        return Failure(f"the name in {place} {message} (DNS); check the address", unsent=True)
    if _find(error, ConnectionRefusedError):
        return Failure(f"connection refused by {place} (is {'it' if proxy else 'the agent'} running?)", unsent=True)
    system = next((cause for cause in _causes(error) if isinstance(cause, OSError) and cause.errno), None)
    if system is not None and system.errno in (errno.EMFILE, errno.ENFILE):
        return Failure("too many open files: lower task_concurrency or raise `ulimit -n`", unsent=True)
    reason = os.strerror(system.errno).lower() if system is not None and system.errno else "the connection broke"
    return Failure(f"no connection to {place}: {reason}", unsent=True)


def _tls_reason(error: ssl.SSLError) -> str:
    reason = (error.reason or "").replace("_", " ").lower()
    if reason in ("wrong version number", "http request", "packet length too long", "record layer failure"):
        return f"{reason} (does the server speak plain http:// here?)"
    return reason or "the other side ended it"


def _find(error: BaseException, kind: type[_E]) -> _E | None:
    return next((cause for cause in _causes(error) if isinstance(cause, kind)), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """``error`` and what is behind it. httpcore cuts ``__cause__`` on the way, so contexts and arguments count too."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            waiting.extend(current.exceptions)
        behind = (current.__cause__, current.__context__, *current.args)
        waiting.extend(cause for cause in behind if isinstance(cause, BaseException))
