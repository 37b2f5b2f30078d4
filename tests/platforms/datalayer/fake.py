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
    key: str = "k-123"
    refusals: list[int] = field(default_factory=list)
    evalsets: dict[str, dict[str, Any]] = field(default_factory=dict)
    experiments: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    launches: dict[str, dict[str, Any]] = field(default_factory=dict)
    looks: int = 3
    stuck: str = ""
    plan: dict[str, Any] = field(default_factory=dict)
    patches: bool = True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await _read_request(reader)
        self.asked.append(asked)
        if asked.path.startswith("/api/v1/vercel-ai/") and asked.method == "POST":
            await self._chat(asked, writer)
        else:
            ours = asked.path.startswith(EVALS)
            status, document = self._evals(asked) if ours else self._answer(asked)
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

    def _evals(self, asked: Asked) -> tuple[int, Any]:
        """The platform. ``refusals`` are statuses that the next calls get; 299 carries a call out and answers 500."""
        if asked.headers.get("authorization") != f"Bearer {self.key}":
            return 401, {"detail": "not authenticated"}
        refusal = self.refusals.pop(0) if self.refusals and asked.method == "POST" else 0
        if refusal and refusal != 299:
            return refusal, {"detail": "broken on purpose"}
        body = json.loads(asked.body) if asked.body else {}
        answer = self._carried_out(asked.method, asked.path.removeprefix(EVALS).strip("/").split("/"), body)
        return (500, {"detail": "lost on the way"}) if refusal else answer

    def _carried_out(self, method: str, path: list[str], body: Any) -> tuple[int, Any]:
        match method, path:
            case "POST", ["evalsets", "import"]:
                return 200, {"evalset": self._made(self.evalsets, "es", body["spec"]), "unsupported_evaluators": []}
            case "GET", ["evalsets"]:
                return 200, {"evalsets": list(self.evalsets.values())}
            case "POST", ["experiments"]:
                return 200, {"experiment": self._made(self.experiments, "ex", body)}
            case "GET", ["experiments"]:
                return 200, {"experiments": list(self.experiments.values())}
            case "PATCH", ["experiments", identity] if self.patches:
                self.experiments[identity] |= body
                return 200, {"experiment": self.experiments[identity]}
            case "POST", ["experiments", identity, "runs"]:
                return 200, {"run": self._made(self.runs, "run", {**body, "experiment_id": identity})}
            case "GET", ["experiments", identity, "runs"]:
                return 200, {"runs": [run for run in self.runs.values() if run["experiment_id"] == identity]}
            case "POST", ["evalsets", identity, "launches", "validate"] if self.plan:
                return 200, self.plan
            case "POST", ["evalsets", identity, "launches"]:
                launch = self._made(self.launches, "la", {**body, "evalset": identity, "looked": 0, "status": "queued"})
                for experiment in body["experiment_ids"]:
                    self._made(self.runs, "run", {"experiment_id": experiment, "launch": launch["id"]})
                return 200, {"launch": launch, "executes": self.stuck != "executes"}
            case "POST", ["launches", identity, "cancel"]:
                self.launches[identity]["status"] = "cancelled"
                return 200, {}
            case "GET", ["launches", identity]:
                return 200, self._looked_at(identity)
            case "GET", ["runs", identity, "cases"]:
                return 200, {"cases": self._cases(self.runs[identity])}
        return 404, {"detail": "no such route"}

    def _made(self, table: dict[str, dict[str, Any]], letters: str, body: dict[str, Any]) -> dict[str, Any]:
        identity = f"{letters}-{len(table) + 1}"
        table[identity] = {**body, "id": identity}
        return table[identity]

    def _looked_at(self, identity: str) -> dict[str, Any]:
        launch = self.launches[identity]
        launch["looked"] += 1
        if launch["status"] != "cancelled":
            done = launch["looked"] >= self.looks
            launch["status"] = self.stuck or ("completed" if done else "running" if launch["looked"] > 1 else "queued")
        cases = len(self.evalsets[launch["evalset"]]["cases"])
        finished = cases if launch["status"] == "completed" else min(launch["looked"] - 1, cases)
        progress = {"total_cases": cases, "completed_cases": finished, "failed_cases": 0}
        runs = [run for run in self.runs.values() if run.get("launch") == identity]
        told = {"id": identity, "status": launch["status"], "progress": progress, "blocked_reason": "no credits"}
        return {"launch": told, "runs": runs}

    def _cases(self, run: dict[str, Any]) -> list[dict[str, Any]]:
        """The platform's own parrot, and its own grading: every second case passes."""
        launch = self.launches[run["launch"]]
        cases = self.evalsets[launch["evalset"]]["cases"]
        known = len(cases) if launch["status"] == "completed" else launch["looked"] - 1
        return [
            {
                "name": case["name"],
                "status": ("failed" if at % 2 else "passed") if at < known else "running",
                "score": float(not at % 2),
                "output": {"text": f"cloud {at}"} if at < known else None,
                "explanation": "graded on the platform",
            }
            for at, case in enumerate(cases)
        ]

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
