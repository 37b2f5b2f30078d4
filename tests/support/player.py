"""A loopback server that plays prepared bytes, and the log of what it was asked.

A plan is ``{"paths": {"/name": [STEP, …]}}``, as in ``tests/cases/*/plan.json``. A step is one of ``{"text": …}`` (UTF-8),
``{"hex": …}``, ``{"sleep": seconds}``, ``{"reset": true}`` (RST instead of FIN), ``{"repeat": n, "steps": […]}``,
``{"nth": [[…], […]]}`` (the first request to the path gets the first list, the last list repeats). A request is read
whole first; the connection is closed after the steps, unless the plan says ``"keep": true``.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent.parent / "cases"


@dataclass(slots=True)
class Asked:
    """One request as it came: header names in lower case, ``target`` with its query."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


@dataclass(slots=True)
class Player:
    """``requests`` and ``connections`` (number opened) grow as the server is used; ``closed`` counts the ended ones."""

    base_url: str
    paths: Mapping[str, Any]
    keep: bool = False
    requests: list[Asked] = field(default_factory=list)
    connections: int = 0
    closed: int = 0
    _asked: Counter[str] = field(default_factory=Counter)

    def url(self, path: str) -> str:
        return self.base_url + path

    def count(self, path: str) -> int:
        return sum(asked.path == path for asked in self.requests)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                asked = await _read_request(reader)
                self.requests.append(asked)
                await self._play(self._steps(asked.path), writer)
                await writer.drain()
                if not self.keep:
                    break
        finally:
            self.closed += 1

    def _steps(self, path: str) -> list[dict[str, Any]]:
        steps = self.paths.get(path, [{"text": "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"}])
        if steps and "nth" in steps[0]:
            lists = steps[0]["nth"]
            steps = lists[min(self._asked[path], len(lists) - 1)]
            self._asked[path] += 1
        return list(steps)

    async def _play(self, steps: list[dict[str, Any]], writer: asyncio.StreamWriter) -> None:
        for step in steps:
            if "text" in step:
                writer.write(step["text"].encode())
            elif "hex" in step:
                writer.write(bytes.fromhex(step["hex"]))
            elif "sleep" in step:
                await writer.drain()
                await asyncio.sleep(step["sleep"])
            elif "repeat" in step:
                for _ in range(step["repeat"]):
                    await self._play(step["steps"], writer)
            elif step.get("reset"):
                await writer.drain()
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
                raise ConnectionResetError
            await writer.drain()


async def _read_request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, target, headers, body)


@asynccontextmanager
async def play(plan: str | Path | Mapping[str, Any]) -> AsyncIterator[Player]:
    """Serve ``plan`` (a mapping, a path, or the name of a folder in tests/cases) on a free port of 127.0.0.1."""
    if isinstance(plan, str | Path):
        path = Path(plan)
        path = path if path.is_absolute() else CASES / path
        plan = json.loads((path / "plan.json" if path.is_dir() else path).read_text())
    player = Player("", plan["paths"], bool(plan.get("keep")))
    async with listening(player._serve) as port:
        player.base_url = f"http://127.0.0.1:{port}"
        yield player


@asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """A server on a free port of 127.0.0.1 that gives each connection to ``serve``; at the end nothing of it is left."""
    tasks: set[asyncio.Future[None]] = set()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side left
        finally:
            writer.transport.abort() if tls else writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(connection(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
        await asyncio.sleep(0)


def answer(body: str | bytes, content_type: str = "application/json", status: str = "200 OK", headers: str = "") -> Any:
    """The steps of one plain answer with a content length. ``headers`` are whole lines, each ended by CR LF."""
    data = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {len(data)}\r\n{headers}\r\n"
    return [{"hex": (head.encode("latin-1") + data).hex()}]


def stream(text: str | bytes, headers: str = "") -> Any:
    """The steps of one event stream, ended by closing the connection."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n{headers}\r\n"
    return [{"hex": (head.encode("latin-1") + (text.encode() if isinstance(text, str) else text)).hex()}]
