"""The solution builders against answers of every kind, awaited as a function of the user's own would."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tui_eval.platforms.agentloop import SolutionOutput, Task, http_solution_with


@dataclass
class Scripted:
    """An agent that says what it is told to. ``drops`` connections are cut first; ``bodies`` is what it was sent."""

    url: str = ""
    status: int = 200
    content_type: str = "application/json"
    pieces: tuple[bytes, ...] = (b"1",)
    headers: dict[str, str] = field(default_factory=dict)
    drops: int = 0
    asked: list[tuple[str, bytes, str]] = field(default_factory=list)


@pytest.fixture
def agent() -> Iterator[Scripted]:
    told = Scripted()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            told.asked.append((self.command, body, self.headers.get("content-type", "")))
            if len(told.asked) <= told.drops:
                self.close_connection = True
                return
            self.send_response(told.status)
            self.send_header("content-type", told.content_type)
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in told.pieces:
                self.wfile.write(piece)
                self.wfile.flush()

        do_GET = do_POST  # noqa: N815

        def log_message(self, *arguments: Any) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_address[1]}/"
    yield told
    server.shutdown()
    server.server_close()
    thread.join()


def asked(solution: Any) -> SolutionOutput:
    found: SolutionOutput = asyncio.run(solution(Task("item-1", {"id": "item-1"}), None))
    return found


def text_of(event: dict[str, Any]) -> str:
    return str(event["output"])


STREAM = b'data: {"output":"a"}\n\ndata: {"output":" b"}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize("content_type", ["application/json", "text/html; charset=utf-8", "text/plain", ""])
@pytest.mark.parametrize("at", [0, 3, 8, len(STREAM)])
def test_a_stream_that_does_not_say_that_it_is_one_is_read_where_events_are_expected(
    agent: Scripted, content_type: str, at: int
) -> None:
    agent.content_type, agent.pieces = content_type, (b"\n", STREAM[:at], STREAM[at:])
    answer = asked(http_solution_with(agent.url, chunk_extractor=text_of))
    assert (answer.success, answer.output) == (True, "a b")


def test_a_text_that_only_begins_like_a_stream_stays_a_text_where_no_events_are_expected(agent: Scripted) -> None:
    agent.content_type, agent.pieces = "text/plain", (b"data: not sse at all",)
    assert asked(http_solution_with(agent.url)).output == "data: not sse at all"


@pytest.mark.parametrize(("body", "output"), [(b'{"output": "a"}', {"output": "a"}), (b"dat", "dat"), (b"7", 7)])
def test_a_whole_answer_stays_one_although_events_are_expected(agent: Scripted, body: bytes, output: Any) -> None:
    agent.content_type, agent.pieces = "text/plain", (body,)
    assert asked(http_solution_with(agent.url, chunk_extractor=text_of)).output == output


def test_an_error_inside_such_a_stream_is_an_error(agent: Scripted) -> None:
    agent.content_type = "text/plain"
    agent.pieces = (b'data: {"output":"a"}\n\nevent: error\ndata: overloaded\n\n',)
    answer = asked(http_solution_with(agent.url, chunk_extractor=text_of))
    assert not answer.success
    assert "overloaded" in answer.meta["error_message"]


def test_a_refusal_keeps_its_trace_id_and_what_it_said(agent: Scripted) -> None:
    agent.status, agent.pieces, agent.headers = 500, (b"boom",), {"traceId": "b" * 32}
    refused = asked(http_solution_with(agent.url, json={}))
    assert (refused.meta["traceId"], refused.meta["partial_response"]) == ("b" * 32, "boom")
    agent.headers = {"x-trace": "mine"}
    named = asked(http_solution_with(agent.url, json={}, trace_id_response_header="X-Trace"))
    assert (named.meta["status_code"], named.meta["traceId"]) == (500, "mine")


def test_bytes_are_sent_as_they_are(agent: Scripted) -> None:
    data = b"\xff\x00\xfe"
    answer = asked(http_solution_with(agent.url, data=data))
    assert agent.asked == [("POST", data, "application/octet-stream")]
    assert answer.meta["request"]["text"] == "(3 bytes that are no text)"
    json.dumps(answer.meta)
    asked(http_solution_with(agent.url, data=b"caf\xc3\xa9", headers={"Content-Type": "text/plain"}))
    assert agent.asked[-1] == ("POST", b"caf\xc3\xa9", "text/plain")


def test_what_was_cut_is_asked_again_only_where_that_cannot_do_anything_twice(agent: Scripted) -> None:
    agent.drops = 2
    assert asked(http_solution_with(agent.url, method="GET")).output == 1
    assert len(agent.asked) == 3
    agent.drops, agent.asked = 1, []
    assert not asked(http_solution_with(agent.url, json={})).success
    assert len(agent.asked) == 1


def test_no_retry_is_made_that_was_not_asked_for(agent: Scripted) -> None:
    agent.drops = 1
    assert not asked(http_solution_with(agent.url, method="GET", transport_retries=0)).success
    assert len(agent.asked) == 1
