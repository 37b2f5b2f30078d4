"""An agent-runtimes server: whether one answers, and one of our own, started and ended with the run.

What is started is the leader of its own process group, watched so that it also ends when we are killed (see
``processes.watchdog``). Its output goes to a log file, never to the terminal.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_eval.errors import PlatformError, StartError
from tui_eval.platforms.datalayer.calls import Api
from tui_eval.processes.process import Process
from tui_eval.processes.start import start
from tui_eval.spec.datalayer_options import AgentServer

SERVICE = "agent-runtimes"
PROBE_SECONDS = 2.0
LOOK_SECONDS = 0.25
LOG_BYTES = 16 * 1024 * 1024
"""Most output of a server that is kept."""
HOST = "127.0.0.1"
TRIES = 3
"""How often a server is started when somebody else took its port meanwhile."""
_BEDROCK = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION", "AWS_REGION")


async def service_at(api: Api, seconds: float = PROBE_SECONDS) -> str:
    """What answers at ``/health``: the name it gives itself, ``""`` for something without one. Raises PlatformError when
    nothing does, or it says that it is not well."""
    found = await api.call("GET", "/health", seconds=seconds)
    service = found.get("service") if isinstance(found, dict) else None
    return service if isinstance(service, str) else ""


@dataclass(slots=True)
class StartedServer:
    """A server of ours. End it with :meth:`end`."""

    base_url: str
    process: Process
    log: Path
    grace: float
    _output: int

    async def end(self) -> None:
        """TERM to its process group, the grace, KILL; nothing of it is left."""
        try:
            await self.process.end(self.grace)
        finally:
            os.close(self._output)


async def start_server(options: AgentServer, environment: Mapping[str, str], folder: Path, log: Path) -> StartedServer:
    """Start a server and wait until it is well. Raises PlatformError, with the end of its output, when it is not within
    ``ready_timeout_seconds``; nothing of it is left then."""
    deadline = asyncio.get_running_loop().time() + options.ready_timeout_seconds
    for left in range(TRIES - 1, -1, -1):
        port = _free_port()
        server = _begin(options, environment, folder, log, port)
        try:
            problem = await _not_ready(server, options, environment, deadline)
        except BaseException:
            await server.end()
            raise
        if not problem:
            return server
        await server.end()
        if not left or not _port_was_taken(log):
            raise PlatformError(f"{problem}; its output is in {log}{_last_lines(log)}")
    raise AssertionError("unreachable")


def _begin(options: AgentServer, environment: Mapping[str, str], folder: Path, log: Path, port: int) -> StartedServer:
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    written = 0

    def keep(piece: bytes) -> float:
        nonlocal written
        if written < LOG_BYTES:
            os.write(output, piece)
            written += len(piece)
        return 0.0

    try:
        argv = [word.replace("{host}", HOST).replace("{port}", str(port)) for word in options.command]
        env = {**_with_bedrock(environment), **options.env}
        popen = start(argv, None, env, folder, with_stdin=False)
        process = Process(popen, grace=options.grace_seconds, stdout=keep, stderr=keep)
    except (StartError, OSError) as error:
        os.close(output)
        message = f"the agent server cannot be started: {error} (`datalayer.server.command`)"
        raise PlatformError(message) from error
    return StartedServer(f"http://{HOST}:{port}", process, log, options.grace_seconds, output)


async def _not_ready(
    server: StartedServer, options: AgentServer, environment: Mapping[str, str], deadline: float
) -> str:
    """Why it is not well, empty when it is."""
    loop = asyncio.get_running_loop()
    async with Api(server.base_url, options.headers, environment) as api:
        while True:
            try:
                service = await service_at(api)
                if not server.process.ended and service == SERVICE:
                    return ""
            except PlatformError:
                service = ""
            if server.process.ended:
                return f"the agent server ended while it started (`{options.command[0]}`)"
            if loop.time() >= deadline:
                return f"the agent server was not ready within {options.ready_timeout_seconds:g} s"
            await server.process.changed(min(LOOK_SECONDS, max(deadline - loop.time(), 0.01)))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _with_bedrock(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of the server: credentials for models under Datalayer's names also count under AWS's own."""
    found = dict(environment)
    for name in _BEDROCK:
        given = environment.get(f"DATALAYER_BEDROCK_{name}")
        if given and not environment.get(name):
            found[name] = given
    return found


def _port_was_taken(log: Path) -> bool:
    text = _tail(log).lower()
    return "address already in use" in text or "errno 98" in text or "errno 48" in text


def _last_lines(log: Path) -> str:
    lines = [" ".join(line.split())[:200] for line in _tail(log).splitlines() if line.strip()]
    return f"; it ends: {' | '.join(lines[-3:])}" if lines else ""


def _tail(log: Path, most: int = 4000) -> str:
    try:
        with open(log, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - most))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
