"""What is sent, what a status means, and what happens when the way breaks."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.net.test_transport import CERTIFICATES, silent_port, tls_server
from tests.solutions.http_calls import SETUP, answer_of, context, error_of, http, rendered
from tests.support.player import Asked, answer, listening, play
from tui_eval.errors import Resend, SolutionError
from tui_eval.net.trace import TraceContext
from tui_eval.solutions.base import CallContext, Limits
from tui_eval.solutions.http import HttpSolution
from tui_eval.solutions.wording import seconds
from tui_eval.spec.solution_options import HttpOptions

OK = answer('{"text": "ok"}')


async def sent(path: str = "/", **options: Any) -> Asked:
    async with play({"paths": {path.partition("?")[0]: OK}}) as server:
        await answer_of(server.url(path), **options)
        return server.requests[0]


# What is sent


async def test_a_body_is_sent_as_json_with_its_characters() -> None:
    asked = await sent(body={"q": "né\u2028🎈", "n": None, "x": 1.5})
    assert asked.method == "POST"
    assert asked.headers["content-type"] == "application/json"
    assert json.loads(asked.body) == {"q": "né\u2028🎈", "n": None, "x": 1.5}
    assert "né".encode() in asked.body
    assert asked.headers["user-agent"].startswith("tui-eval/")
    assert asked.headers["accept-encoding"] == "gzip, deflate"


async def test_half_an_emoji_in_a_body_is_sent_as_an_escape() -> None:
    assert (await sent(body={"q": "\ud83d"})).body == b'{"q":"\\ud83d"}'


@pytest.mark.parametrize("body", [{"text": "a\ud83d"}, {"form": {"a": ["b", "\udc80"]}}])
async def test_half_an_emoji_is_never_replaced_unsaid_where_no_escape_can_carry_it(body: Any) -> None:
    error = await error_of("http://127.0.0.1:1/", **body)
    assert (error.kind, "half of a surrogate pair" in str(error)) == ("argument", True)


async def test_a_body_that_json_does_not_have_is_refused() -> None:
    error = await error_of("http://127.0.0.1:1/", body={"q": float("nan")})
    assert (error.kind, "body" in str(error)) == ("argument", True)


async def test_a_form_and_a_query_are_encoded_and_the_own_query_stays() -> None:
    asked = await sent(
        "/x?a=1", form={"q": "a b&c", "list": [1, True], "none": None}, params={"é": "x/y", "b": {"c": 1}}
    )
    assert asked.body == b"q=a+b%26c&list=1&list=true"
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    assert asked.target == "/x?a=1&%C3%A9=x%2Fy&b=%7B%22c%22%3A%201%7D"


async def test_a_text_is_sent_as_it_is() -> None:
    asked = await sent(text="naïve\n")
    assert asked.body == "naïve\n".encode()
    assert asked.headers["content-type"] == "text/plain; charset=utf-8"


async def test_the_users_headers_win_except_those_of_the_connection() -> None:
    headers = {"Content-Type": "application/x-own", "Connection": "close", "Content-Length": "999", "X-Tab": "a\tb é "}
    asked = await sent(body={}, headers={**headers, "accept-encoding": "identity", "user-agent": "mine"})
    assert asked.headers["content-type"] == "application/x-own"
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.headers["user-agent"] == "mine"
    assert asked.headers["content-length"] == "2"
    assert asked.headers["x-tab"] == "a\tb é"
    assert "connection" not in asked.headers


@pytest.mark.parametrize("value", ["sec\r\nx: y", "sec\n", "sec\0", "sec\u2028", "sec€", None, ["sec"]])
async def test_a_header_that_cannot_be_sent_is_named_without_its_value(value: Any) -> None:
    solution = HttpSolution(HttpOptions(url="http://127.0.0.1:1/", method="GET"), SETUP)
    with pytest.raises(SolutionError) as caught:
        await solution.call(rendered({"url": "http://127.0.0.1:1/", "headers": {"X-Key": value}}), context())
    assert caught.value.kind == "argument"
    assert "x-key" in str(caught.value)
    assert "sec" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "a:b", "é", "a\nb"])
async def test_an_impossible_header_name_is_refused(name: str) -> None:
    assert (await error_of("http://127.0.0.1:1/", headers={name: "x"})).kind == "argument"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/path",
        "ftp://h/",
        "http://",
        "http://h:99999999/",
        "http://h:65536/",
        "http://h:0/",
        "http://xn--/",
        "http://a b/",
        "http://h/a\nb",
        "http://[::1",
        "file:///etc/passwd",
    ],
)
async def test_what_is_no_http_address_is_refused_before_anything_is_sent(url: str) -> None:
    error = await error_of(url)
    assert error.kind == "argument"
    assert "url" in str(error)


async def test_a_user_and_password_in_the_address_are_sent_as_credentials() -> None:
    async with play({"paths": {"/": OK}}) as server:
        await answer_of(server.url("/").replace("http://", "http://me:p%40ss@"))
        assert server.requests[0].headers["authorization"] == "Basic bWU6cEBzcw=="


async def test_trace_context_is_sent_and_the_users_own_wins() -> None:
    trace = TraceContext("a" * 32, "b" * 16, {"run id": "1,2"})
    async with play({"paths": {"/": OK}}) as server:
        for headers in ({}, {"Traceparent": f"00-{'c' * 32}-{'d' * 16}-01", "baggage": "own=1"}):
            solution = HttpSolution(HttpOptions(url=server.url("/")), SETUP)
            found = await solution.call(
                rendered({"url": server.url("/"), "headers": headers}), CallContext(Limits(), trace)
            )
            await solution.aclose()
            assert found.trace_id == ("c" if headers else "a") * 32
        first, second = server.requests
    assert first.headers["traceparent"] == f"00-{'a' * 32}-{'b' * 16}-01"
    assert first.headers["baggage"] == "run%20id=1%2C2"
    assert second.headers["traceparent"].startswith("00-ccc")
    assert second.headers["baggage"] == "own=1,run%20id=1%2C2"


async def test_the_agents_own_trace_id_is_taken() -> None:
    async with play({"paths": {"/": answer('""', headers=f"EagleEye-TraceId: {'e' * 32}\r\n")}}) as server:
        assert (await answer_of(server.url("/"))).trace_id == "e" * 32


def test_the_preview_is_what_is_sent_with_references_in_place() -> None:
    options = HttpOptions(url="http://x", body={"q": 1}, params={"key": "${KEY}"}, method="put")
    shown = {
        "url": "${BASE}/invoke",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
        "body": {"q": "né"},
        "params": {"key": "${KEY}"},
    }
    preview = HttpSolution(options, SETUP).preview(rendered({}, shown))
    assert preview["method"] == "PUT"
    assert preview["url"] == "${BASE}/invoke?key=${KEY}"
    assert preview["headers"]["authorization"] == "Bearer ${TOKEN}"
    assert preview["body"] == {"q": "né"}
    json.dumps(preview)


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/a/../b/./c", "/b/c"),
        ("/users/../admin?x=/../y", "/admin?x=/../y"),
        ("/../../x", "/x"),
        ("//a//../b/", "//a/b/"),
        ("/a/..", "/"),
        ("/.hidden/x...", "/.hidden/x..."),
    ],
)
async def test_a_preview_shows_where_the_dots_of_a_path_lead(path: str, target: str) -> None:
    async with play({"paths": {target.partition("?")[0]: OK}}) as server:
        solution = HttpSolution(HttpOptions(url=server.url(path)), SETUP)
        request = rendered({"url": server.url(path)})
        await solution.call(request, context())
        await solution.aclose()
        assert server.requests[0].target == target
        assert solution.preview(request)["url"] == server.url(target)


def test_a_preview_tells_of_the_credentials_that_an_address_becomes() -> None:
    solution = HttpSolution(HttpOptions(url="http://h/"), SETUP)
    url = "http://me:${PASSWORD}@h/a@b"
    assert solution.preview(rendered({"url": url}))["headers"]["authorization"] == "(Basic, from the address)"
    own = solution.preview(rendered({"url": url, "headers": {"Authorization": "Own x"}}))
    assert own["headers"]["authorization"] == "Own x"
    assert "authorization" not in solution.preview(rendered({"url": "http://h/a@b"}))["headers"]
    assert solution.preview(rendered({"url": "${BASE}/../x"}))["url"] == "${BASE}/../x"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://Example.COM/x", "example.com"),
        ("http://example.com:80", "example.com"),
        ("https://example.com:443/", "example.com"),
        ("https://example.com:80/", "example.com:80"),
        ("http://user:pw@h:8080?x", "h:8080"),
        ("http://[::1]:9/", "[::1]:9"),
        ("nonsense", None),
        ("http://h:port", None),
    ],
)
def test_limits_apply_to_host_and_port(url: str, host: str | None) -> None:
    assert HttpSolution(HttpOptions(url=url), SETUP).host(rendered({"url": url})) == host


# What a status means


@pytest.mark.parametrize(
    ("path", "kind", "resend", "wait", "words"),
    [
        ("/seconds", "rate_limited", Resend.REJECTED, 1.0, "slow"),
        ("/date-past", "rate_limited", Resend.REJECTED, None, "429"),
        ("/day", "rate_limited", Resend.REJECTED, 86400.0, "daily"),
        ("/quota", "quota", Resend.NEVER, None, "quota used up (HTTP 429 Too Many Requests): plan used up"),
        ("/garbage", "http_status", Resend.REJECTED, None, "HTTP 503 Service Unavailable: busy"),
        ("/negative", "rate_limited", Resend.REJECTED, None, "429"),
        ("/fraction", "rate_limited", Resend.REJECTED, 0.5, "429"),
        ("/always", "rate_limited", Resend.REJECTED, 0.0, "429"),
        ("/bad-request", "http_status", Resend.NEVER, None, "HTTP 400 Bad Request: no such field"),
    ],
)
async def test_rate_limits_and_used_up_quotas_are_told_apart(
    path: str, kind: str, resend: Resend, wait: float | None, words: str
) -> None:
    async with play("17-http-429-retry-after") as server:
        error = await error_of(server.url(path))
        assert server.count(path) == 1
    assert (error.kind, error.resend, error.retry_after) == (kind, resend, wait)
    assert words in str(error)
    assert error.partial is not None
    assert error.partial.status_code in (400, 429, 503)


async def test_a_date_far_away_is_a_long_wait() -> None:
    async with play("17-http-429-retry-after") as server:
        error = await error_of(server.url("/date-future"))
    assert error.retry_after is not None
    assert error.retry_after > 10**8


@pytest.mark.parametrize(
    ("status", "resend"),
    [
        ("401", "never"),
        ("404", "never"),
        ("408", "rejected"),
        ("500", "maybe_received"),
        ("501", "never"),
        ("502", "maybe_received"),
        ("504", "maybe_received"),
        ("599", "maybe_received"),
        ("418", "never"),
    ],
)
async def test_each_status_says_whether_trying_again_is_safe(status: str, resend: str) -> None:
    async with play({"paths": {"/": answer("<h1>\n\n no</h1>", "text/html", status=status)}}) as server:
        error = await error_of(server.url("/"), output_extractor="text")
    assert (error.kind, error.resend) == ("http_status", resend)
    assert str(error).startswith(f"HTTP {status}")
    assert str(error).endswith(": <h1> no</h1>")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error": {"message": "a"}}', "a"),
        ('{"error": "b"}', "b"),
        ('{"detail": [{"msg": "c"}]}', '[{"msg": "c"}]'),
        ('{"message": "d"}', "d"),
        ("[1]", "[1]"),
    ],
)
async def test_the_reason_of_a_bad_status_is_found(body: str, said: str) -> None:
    async with play({"paths": {"/": answer(body, status="409 x")}}) as server:
        assert str(await error_of(server.url("/"))) == f"HTTP 409 Conflict: {said}"


async def test_a_bad_status_counts_even_when_its_body_breaks_floods_or_hangs() -> None:
    head = "HTTP/1.1 500 x\r\ncontent-length: 900000\r\n\r\nwhy"
    paths = {
        "/cut": [{"text": head}],
        "/hang": [{"text": head}, {"sleep": 30}],
        "/flood": [{"text": head}, {"repeat": 800, "steps": [{"text": "x" * 1000}]}],
        "/lie": [{"text": "HTTP/1.1 500 x\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nwhy"}],
    }
    async with play({"paths": paths}) as server:
        for path in paths:
            error = await error_of(server.url(path), {"total": 0.3})
            assert str(error).startswith("HTTP 500 Internal Server Error: why"), path


async def test_a_post_is_never_sent_on() -> None:
    where = "location: /new?key=secret\r\n"
    async with play({"paths": {"/": answer("", status="307 x", headers=where), "/new": OK}}) as server:
        error = await error_of(server.url("/"), body={})
        assert (error.kind, len(server.requests)) == ("http_status", 1)
        assert server.url("/new?…") in str(error)
        assert "secret" not in str(error)
        assert "follow_redirects" not in str(error)


async def test_a_get_follows_with_its_headers_inside_one_origin_only() -> None:
    async with play({"paths": {"/": OK}}) as other:
        paths = {
            "/far": answer("", status="302 x", headers=f"location: {other.url('/')}\r\n"),
            "/near": answer("", status="301 x", headers="location: ../far\r\n"),
        }
        async with play({"paths": paths}) as server:
            headers = {"Authorization": "Bearer s", "x-api-key": "s", "cookie": "s", "accept-language": "en"}
            found = await answer_of(server.url("/near"), method="GET", headers=headers, output_extractor="text")
            assert found.output == "ok"
            assert found.detail["redirects"] == [server.url("/far"), other.url("/")]
            assert server.requests[1].headers["authorization"] == "Bearer s"
        asked = other.requests[0].headers
        assert "s" not in asked.values()
        assert asked["accept-language"] == "en"
        assert "traceparent" in asked


async def test_a_body_and_a_host_of_the_users_own_go_along_within_one_origin_only() -> None:
    async with play({"paths": {"/": OK}}) as other:
        paths = {
            "/near": answer("", status="302 x", headers="location: /far\r\n"),
            "/far": answer("", status="302 x", headers=f"location: {other.url('/')}\r\n"),
        }
        async with play({"paths": paths}) as server:
            await answer_of(server.url("/near"), method="GET", headers={"Host": "virtual.test"}, body={"q": 1})
            assert [asked.headers["host"] for asked in server.requests] == ["virtual.test"] * 2
            assert [asked.body for asked in server.requests] == [b'{"q":1}'] * 2
        asked = other.requests[0]
        assert asked.headers["host"] == other.base_url.removeprefix("http://")
        assert (asked.body, "content-type" in asked.headers) == (b"", False)


@pytest.mark.parametrize("body", [[], [{"text": "abc"}], [{"repeat": 300, "steps": [{"text": "x" * 1000}]}]])
async def test_the_body_of_a_redirect_that_hangs_takes_no_time_from_the_call(body: Any) -> None:
    head = {"text": "HTTP/1.1 302 Found\r\nlocation: /new\r\ncontent-length: 1000000\r\n\r\n"}
    paths = {"/": [head, *body, {"sleep": 30}], "/new": OK}
    async with play({"paths": paths}) as server:
        found = await answer_of(server.url("/"), {"total": 20.0}, method="GET", output_extractor="text")
        assert found.output == "ok"
        assert found.first_byte_seconds is not None
        assert found.first_byte_seconds < 10
        error = await error_of(server.url("/"), {"total": 0.5}, method="GET", follow_redirects=False)
        assert str(error).startswith("HTTP 302 Found: the agent points to")


@pytest.mark.parametrize(
    "location", ["", "ftp://x/", "http://", "http://[::1", "http://h:0/", "http://h:65536/", "//xn--/"]
)
async def test_a_redirect_to_nowhere_is_an_error(location: str) -> None:
    headers = f"location: {location}\r\n" if location else ""
    async with play({"paths": {"/": answer("", status="302 Found", headers=headers)}}) as server:
        error = await error_of(server.url("/"), method="GET")
    assert error.kind == "http_status"


async def test_a_redirect_in_a_circle_ends() -> None:
    async with play({"paths": {"/": answer("", status="302 x", headers="location: /\r\n")}}) as server:
        error = await error_of(server.url("/"), method="GET")
        assert len(server.requests) == 11
        assert "more than 10 redirects" in str(error)
        assert "302" in str(await error_of(server.url("/"), method="GET", follow_redirects=False))


async def test_a_header_that_is_no_ascii_is_read_as_utf_8_else_as_latin_1() -> None:
    echo = {"text": "HTTP/1.1 200 OK\r\nx-a: caf\u00e9\r\nx-b: caf"}
    rest = {"text": "\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"}
    async with play({"paths": {"/": [echo, {"hex": "e9"}, rest]}}) as server:
        found = await answer_of(server.url("/"))
    assert [value for name, value in found.headers if name.startswith("x-")] == ["caf\u00e9", "caf\u00e9"]


# When the way breaks


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
