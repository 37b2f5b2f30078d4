"""What a status means, and where a redirect leads."""

from __future__ import annotations

from typing import Any

import pytest

from tests.solutions.http_calls import OK, answer_of, error_of
from tests.support.player import answer, play
from tui_eval.errors import Resend


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
