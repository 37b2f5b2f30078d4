"""What is sent of a request, and what a preview says of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.solutions.http_calls import OK, SETUP, answer_of, context, error_of, rendered
from tests.support.player import Asked, answer, play
from tui_eval.errors import SolutionError
from tui_eval.net.trace import TraceContext
from tui_eval.solutions.base import CallContext, Limits
from tui_eval.solutions.http import HttpSolution
from tui_eval.spec.solution_options import HttpOptions


async def sent(path: str = "/", **options: Any) -> Asked:
    async with play({"paths": {path.partition("?")[0]: OK}}) as server:
        await answer_of(server.url(path), **options)
        return server.requests[0]


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
