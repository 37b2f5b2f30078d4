"""What happens when the way breaks, or a limit is reached."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.net.servers import CERTIFICATES, silent_port, tls_server
from tests.solutions.http_calls import OK, SETUP, answer_of, error_of, http, rendered
from tests.support.player import listening, play
from tui_eval.errors import Resend
from tui_eval.net.trace import TraceContext
from tui_eval.solutions.base import CallContext, Limits
from tui_eval.solutions.http import HttpSolution
from tui_eval.solutions.wording import seconds
from tui_eval.spec.solution_options import HttpOptions


@pytest.mark.parametrize(
    ("path", "words", "raw"),
    [
        ("/chunked-cut", "connection closed before the end of the answer, 16 bytes received", '{"text": "only a'),
        ("/short-length", "connection closed before the end of the answer, 13 bytes received", '{"text": "x"}'),
        ("/reset", "connection closed before the end of the answer, 4 bytes received", '{"te'),
        ("/no-reply", "server disconnected without a response", ""),
    ],
)
async def test_a_body_that_stops_early_is_an_error_with_what_came(path: str, words: str, raw: str) -> None:
    async with play("19-http-truncated") as server:
        error = await error_of(server.url(path), output_extractor="text")
    assert (error.kind, error.resend) == ("connection", Resend.MAYBE_RECEIVED)
    assert words in str(error)
    assert error.partial is not None
    assert (error.partial.raw, error.partial.output) == (raw, None)


async def test_a_cut_gzip_body_is_marked_and_a_false_one_refused() -> None:
    async with play("19-http-truncated") as server:
        found = await answer_of(server.url("/gzip-cut"), output_extractor="text")
        assert "gzip" in found.notes[0]
        error = await error_of(server.url("/gzip-lie"), output_extractor="text")
        assert "content-encoding: gzip" in str(error)


async def test_a_kept_connection_that_went_stale_costs_nothing() -> None:
    async with play({"paths": {"/": OK}}) as server, http(server.url("/"), output_extractor="text") as call:
        for _ in range(5):
            assert (await call()).output == "ok"
        assert len(server.requests) == 5


async def test_a_refused_connection_was_not_sent() -> None:
    async with silent_port() as port:
        pass
    error = await error_of(f"http://127.0.0.1:{port}/", headers={"authorization": "Bearer secret"})
    assert (error.kind, error.resend) == ("connection", Resend.UNSENT)
    assert f"connection refused by 127.0.0.1:{port}" in str(error)
    assert "secret" not in str(error)


async def test_an_unknown_host_and_a_certificate_are_explained() -> None:
    error = await error_of("http://no-such-host.invalid/")
    assert "no-such-host.invalid" in str(error)
    assert error.resend is Resend.UNSENT
    async with tls_server() as url:
        error = await error_of(url)
        assert "certificate" in str(error)
        assert error.resend is Resend.NEVER
        files = {"ca_file": str(CERTIFICATES / "localhost.pem")}
        assert (await answer_of(url, tls=files, method="GET")).output == "ok"
        assert "no/such.pem" in str(await error_of(url, tls={"ca_file": "no/such.pem"}))


async def test_headers_without_end_are_said_so() -> None:
    huge = [{"text": "HTTP/1.1 200 OK\r\nx: " + "a" * 200_000 + "\r\n\r\n"}]
    async with play({"paths": {"/": huge}}) as server:
        assert "the headers of the answer" in str(await error_of(server.url("/")))


async def test_a_status_of_3xx_that_leads_nowhere_is_no_redirect() -> None:
    async with play({"paths": {"/": [{"text": "HTTP/1.1 304 Not Modified\r\n\r\n"}]}}) as server:
        assert str(await error_of(server.url("/"))) == "HTTP 304 Not Modified: no answer (only 2xx is one)"


async def test_something_that_is_not_http_is_said_so() -> None:
    async with play({"paths": {"/": [{"text": "SSH-2.0-OpenSSH_9.6\r\n\r\n"}]}}) as server:
        error = await error_of(server.url("/"))
    assert "did not answer in HTTP/1.1" in str(error)


@pytest.mark.parametrize("end", [[], [{"reset": True}]])
@pytest.mark.parametrize(
    ("begun", "words"),
    [
        ("SSH-2.0-OpenSSH_9.6\r\n", "did not answer in HTTP/1.1"),
        ('{"text": "ok"}', "did not answer in HTTP/1.1"),
        ("HTTP/1.1 200 OK\r\ncont", "connection closed inside the headers of the answer of 127.0.0.1"),
        ("HTTP/1.1 200 OK\r\nbad header\r\n\r\n", "did not answer in HTTP/1.1"),
        ("", "server disconnected without a response"),
    ],
)
async def test_an_answer_that_ends_in_its_head_is_told_by_what_came_of_it(begun: str, words: str, end: Any) -> None:
    async with play({"paths": {"/": [{"text": begun}, {"sleep": 0.2}, *end]}}) as server:
        error = await error_of(server.url("/"))
        assert words in str(error)
        assert (error.kind, error.resend, server.count("/")) == ("connection", Resend.MAYBE_RECEIVED, 1)


async def test_a_bad_proxy_address_is_an_argument_and_not_shown() -> None:
    error = await error_of("http://agent.invalid/", proxy="nonsense-secret")
    assert error.kind == "argument"
    assert "secret" not in str(error)


async def test_a_proxy_that_cannot_be_reached_is_blamed_and_not_the_agent() -> None:
    async with silent_port() as port:
        pass
    error = await error_of("http://agent.invalid/", proxy=f"http://user:secret@127.0.0.1:{port}")
    assert str(error) == f"connection refused by the proxy 127.0.0.1:{port} (is it running?)"
    error = await error_of("http://127.0.0.1:1/", proxy="http://no-such-proxy.invalid:3128")
    assert "the name in the proxy no-such-proxy.invalid:3128 is not known (DNS)" in str(error)


@pytest.mark.parametrize("said", [b"", b"SOCKS5?\r\n\r\n", b"HTTP/1.1 200 Connec"])
async def test_a_proxy_that_breaks_before_the_way_stands_is_blamed_and_the_call_is_unsent(said: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await writer.drain()

    async with listening(serve) as port:
        error = await error_of("https://agent.invalid/", proxy=f"http://127.0.0.1:{port}")
    assert str(error) == "the proxy did not connect to agent.invalid:443"
    assert error.resend is Resend.UNSENT


async def test_a_certificate_for_another_name_is_not_a_matter_of_authorities() -> None:
    async with tls_server() as url:
        files = {"ca_file": str(CERTIFICATES / "localhost.pem")}
        error = await error_of(url.replace("localhost", "127.1"), tls=files)
    assert "call it by a name that stands in it" in str(error)
    assert "tls.ca_file" not in str(error)


async def test_a_chunk_that_cannot_be_read_is_not_a_closed_connection() -> None:
    head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    async with play({"paths": {"/": [{"text": head + "2\r\nok\r\nZZ\r\n"}, {"sleep": 5}]}}) as server:
        error = await error_of(server.url("/"))
    assert "is not valid HTTP/1.1 after 2 bytes of its body" in str(error)
    assert error.partial is not None
    assert error.partial.raw == "ok"


async def test_an_encoding_that_was_never_asked_for_is_refused_before_the_body() -> None:
    head = "HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 3\r\n\r\nabc"
    async with play({"paths": {"/": [{"text": head}]}}) as server:
        error = await error_of(server.url("/"))
    assert str(error) == "content-encoding: br is not supported; ask for gzip or none (header accept-encoding)"


async def test_limits_say_which_one_was_hit() -> None:
    async with silent_port() as port:
        url = f"http://127.0.0.1:{port}/"
        error = await error_of(url, {"total": 0.1})
        assert (error.kind, str(error)) == ("timed_out", "timed out: total 0.1 s (no response)")
        assert error.resend is Resend.MAYBE_RECEIVED
        error = await error_of(url.replace("http:", "https:"), {"connect": 0.1})
        assert str(error).startswith("timed out: connect 0.1 s")
        assert error.resend is Resend.UNSENT


def test_what_is_left_of_a_limit_is_told_to_the_millisecond() -> None:
    assert [seconds(value) for value in (0.0499983, 0.0004, 3600.0, 2.5)] == ["0.05 s", "0.0004 s", "3600 s", "2.5 s"]


async def test_a_dripping_json_body_ends_at_the_total_limit_and_a_silent_one_at_the_idle_limit() -> None:
    head = {"text": "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n"}
    drip = [head, {"repeat": 100, "steps": [{"text": "x"}, {"sleep": 0.03}]}]
    async with play({"paths": {"/drip": drip, "/stop": [head, {"text": "xx"}, {"sleep": 30}]}}) as server:
        error = await error_of(server.url("/drip"), {"total": 0.3, "idle": 0.2})
        assert str(error).startswith("timed out: total 0.3 s (")
        error = await error_of(server.url("/stop"), {"total": 3, "idle": 0.1})
        assert str(error) == "timed out: idle 0.1 s (no byte for 0.1 s; total limit 3 s)"
        assert error.partial is not None
        assert error.partial.raw == "xx"


async def test_thinking_time_is_not_silence_within_an_answer() -> None:
    async with play({"paths": {"/": [{"sleep": 0.2}, *OK]}}) as server:
        assert (await answer_of(server.url("/"), {"idle": 0.1})).status_code == 200


async def test_a_cancelled_call_closes_its_connection() -> None:
    drip = {"repeat": 900, "steps": [{"text": " "}, {"sleep": 0.01}]}
    steps = [{"text": "HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n"}, drip]
    async with play({"paths": {"/": steps}}) as server, http(server.url("/")) as call:
        task = asyncio.create_task(call())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.1)
        assert server.closed == 1


async def test_people_can_watch_what_a_call_does() -> None:
    phases: list[str] = []
    events = [{"text": "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: a\n\n"}]
    async with play({"paths": {"/": events}}) as server:
        solution = HttpSolution(HttpOptions(url=server.url("/")), SETUP)
        await solution.call(
            rendered({"url": server.url("/")}), CallContext(Limits(), TraceContext.new(), phases.append)
        )
        await solution.aclose()
    assert phases == ["connecting", "calling", "streaming"]


async def test_a_head_request_has_an_empty_output() -> None:
    async with play({"paths": {"/": [{"text": "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"}]}}) as server:
        assert (await answer_of(server.url("/"), method="HEAD")).output == ""
