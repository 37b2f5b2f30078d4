"""A server like agent-runtimes, and a platform like Datalayer, for tests: in this process, or started as a program.

Agents answer with streams made of the recorded ones; what an agent does is its agentspec's name: ``parrot`` upper-cases
the input, ``oracle`` trims it too, ``failing`` breaks inside the stream, ``pausing`` waits for approval, ``dripping``
sends a character now and then for a minute, ``thinking`` reasons first. ``unknown…`` is no agentspec.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.player import Asked, _read_request, listening

STREAMS = Path(__file__).parent / "streams"
EVALS = "/api/ai-agents/v1/evals"


@dataclass(slots=True)
class FakeServer:
    """``agents`` by id; ``chats`` are ``(agent id, prompt)`` in the order they came; ``service`` is its name for itself."""

    base_url: str = ""
    service: str = "agent-runtimes"
    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    made: list[dict[str, Any]] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    chats: list[tuple[str, str]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    chatting: int = 0
    most_chatting: int = 0
    chat_seconds: float = 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await _read_request(reader)
        self.asked.append(asked)
        if asked.path.startswith("/api/v1/vercel-ai/") and asked.method == "POST":
            await self._chat(asked, writer)
        else:
            status, document = self._answer(asked)
            _send(writer, status, document)
        await writer.drain()

    def _answer(self, asked: Asked) -> tuple[int, Any]:
        if asked.path == "/health":
            return 200, {"status": "healthy", "service": self.service}
        if asked.path == "/api/v1/agents" and asked.method == "GET":
            return 200, {"agents": list(self.agents.values())}
        if asked.path == "/api/v1/agents" and asked.method == "POST":
            body = json.loads(asked.body)
            self.made.append(body)
            if str(body.get("agent_spec_id", "")).startswith("unknown"):
                return 404, {"detail": f"Agent spec '{body['agent_spec_id']}' not found"}
            if body["name"] in self.agents:
                return 409, {"detail": "already exists"}
            self.agents[body["name"]] = {
                "id": body["name"],
                "name": body["name"],
                "transport": "vercel-ai",
                "spec": body.get("agent_spec_id"),
            }
            return 200, {"id": body["name"]}
        if asked.path.startswith("/api/v1/agents/") and asked.method == "DELETE":
            name = asked.path.rpartition("/")[2]
            if self.agents.pop(name, None) is None:
                return 404, {"detail": "not found"}
            self.deleted.append(name)
            return 200, {"success": True}
        return 404, {"detail": "no such route"}

    async def _chat(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        identity = asked.path.rpartition("/")[2]
        agent = self.agents.get(identity)
        if agent is None:
            _send(writer, 404, {"detail": f"Agent {identity} not found"})
            return
        message = json.loads(asked.body)["messages"][-1]
        prompt = "".join(part["text"] for part in message["parts"])
        self.chats.append((identity, prompt))
        self.chatting += 1
        self.most_chatting = max(self.chatting, self.most_chatting)
        try:
            await asyncio.sleep(self.chat_seconds)
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                b"x-vercel-ai-ui-message-stream: v1\r\nconnection: close\r\n\r\n"
            )
            await _say(agent["spec"], prompt.rpartition("\n\nInput:\n")[2], writer)
        finally:
            self.chatting -= 1


async def _say(spec: str, text: str, writer: asyncio.StreamWriter) -> None:
    if spec == "failing":
        writer.write(recorded("model_error_http200"))
    elif spec == "pausing":
        writer.write(recorded("approval_pending_sdk6"))
    elif spec == "dripping":
        for _ in range(600):
            writer.write(b'data: {"type":"text-delta","id":"t","delta":"."}\n\n')
            await writer.drain()
            await asyncio.sleep(0.1)
    elif spec == "thinking":
        writer.write(spoken(text.strip().upper(), "reasoning"))
    else:
        writer.write(spoken(text.strip().upper() if spec == "oracle" else text.upper(), "plain_unicode"))


def recorded(name: str) -> bytes:
    return (STREAMS / f"{name}.sse").read_bytes()


def spoken(text: str, like: str) -> bytes:
    """A recorded stream with another text in it, in pieces."""
    said: list[str] = []
    for line in recorded(like).decode().split("\n\n"):
        if '"text-delta"' not in line:
            said.append(line)
        elif not any('"text-delta"' in one for one in said):
            said += [
                "data: " + json.dumps({"type": "text-delta", "delta": text[at : at + 4], "id": "t"})
                for at in range(0, len(text), 4)
            ]
    return "\n\n".join(said).encode()


def _send(writer: asyncio.StreamWriter, status: int, document: Any) -> None:
    body = json.dumps(document).encode()
    writer.write(
        f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        "connection: close\r\n\r\n".encode()
        + body
    )


@asynccontextmanager
async def fake_server(**settings: Any) -> AsyncIterator[FakeServer]:
    server = FakeServer(**settings)
    async with listening(server.serve) as port:
        server.base_url = f"http://127.0.0.1:{port}"
        yield server


async def _run(host: str, port: int, pid_file: str, ready_after: float) -> None:
    server = FakeServer()
    if pid_file:
        Path(pid_file).write_text(str(os.getpid()))
    print("fake agent server begins", flush=True)
    await asyncio.sleep(ready_after)
    listener = await asyncio.start_server(_guarded(server), host, port)
    async with listener:
        await listener.serve_forever()


def _guarded(server: FakeServer) -> Any:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await server.serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    return serve


def program(folder: Path, *more: str) -> list[str]:
    """The command of a server of its own; its process id is in ``folder/server.pid``."""
    arguments = ["--host", "{host}", "--port", "{port}", "--pid-file", str(folder / "server.pid"), *more]
    return [sys.executable, "-m", "tests.platforms.datalayer.fake", *arguments]


ROOT = Path(__file__).parents[3]
"""Where the program of :func:`program` is imported from."""


def gone(pid: int, seconds: float = 5.0) -> bool:
    """Whether a process ends within some seconds (a zombie counts as ended)."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--pid-file", default="")
    parser.add_argument("--ready-after", type=float, default=0.0)
    parser.add_argument("--fail", action="store_true")
    given = parser.parse_args()
    if given.fail:
        print("ModuleNotFoundError: no such model", flush=True)
        raise SystemExit(3)
    asyncio.run(_run(given.host, given.port, given.pid_file, given.ready_after))
