"""The one way out to HTTP servers: a free list of one-connection httpx transports.

One httpx pool for many connections costs time in the square of their number (httpcore 1.0.9 looks at all of them for
each request and each release). Here every connection has a transport of its own; the one that was free last is taken
first. A connection returns to the list only when its answer was read to the end and nothing came after it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import httpx

from tui_eval.net.failures import HeadCut
from tui_eval.net.proxies import environment_proxy

KEEP_SECONDS = 4.0
"""An idle connection older than this is closed: many servers close theirs after 5 seconds."""

LATE_SECONDS = 0.25
"""A server that had closed an idle connection says so within a round trip. What ends later was being worked on."""

Origin = tuple[str, str, int]

_DEFAULT_PORTS = {"http": 80, "https": 443}
_ONE = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=None)
_LOST = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


class DeadlineExceeded(TimeoutError):
    """The deadline came before the head of a response. ``connected`` is False when no connection stood by then."""

    def __init__(self, connected: bool) -> None:
        super().__init__("no response before the deadline" if connected else "no connection before the deadline")
        self.connected = connected


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """How servers are believed: ``ca_file``, ``client_cert`` and ``client_key`` are paths of PEM files."""

    verify: bool = True
    ca_file: str | None = None
    client_cert: str | None = None
    client_key: str | None = None


@lru_cache(maxsize=64)
def tls_context(files: TlsFiles) -> ssl.SSLContext:
    """The context for ``files``, made once (it reads about 150 certificates, 60 ms).

    Trusted are the authorities of ``ca_file`` alone; else those of SSL_CERT_FILE or SSL_CERT_DIR alone; else the
    system's and the ``certifi`` package's (a minimal container has none of its own). Raises OSError (which
    ``ssl.SSLError`` is) for a file that cannot be used.
    """
    for path in (files.ca_file, files.client_cert, files.client_key):
        if path and not os.path.isfile(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if files.ca_file:
        context = ssl.create_default_context(cafile=files.ca_file)
    else:
        context = ssl.create_default_context()
        if not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
            import certifi

            context.load_verify_locations(certifi.where())
    if not files.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if files.client_cert:
        context.load_cert_chain(files.client_cert, files.client_key)
    return context


@lru_cache(maxsize=1)
def _no_tls() -> ssl.SSLContext:
    """A context that plain connections are given and never use: httpx would make a full one for each of them."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass(slots=True)
class _Link:
    """One transport with its one connection. ``stream`` is the socket of the last answer, None when it is new."""

    origin: Origin
    transport: httpx.AsyncHTTPTransport
    stream: Any = None
    free_since: float = 0.0

    def _http11(self) -> Any:
        """httpcore's HTTP/1.1 connection; inside a proxy's or a plain connection it is the innermost one.

        Neither httpx nor httpcore shows it, but without it a server that sends more than it announced could slip the
        rest in as the answer to the next request. None (never reused) if a later httpcore is built otherwise.
        """
        connections = self.transport._pool.connections
        inner: Any = connections[0] if len(connections) == 1 else None
        while inner is not None and not hasattr(inner, "_h11_state"):
            inner = getattr(inner, "_connection", None)
        return inner

    def reusable(self) -> bool:
        """True when the connection is idle, open, and nothing was received after the last answer."""
        connection = self._http11()
        return connection is not None and connection.is_idle() and not connection._h11_state.trailing_data[0]

    def alive(self, now: float) -> bool:
        """True when it is not too old and the server has neither closed it nor sent anything since."""
        return now - self.free_since < KEEP_SECONDS and not self.stream.get_extra_info("is_readable")


class Transport:
    """Sends requests over kept connections. ``proxy`` is used for every host; without it the proxies that
    ``environment`` names. Nothing is opened, and no certificate read, before the first request.

    Redirects, cookies, authentication and content-encoding are the caller's business.
    """

    def __init__(
        self,
        *,
        proxy: str | None = None,
        environment: Mapping[str, str] | None = None,
        tls: TlsFiles | None = None,
    ) -> None:
        self._proxy = proxy
        self._environment = os.environ if environment is None else environment
        self._tls = tls or TlsFiles()
        self._free: dict[Origin, deque[_Link]] = {}
        self._closed = False

    async def send(
        self,
        request: httpx.Request,
        *,
        connect: float | None,
        deadline: float | None,
        on_phase: Callable[[str], None] | None = None,
    ) -> httpx.Response:
        """Send and wait for the head of the response; its ``stream`` is the body as it comes over the wire.

        The caller must ``aclose`` the response, whatever happens; one that was not read to the end closes its
        connection. ``connect`` is the most seconds until the connection stands (name look-up, proxy and TLS
        included), ``deadline`` the loop time by which the head must be there. ``on_phase`` is told ``connecting`` and
        ``calling`` when a new connection is opened.

        A kept connection that the server had closed meanwhile (it ends before one byte of an answer, and at once) is
        replaced by a new one, once. Raises httpx.TransportError, :class:`DeadlineExceeded`, OSError (certificate files),
        ValueError (a proxy address that cannot be used).
        """
        origin = _origin(request.url)
        link = await self._take(origin)
        if link is not None:
            connection = link._http11()
            sent = asyncio.get_running_loop().time()
            try:
                return await self._send_on(link, request, deadline)
            except _LOST as error:
                if begun := _cut_head(error, connection):
                    raise HeadCut(begun) from error
                late = asyncio.get_running_loop().time() - sent > LATE_SECONDS
                if late or connection is None or connection._h11_state.trailing_data[0]:
                    raise
        return await self._send_anew(origin, request, connect, deadline, on_phase)

    def proxy_place(self, url: httpx.URL) -> str | None:
        """``host:port`` of the proxy that calls of ``url`` go through, None when they go straight."""
        proxy = self._proxy_for(_origin(url))
        if proxy is None:
            return None
        _, host, port = _origin(httpx.URL(proxy))
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _proxy_for(self, origin: Origin) -> str | None:
        return self._proxy or environment_proxy(*origin, self._environment)

    async def aclose(self) -> None:
        """Close all idle connections; those in use close when their response does."""
        self._closed = True
        links = [link for free in self._free.values() for link in free]
        self._free.clear()
        for link in links:
            await link.transport.aclose()

    async def _send_on(self, link: _Link, request: httpx.Request, deadline: float | None) -> httpx.Response:
        try:
            async with asyncio.timeout_at(deadline):
                return self._answered(link, await link.transport.handle_async_request(request))
        except TimeoutError:
            await link.transport.aclose()
            raise DeadlineExceeded(connected=True) from None
        except BaseException:
            await link.transport.aclose()
            raise

    async def _send_anew(
        self,
        origin: Origin,
        request: httpx.Request,
        connect: float | None,
        deadline: float | None,
        on_phase: Callable[[str], None] | None,
    ) -> httpx.Response:
        link = self._open(origin)
        stands = False
        socket: Any = None
        connection: Any = None
        connect_by = None if connect is None else asyncio.get_running_loop().time() + connect
        first = min((limit for limit in (connect_by, deadline) if limit is not None), default=None)
        if on_phase is not None:
            on_phase("connecting")
        try:
            async with asyncio.timeout_at(first) as timer:

                async def watch(name: str, info: dict[str, Any]) -> None:
                    nonlocal stands, socket, connection
                    if name == "connection.connect_tcp.complete":
                        socket = info["return_value"]
                    # The request to a proxy to open a tunnel is still part of connecting.
                    elif name == "http11.send_request_headers.started" and info["request"].method != b"CONNECT":
                        stands = True
                        connection = link._http11()
                        if not timer.expired():
                            timer.reschedule(deadline)
                        if on_phase is not None:
                            on_phase("calling")

                request.extensions = {**request.extensions, "trace": watch}
                return self._answered(link, await link.transport.handle_async_request(request))
        except BaseException as error:
            await link.transport.aclose()
            if socket is not None:
                await socket.aclose()  # httpcore leaves it open when a TLS handshake is cancelled
            if begun := _cut_head(error, connection):
                raise HeadCut(begun) from error
            if isinstance(error, _LOST) and not stands and self._proxy_for(origin):
                raise httpx.ProxyError("no usable answer to CONNECT", request=request) from error
            if not isinstance(error, TimeoutError):
                raise
            if stands or first != connect_by:
                raise DeadlineExceeded(connected=stands) from None
            raise httpx.ConnectTimeout(f"no connection within {connect:g} s", request=request) from None
        finally:
            request.extensions = {name: value for name, value in request.extensions.items() if name != "trace"}

    def _answered(self, link: _Link, response: httpx.Response) -> httpx.Response:
        link.stream = response.extensions["network_stream"]
        response.stream = _Body(response.stream, link, self)
        return response

    def _open(self, origin: Origin) -> _Link:
        proxy = self._proxy_for(origin)
        context = tls_context(self._tls) if origin[0] == "https" else _no_tls()
        return _Link(
            origin,
            httpx.AsyncHTTPTransport(
                verify=context, trust_env=False, limits=_ONE, proxy=proxy_of(proxy, self._tls) if proxy else None
            ),
        )

    async def _take(self, origin: Origin) -> _Link | None:
        """The connection that was free last and still lives; None when there is none."""
        free = self._free.get(origin)
        now = asyncio.get_running_loop().time()
        while free:
            link = free.pop()
            if link.alive(now):
                return link
            await link.transport.aclose()
        return None

    async def _give_back(self, link: _Link) -> None:
        if self._closed or not link.reusable():
            await link.transport.aclose()
            return
        now = link.free_since = asyncio.get_running_loop().time()
        free = self._free.setdefault(link.origin, deque())
        free.append(link)
        while free and now - free[0].free_since >= KEEP_SECONDS:
            await free.popleft().transport.aclose()


class _Body(httpx.AsyncByteStream):
    """The body of one response; closing it decides what becomes of its connection."""

    def __init__(self, stream: Any, link: _Link, transport: Transport) -> None:
        self._stream = stream
        self._link = link
        self._transport = transport
        self._read = False
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part
        self._read = True

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            await self._stream.aclose()
        finally:
            if self._read:
                await self._transport._give_back(self._link)
            else:
                await self._link.transport.aclose()


def proxy_of(address: str, tls: TlsFiles) -> httpx.Proxy:
    """The proxy at ``address`` (``http://[user:password@]host[:port]``). Raises ValueError; never shows the address."""
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(
            "the proxy's address (`proxy`, or http_proxy, https_proxy, all_proxy of the environment) cannot be used: "
            "expected http://host:port or https://host:port"
        )
    return httpx.Proxy(url, ssl_context=tls_context(tls) if url.scheme == "https" else None)


def _cut_head(error: BaseException, connection: Any) -> bytes:
    """What had come of an answer when its connection ended inside its head; empty for any other error. ``connection`` is
    httpcore's HTTP/1.1 one."""
    ended = isinstance(error, httpx.ReadError) or "disconnected" in str(error)
    if connection is None or not ended or not isinstance(error, _LOST):
        return b""
    return bytes(connection._h11_state.trailing_data[0])


def _origin(url: httpx.URL) -> Origin:
    return url.scheme, url.host, url.port or _DEFAULT_PORTS.get(url.scheme, 0)
