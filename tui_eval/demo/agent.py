"""The embedded agent: a small HTTP server on the loopback interface, for the demo, the samples, tests and benchmarks.

    python -m tui_eval.demo.agent [--port N] [--ms L] [--max-seconds S] [--until-stdin-closes]

It prints its address on the first line. Paths (``/ms/20/json`` is ``/json?ms=20``):

    POST /json?ms=L&wrong=P               {"output": …, "usage": {…}}
    POST /sse?ms=L&chunks=K&gap=G         text/event-stream: {"delta": …} … [DONE]
    POST /openai/v1/chat/completions      OpenAI-compatible, "stream": true or not
    GET  /openai/v1/models
    POST /api/chat                        the AI SDK's UI message stream
    POST /flaky?mode=M&share=P            a share P of the calls (evenly spread) fails in the way M, the rest is /json:
                                          any status from 400 to 599 (429 and 503 with Retry-After: &retry_after=S),
                                          drop, cut, hang, garbage, drip (&gap=MS a byte), flood
    GET  /stats, POST /reset              the agent's own count of calls, by path and by question

L and G are milliseconds, P is a share from 0 to 1. What is asked is the first of input, question, prompt, message,
query, text in a JSON body; what is answered is in ``knowledge``. A body may ask for a fault of its own:
``{"question": "…", "fault": "503", "fault_times": 2}`` fails the first two calls with that question.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from tui_eval.demo.knowledge import entry_for
from tui_eval.demo.replies import (
    Asked,
    Reply,
    agent_reply,
    flavour_of,
    question_in,
    response_reply,
    trace_id_for,
    with_fault,
)
from tui_eval.demo.serving import Connection
from tui_eval.domain import JsonValue, as_text


@dataclass(slots=True)
class CallLog:
    """What the agent saw. ``by_case`` counts by (path, case): a case id of the quickstart dataset, else the question
    (its first 200 characters). ``in_flight_peak`` is the most calls that were open at once."""

    requests: int = 0
    failed: int = 0
    connections: int = 0
    open: int = 0
    open_peak: int = 0
    in_flight: int = 0
    in_flight_peak: int = 0
    flaky: int = 0
    first_at: float = 0.0
    last_at: float = 0.0
    by_path: Counter[str] = field(default_factory=Counter)
    by_case: Counter[tuple[str, str]] = field(default_factory=Counter)

    def reset(self) -> None:
        """Forget the past; what is open stays counted."""
        self.requests = self.failed = self.connections = self.flaky = 0
        self.open_peak, self.in_flight_peak = self.open, self.in_flight
        self.first_at = self.last_at = 0.0
        self.by_path.clear()
        self.by_case.clear()

    def as_json(self) -> dict[str, Any]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        by_case: dict[str, dict[str, int]] = {}
        for (path, case), count in self.by_case.items():
            by_case.setdefault(path, {})[case] = count
        return {
            "requests": self.requests,
            "failed": self.failed,
            "connections": self.connections,
            "open_peak": self.open_peak,
            "in_flight_peak": self.in_flight_peak,
            "window_s": self.last_at - self.first_at,
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "by_path": dict(self.by_path),
            "by_case": by_case,
        }


class DemoAgent:
    """The agent inside an event loop: ``await start()`` gives its address, ``await stop()`` closes every connection.

    ``latency_ms`` is the thinking time of calls that name none. It listens on 127.0.0.1 only.
    """

    def __init__(self, *, port: int = 0, latency_ms: float = 0.0) -> None:
        self.calls = CallLog()
        self.latency_ms = latency_ms
        self.port = port
        self.connections: set[Connection] = set()
        self._server: asyncio.Server | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> str:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self, loop), "127.0.0.1", self.port, backlog=4096, reuse_address=True
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self.base_url

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        for connection in list(self.connections):
            connection.abort()
        await asyncio.sleep(0)  # let the aborted transports tell their protocols
        await self._server.wait_closed()
        self._server = None

    async def __aenter__(self) -> DemoAgent:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def reply(self, method: str, target: str, headers: dict[str, str], raw: bytes) -> Reply:
        """What is answered to one call; counts it."""
        path, query = _split(target)
        if self.latency_ms and "ms" not in query:
            query = {**query, "ms": str(self.latency_ms)}
        if path == "/stats":
            return response_reply(200, self.calls.as_json())
        if path == "/reset":
            self.calls.reset()
            return response_reply(200, {})
        if path.endswith("/models"):
            return response_reply(200, {"object": "list", "data": [{"id": "demo", "object": "model"}]})
        if not flavour_of(path):
            return response_reply(404, {"error": {"message": f"no such endpoint: {path}"}})
        if method != "POST":
            return response_reply(405, {"error": {"message": f"POST, not {method}"}})
        body = _body(raw)
        question = question_in(body)
        earlier = self._count(path, question)
        asked = Asked(path, query, body, question, trace_id_for(headers.get("traceparent", ""), raw), earlier)
        good = agent_reply(asked)
        if path == "/flaky" and self._falls_into_share(asked.number("share", 0.2)):
            self.calls.failed += 1
            return with_fault(good, query.get("mode", "429"), asked)
        return good

    def _count(self, path: str, question: JsonValue) -> int:
        calls = self.calls
        calls.requests += 1
        calls.by_path[path] += 1
        entry = entry_for(question)
        key = (path, entry.id if entry else as_text(question)[:200])
        earlier = calls.by_case[key]
        calls.by_case[key] = earlier + 1
        return earlier

    def _falls_into_share(self, share: float) -> bool:
        """True for an evenly spread share of the calls of ``/flaky``."""
        self.calls.flaky += 1
        return int(self.calls.flaky * share) != int((self.calls.flaky - 1) * share)


@lru_cache(maxsize=4096)
def _split(target: str) -> tuple[str, dict[str, str]]:
    path, _, text = target.partition("?")
    query = dict(parse_qsl(text))
    if path.startswith("/ms/"):
        _, _, milliseconds, path = path.split("/", 3)
        query.setdefault("ms", milliseconds)
        path = f"/{path}"
    return path, query


def _body(raw: bytes) -> JsonValue:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")


async def serve(port: int, latency_ms: float, max_seconds: float, until_stdin_closes: bool) -> None:
    """Run the agent until a signal, ``max_seconds``, or (when asked) the end of standard input."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    if until_stdin_closes:
        stdin = sys.stdin.fileno()
        loop.add_reader(stdin, lambda: None if os.read(stdin, 4096) else over.set())
    async with DemoAgent(port=port, latency_ms=latency_ms) as agent:
        print(agent.base_url, flush=True)
        try:
            await asyncio.wait_for(over.wait(), max_seconds)
        except TimeoutError:
            print(f"the demo agent stops after {max_seconds:g} s (--max-seconds)", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tui_eval.demo.agent", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--ms", type=float, default=0.0, help="thinking time where a call names none")
    parser.add_argument("--max-seconds", type=float, default=3600.0)
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when whoever started it is gone")
    given = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(serve(given.port, given.ms, given.max_seconds, given.until_stdin_closes))


if __name__ == "__main__":
    main()
