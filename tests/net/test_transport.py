"""Connections: who has which, what ends them, and what a limit, a proxy and TLS do to a call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.net.servers import CERTIFICATES, silent_port, tls_server
from tests.support.player import answer, listening, play
from tui_eval.net.failures import failure_of
from tui_eval.net.transport import DeadlineExceeded, TlsFiles, Transport, proxy_of, tls_context


@asynccontextmanager
async def transport(**options: Any) -> AsyncIterator[Transport]:
    made = Transport(environment=options.pop("environment", {}), **options)
    try:
        yield made
    finally:
        await made.aclose()


async def get(way: Transport, url: str, deadline: float | None = None, connect: float | None = 5.0) -> bytes:
    by = None if deadline is None else asyncio.get_running_loop().time() + deadline
    response = await way.send(httpx.Request("GET", url), connect=connect, deadline=by)
    try:
        return b"".join([part async for part in response.stream])  # type: ignore[union-attr]
    finally:
        await response.aclose()


async def test_one_connection_serves_calls_that_follow_each_other() -> None:
    async with play({"paths": {"/": answer("1")}, "keep": True}) as server, transport() as way:
        for _ in range(5):
            assert await get(way, server.url("/")) == b"1"
        assert server.connections == 1


async def test_calls_at_the_same_time_have_a_connection_each_and_the_last_free_is_taken_first() -> None:
    steps = [{"sleep": 0.05}, *answer("1")]
    async with play({"paths": {"/": answer("1"), "/slow": steps}, "keep": True}) as server, transport() as way:
        await asyncio.gather(*(get(way, server.url("/slow")) for _ in range(4)))
        assert server.connections == 4
        for _ in range(5):
            await get(way, server.url("/"))
        assert server.connections == 4


async def test_a_half_read_answer_closes_its_connection() -> None:
    steps = [{"text": "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc"}, {"sleep": 30}]
    async with play({"paths": {"/half": steps, "/": answer("1")}, "keep": True}) as server, transport() as way:
        response = await way.send(httpx.Request("GET", server.url("/half")), connect=5, deadline=None)
        await response.aclose()
        assert await get(way, server.url("/")) == b"1"
        assert server.connections == 2


async def test_a_cancelled_call_closes_its_connection_and_no_other_call_gets_its_answer() -> None:
    steps = [{"sleep": 0.1}, *answer("late")]
    async with play({"paths": {"/late": steps, "/": answer("own")}, "keep": True}) as server, transport() as way:
        await get(way, server.url("/"))
        call = asyncio.create_task(get(way, server.url("/late")))
        await asyncio.sleep(0.03)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.sleep(0.1)
        assert await get(way, server.url("/")) == b"own"
        assert server.connections == 2


async def test_bytes_after_an_answer_are_never_the_answer_to_the_next_request() -> None:
    extra = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwrong".hex()
    paths = {"/more": [*answer("1"), {"hex": extra}], "/late": [*answer("1"), {"sleep": 0.02}, {"hex": extra}]}
    paths["/both"] = [{"hex": answer("1")[0]["hex"] + extra}]
    async with play({"paths": {**paths, "/": answer("right")}, "keep": True}) as server, transport() as way:
        for path in paths:
            assert await get(way, server.url(path)) == b"1"
            await asyncio.sleep(0.05)
            assert await get(way, server.url("/")) == b"right"


async def test_a_kept_connection_that_the_server_closes_at_the_next_request_is_replaced_once() -> None:
    """The server closes as the request arrives, so nothing could be seen before it was sent."""
    served: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(served)
        served.append(0)
        while served[number] < 1 or number > 0:
            await reader.readuntil(b"\r\n\r\n")
            served[number] += 1
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n%d" % number)
        await reader.readuntil(b"\r\n\r\n")

    async with listening(serve) as port, transport() as way:
        url = f"http://127.0.0.1:{port}/"
        assert await get(way, url) == b"0"
        assert await get(way, url) == b"1"
        assert served == [1, 1]


async def test_a_new_connection_without_a_response_is_not_tried_again() -> None:
    async with play({"paths": {"/": []}}) as server, transport() as way:
        with pytest.raises(httpx.RemoteProtocolError):
            await get(way, server.url("/"))
        assert server.count("/") == 1


async def test_a_kept_connection_that_ends_after_the_agent_has_worked_for_a_while_is_not_tried_again() -> None:
    """It was not closed meanwhile: the agent had the call, and died of it."""
    paths = {"/": answer("1"), "/dies": [{"sleep": 0.35}, {"reset": True}]}
    async with play({"paths": paths, "keep": True}) as server, transport() as way:
        await get(way, server.url("/"))
        with pytest.raises(httpx.TransportError):
            await get(way, server.url("/dies"))
        assert server.count("/dies") == 1
        assert server.connections == 1


async def test_a_kept_connection_that_breaks_inside_a_response_is_not_tried_again() -> None:
    paths = {"/": answer("1"), "/cut": [{"text": "HTTP/1.1 200 OK\r\ncont"}, {"reset": True}]}
    async with play({"paths": paths, "keep": True}) as server, transport() as way:
        await get(way, server.url("/"))
        with pytest.raises(httpx.TransportError):
            await get(way, server.url("/cut"))
        assert server.count("/cut") == 1


async def test_an_old_idle_connection_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_eval.net.transport.KEEP_SECONDS", 0.02)
    async with play({"paths": {"/": answer("1")}, "keep": True}) as server, transport() as way:
        await get(way, server.url("/"))
        await asyncio.sleep(0.03)
        await get(way, server.url("/"))
        assert server.connections == 2


async def test_the_deadline_holds_on_new_and_on_kept_connections() -> None:
    async with (
        play({"paths": {"/": answer("1"), "/hang": [{"sleep": 30}]}, "keep": True}) as server,
        transport() as way,
    ):
        for _ in range(2):
            with pytest.raises(DeadlineExceeded) as caught:
                await get(way, server.url("/hang"), deadline=0.05)
            assert caught.value.connected
            await get(way, server.url("/"))


async def test_the_connect_limit_covers_the_tls_handshake() -> None:
    async with silent_port() as port, transport(tls=TlsFiles(verify=False)) as way:
        with pytest.raises(httpx.ConnectTimeout):
            await get(way, f"https://127.0.0.1:{port}/", connect=0.05, deadline=5)
        with pytest.raises(DeadlineExceeded) as caught:
            await get(way, f"https://127.0.0.1:{port}/", connect=5, deadline=0.05)
        assert not caught.value.connected


async def test_the_connect_limit_covers_a_proxy_that_does_not_answer() -> None:
    async with silent_port() as port, transport(proxy=f"http://127.0.0.1:{port}") as way:
        with pytest.raises(httpx.ConnectTimeout):
            await get(way, "https://agent.invalid/", connect=0.05, deadline=5)


async def test_a_connection_that_stands_has_no_connect_limit_any_more() -> None:
    async with play({"paths": {"/": [{"sleep": 0.1}, *answer("1")]}}) as server, transport() as way:
        assert await get(way, server.url("/"), connect=0.05) == b"1"


async def test_a_server_is_believed_by_the_authority_that_is_named() -> None:
    files = TlsFiles(ca_file=str(CERTIFICATES / "localhost.pem"))
    async with tls_server() as url, transport(tls=files) as way:
        assert [await get(way, url) for _ in range(2)] == [b"ok", b"ok"]
        assert tls_context(files) is tls_context(TlsFiles(ca_file=files.ca_file))


async def test_an_unknown_certificate_is_refused_with_advice() -> None:
    async with tls_server() as url, transport() as way:
        with pytest.raises(httpx.ConnectError) as caught:
            await get(way, url)
    failure = failure_of(caught.value, "localhost:1")
    assert failure.unsent
    assert failure.permanent
    assert "certificate" in failure.message
    assert "tls.ca_file" in failure.message


async def test_https_to_a_plain_server_is_explained() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    async with listening(plain) as port, transport() as way:
        with pytest.raises(httpx.ConnectError) as caught:
            await get(way, f"https://127.0.0.1:{port}/")
    message = failure_of(caught.value, "localhost:1").message
    assert "TLS" in message
    assert "plain http" in message


async def test_a_missing_certificate_file_is_named() -> None:
    async with transport(tls=TlsFiles(ca_file="/no/such.pem")) as way:
        with pytest.raises(FileNotFoundError, match=r"/no/such\.pem"):
            await get(way, "https://localhost:1/")


async def test_a_named_proxy_is_used_and_gets_its_credentials() -> None:
    async with play({"paths": {"http://agent.invalid/x": answer("by proxy")}}) as server:
        proxy = server.base_url.replace("http://", "http://user:pass%40word@")
        async with transport(proxy=proxy) as way:
            assert await get(way, "http://agent.invalid/x") == b"by proxy"
        assert server.requests[0].headers["proxy-authorization"] == "Basic dXNlcjpwYXNzQHdvcmQ="


async def test_the_environment_names_a_proxy_but_not_for_loopback() -> None:
    async with play({"paths": {"http://agent.invalid/x": answer("by proxy"), "/": answer("direct")}}) as server:
        environment = {"HTTP_PROXY": server.base_url}
        async with transport(environment=environment) as way:
            assert await get(way, "http://agent.invalid/x") == b"by proxy"
            assert await get(way, server.url("/")) == b"direct"


@pytest.mark.parametrize("address", ["socks9://secret:1", "ftp://secret", "http://", "secret:1:2"])
def test_a_proxy_address_that_cannot_be_used_is_refused_without_showing_it(address: str) -> None:
    with pytest.raises(ValueError, match="proxy") as caught:
        proxy_of(address, TlsFiles())
    assert "secret" not in str(caught.value)


async def test_refused_names_and_unknown_hosts_are_told_apart() -> None:
    async with silent_port() as port:
        pass
    async with transport() as way:
        with pytest.raises(httpx.ConnectError) as caught:
            await get(way, f"http://127.0.0.1:{port}/")
        assert failure_of(caught.value, f"127.0.0.1:{port}").message.startswith(
            f"connection refused by 127.0.0.1:{port}"
        )
        with pytest.raises(httpx.ConnectError) as caught:
            await get(way, "http://no-such-host.invalid/")
        failure = failure_of(caught.value, "no-such-host.invalid:80")
        assert "no-such-host.invalid" in failure.message
        assert "DNS" in failure.message
        assert failure.unsent


async def test_a_closed_transport_keeps_nothing() -> None:
    async with play({"paths": {"/": answer("1")}, "keep": True}) as server:
        way = Transport(environment={})
        response = await way.send(httpx.Request("GET", server.url("/")), connect=5, deadline=None)
        await way.aclose()
        assert [part async for part in response.stream] == [b"1"]  # type: ignore[union-attr]
        await response.aclose()
        await asyncio.sleep(0.02)
        assert server.closed == 1
