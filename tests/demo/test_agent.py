"""The embedded agent: what it answers, how it breaks, and that its own counts can be trusted."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tui_eval.demo.agent import DemoAgent
from tui_eval.demo.knowledge import ENTRIES, expected_counts, expected_outcomes, reply_to
from tui_eval.domain import Outcome

PARIS = "What is the capital of France?"


@pytest.fixture
async def agent() -> AsyncIterator[DemoAgent]:
    async with DemoAgent() as running:
        yield running


@pytest.fixture
async def client(agent: DemoAgent) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=agent.base_url, timeout=5, trust_env=False) as connected:
        yield connected


def deltas(stream: str) -> list[dict[str, Any]]:
    """The JSON events of an event stream, without the closing `[DONE]`."""
    data = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: ")]
    assert data[-1] == "[DONE]"
    return [json.loads(text) for text in data[:-1]]


async def test_a_known_question_gets_its_answer_with_usage_and_the_callers_trace_id(client: httpx.AsyncClient) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    reply = await client.post("/json", json={"question": PARIS}, headers={"traceparent": trace})
    assert reply.json()["output"] == "Paris"
    assert reply.json()["usage"]["total_tokens"] > 0
    assert reply.headers["traceId"] == "0af7651916cd43dd8448eb211c80319c"


async def test_the_stream_gives_the_same_answer_in_pieces(client: httpx.AsyncClient) -> None:
    reply = await client.post("/sse", json={"question": "Who wrote Hamlet?"})
    assert reply.headers["content-type"] == "text/event-stream"
    events = deltas(reply.text)
    assert "".join(event["delta"] for event in events) == "William Shakespeare"
    assert len(events) > 1
    assert events[-1]["usage"]["output_tokens"] > 0


@pytest.mark.parametrize("stream", [False, True])
async def test_chat_completions_come_streamed_or_whole(client: httpx.AsyncClient, stream: bool) -> None:
    body = {
        "model": "m",
        "stream": stream,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": PARIS}],
    }
    reply = await client.post("/openai/v1/chat/completions", json=body)
    if stream:
        events = deltas(reply.text)
        text = "".join(choice["delta"].get("content", "") for event in events for choice in event["choices"])
        assert events[-1]["usage"]["total_tokens"] > 0
    else:
        text = reply.json()["choices"][0]["message"]["content"]
        assert reply.json()["usage"]["prompt_tokens"] > 0
    assert text == "Paris"


async def test_it_calculates_and_echoes_what_it_does_not_know(client: httpx.AsyncClient) -> None:
    assert (await client.post("/json", json={"question": "What is 1200 + 34?"})).json()["output"] == "1234"
    assert (await client.post("/json", json={"input": {"a": [1, "ü"]}})).json()["output"] == {"a": [1, "ü"]}
    assert (await client.post("/json", content="just text")).json()["output"] == "just text"


async def test_the_first_call_of_one_question_is_told_to_wait_and_the_second_is_answered(
    client: httpx.AsyncClient,
) -> None:
    body = {"question": "What is the capital of India?"}
    first = await client.post("/json", json=body)
    assert (first.status_code, first.headers["retry-after"]) == (429, "1")
    assert (await client.post("/json", json=body)).json()["output"] == "New Delhi"


async def test_a_dataset_can_decide_which_calls_fail_and_how_often(client: httpx.AsyncClient) -> None:
    body = {"question": "x", "fault": "503", "fault_times": 2}
    assert [(await client.post("/json", json=body)).status_code for _ in range(3)] == [503, 503, 200]


@pytest.mark.parametrize("mode", ["429", "500", "503"])
async def test_a_share_of_flaky_calls_fails_evenly(client: httpx.AsyncClient, mode: str) -> None:
    target = f"/flaky?mode={mode}&share=0.25&retry_after=7"
    replies = [await client.post(target, json={"input": index}) for index in range(8)]
    assert [reply.status_code for reply in replies].count(int(mode)) == 2
    assert {reply.headers.get("retry-after") for reply in replies} == ({None} if mode == "500" else {None, "7"})


async def test_flaky_connections_drop_hang_and_garble(client: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        await client.post("/flaky?mode=drop&share=1", json={})
    with pytest.raises(httpx.RemoteProtocolError):
        await client.post("/flaky?mode=cut&share=1", json={})
    with pytest.raises(httpx.ReadTimeout):
        await client.post("/flaky?mode=hang&share=1", json={}, timeout=0.05)
    with pytest.raises(httpx.ReadTimeout):
        await client.post("/flaky?mode=drip&share=1&gap=100", json={}, timeout=0.05)
    assert "not json" in (await client.post("/flaky?mode=garbage&share=1", json={})).text
    assert (await client.post("/flaky?mode=nonsense&share=1", json={})).status_code == 400


@pytest.mark.parametrize("path", ["/flaky?mode=flood&share=1", "/sse"])
async def test_a_flood_goes_on_until_the_caller_leaves(agent: DemoAgent, client: httpx.AsyncClient, path: str) -> None:
    received = 0
    async with client.stream("POST", path, json={"question": "x", "fault": "flood"}) as reply:
        async for data in reply.aiter_raw():
            received += len(data)
            if received > 1_000_000:
                break
    await asyncio.sleep(0.05)
    assert agent.calls.in_flight == 0


async def test_its_own_log_counts_calls_by_path_and_case(agent: DemoAgent, client: httpx.AsyncClient) -> None:
    for _ in range(2):
        await client.post("/json", json={"question": PARIS})
    await client.post("/sse", json={"question": PARIS})
    stats = (await client.get("/stats")).json()
    assert stats["by_path"] == {"/json": 2, "/sse": 1}
    assert stats["by_case"] == {"/json": {"capital-france": 2}, "/sse": {"capital-france": 1}}
    assert stats["requests"] == agent.calls.requests == 3
    await client.post("/reset")
    assert (await client.get("/stats")).json()["requests"] == 0


async def test_calls_wait_as_long_as_they_ask_for_at_the_same_time(agent: DemoAgent, client: httpx.AsyncClient) -> None:
    began = time.monotonic()
    await asyncio.gather(*(client.post("/ms/100/json", json={"input": index}) for index in range(20)))
    assert 0.1 <= time.monotonic() - began < 1.5
    assert agent.calls.in_flight_peak > 5


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"POST /json HTTP/1.1\r\nContent-Length: -4\r\n\r\n",
        b"POST /json HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ],
)
async def test_a_malformed_request_is_answered_and_ends_its_connection(agent: DemoAgent, request_bytes: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", agent.port)
    writer.write(request_bytes)
    assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
    writer.close()
    await writer.wait_closed()


async def test_an_unknown_path_and_a_wrong_method_say_so(client: httpx.AsyncClient) -> None:
    assert (await client.post("/nowhere", json={})).status_code == 404
    assert (await client.get("/json")).status_code == 405


def test_the_expected_counts_hold_every_case_once() -> None:
    for flavour in ("json", "sse", "chat", "command"):
        counts = expected_counts(flavour)
        assert counts.total() == len(ENTRIES) == len(expected_outcomes(flavour))
        assert counts[Outcome.FAILED] > 0
    assert expected_counts("json")[Outcome.ERROR] == expected_counts("command")[Outcome.ERROR] == 1
    assert reply_to("What is 3 - 8?") == "-5"


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tui_eval.demo.agent", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("ending", ["stdin", "term", "time"])
def test_the_process_ends_with_its_starter_on_a_signal_and_by_itself(ending: str) -> None:
    limit = "0.2" if ending == "time" else "30"
    with start("--until-stdin-closes", "--max-seconds", limit) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        if ending == "stdin":
            assert process.stdin is not None
            process.stdin.close()
        elif ending == "term":
            os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=10) == 0
