"""Agents of agentspecs on a local agent-runtimes server, for one run (Datalayer contract, section 3a).

The server that answers at ``base_url`` is used when it says that it is agent-runtimes; else one is started. Every
agentspec gets an agent of its own under a name that nobody else has, made when it is first asked for and deleted after
the run. Agents that were there before are neither used nor deleted.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tui_eval.errors import PlatformError, Resend, SolutionError
from tui_eval.platforms.datalayer import leases
from tui_eval.platforms.datalayer.calls import Api
from tui_eval.platforms.datalayer.leases import Lease
from tui_eval.platforms.datalayer.server import SERVICE, StartedServer, service_at, start_server
from tui_eval.solutions.agent_runtimes import chat_address
from tui_eval.spec.datalayer_options import DatalayerOptions, is_here

DELETE_SECONDS = 10.0
SWEEP_SECONDS = 5.0
"""How long a run waits for servers where something was left behind."""

Log = Callable[[str, str], None]
"""Takes a level (``info``, ``warning``) and a message."""


@dataclass(slots=True)
class _Agent:
    """One agent of ours, or why there is none."""

    making: asyncio.Task[str]
    lease: Lease | None = None


@dataclass(slots=True)
class LocalHost:
    """The agents of one run. Asked by the solutions (``solutions.agent_runtimes.AgentHost``); end it with :meth:`close`."""

    options: DatalayerOptions
    run_id: str
    history: Path
    folder: Path
    log_file: Path
    environment: Mapping[str, str]
    log: Log
    server: StartedServer | None = None
    _api: Api | None = None
    _ready: asyncio.Task[Api] | None = None
    _agents: dict[str, _Agent] = field(default_factory=dict)

    async def chat_address(self, agentspec: str) -> str:
        """See ``AgentHost``. What fails for one task is tried anew for the next only where that can help."""
        agent = self._agents.get(agentspec)
        if agent is None or (agent.making.done() and _passed(agent.making)):
            agent = self._agents[agentspec] = _Agent(asyncio.create_task(self._make(agentspec)))
        try:
            return await asyncio.shield(agent.making)
        except PlatformError as error:
            message = f"no agent of `{agentspec}`: {error}"
            raise SolutionError("agent", message, error.resend, retry_after=error.retry_after) from error

    async def close(self) -> None:
        """Delete our agents and end our server, also when one of them fails to."""
        for agent in self._agents.values():
            agent.making.cancel()
        if self._ready is not None:
            self._ready.cancel()
        waiting = [agent.making for agent in self._agents.values()] + ([self._ready] if self._ready else [])
        if waiting:
            await asyncio.gather(*waiting, return_exceptions=True)
        try:
            api = self._api
            if self.server is None and api is not None:
                leased = [agent.lease for agent in self._agents.values() if agent.lease is not None]
                await asyncio.gather(*(self._delete(api, lease) for lease in leased))
        finally:
            await self._end_server()
            if self._api is not None:
                await self._api.aclose()

    async def _end_server(self) -> None:
        server, self.server = self.server, None
        if server is not None:
            await server.end()
            self.log("info", f"datalayer: the agent server at {server.base_url} was ended")

    # -- making --

    async def _make(self, agentspec: str) -> str:
        if self._ready is None or (self._ready.done() and _passed(self._ready)):
            self._ready = asyncio.create_task(self._connect())
        api = await asyncio.shield(self._ready)
        name = agent_name(self.run_id, agentspec)
        lease = leases.new_lease(name, api.base_url, self.run_id, agentspec)
        if self.server is None:
            await asyncio.to_thread(leases.keep, self.history, lease)
        self._agents[agentspec].lease = lease
        settings = {
            "name": name,
            "description": f"made by tui-eval for the run {self.run_id}",
            "agent_library": "pydantic-ai",
            "transport": "vercel-ai",
            "agent_spec_id": agentspec,
            "enable_skills": True,
            "disableToolApprovals": True,
            **self.options.agent,
        }
        body = {key: value for key, value in settings.items() if value is not None}
        made = await api.call("POST", "/api/v1/agents", body, seconds=self.options.server.create_timeout_seconds)
        identity = made.get("id") if isinstance(made, dict) else None
        self.log("info", f"datalayer: made the agent {name} of {agentspec} at {api.base_url}")
        return chat_address(api.base_url, identity if isinstance(identity, str) and identity else name)

    async def _connect(self) -> Api:
        """The server to use: the one that answers, or a new one. Raises PlatformError."""
        server = self.options.server
        if server.start != "always":
            api = Api(server.base_url, server.headers, self.environment)
            problem = await _why_not(api)
            if not problem:
                self._api = api
                self.log("info", f"datalayer: using the agent server at {api.base_url}")
                return api
            await api.aclose()
            if server.start == "never" or not is_here(server.base_url):
                hint = "" if is_here(server.base_url) else " (one is started on this machine only)"
                raise PlatformError(f"{problem}{hint}")
            self.log("info", f"datalayer: {problem}: starting one")
        self.server = await start_server(server, self.environment, self.folder, self.log_file)
        self.log("info", f"datalayer: started an agent server at {self.server.base_url}, output in {self.server.log}")
        self._api = Api(self.server.base_url, server.headers, self.environment)
        return self._api

    async def _delete(self, api: Api, lease: Lease) -> None:
        try:
            await delete_agent(api, lease.agent)
        except PlatformError as error:
            self.log("warning", f"datalayer: the agent {lease.agent} is left at {api.base_url}: {error}")
        else:
            await asyncio.to_thread(leases.drop, self.history, lease)


async def sweep(history: Path, options: DatalayerOptions, environment: Mapping[str, str], log: Log) -> None:
    """Delete the agents that runs which are gone have left behind. What cannot be reached now is left for later."""
    found = await asyncio.to_thread(leases.stale, history)
    try:
        async with asyncio.timeout(SWEEP_SECONDS):
            await asyncio.gather(*(_sweep_one(history, lease, options, environment, log) for lease in found))
    except TimeoutError:
        log("warning", f"datalayer: agents of earlier runs are still there after {SWEEP_SECONDS:g} s (tui-eval doctor)")


async def _sweep_one(
    history: Path, lease: Lease, options: DatalayerOptions, environment: Mapping[str, str], log: Log
) -> None:
    server = options.server
    headers = server.headers if lease.base_url == server.base_url.rstrip("/") else {}
    async with Api(lease.base_url, headers, environment) as api:
        try:
            await delete_agent(api, lease.agent)
        except PlatformError as error:
            # A server keeps its agents in memory: one that is gone has none.
            if not (error.resend is Resend.UNSENT and is_here(lease.base_url)):
                log("warning", f"datalayer: the agent {lease.agent} of run {lease.run_id} is still there: {error}")
                return
    await asyncio.to_thread(leases.drop, history, lease)
    log("info", f"datalayer: deleted the agent {lease.agent}, left behind by run {lease.run_id}")


async def delete_agent(api: Api, name: str) -> None:
    """Delete the agent that is called ``name``; one that is not there is no error. Raises PlatformError."""
    listed = await api.call("GET", "/api/v1/agents", seconds=DELETE_SECONDS)
    agents = listed.get("agents") if isinstance(listed, dict) else listed
    for agent in agents if isinstance(agents, list) else ():
        if isinstance(agent, dict) and name in (agent.get("name"), agent.get("id")):
            identity = quote(str(agent.get("id") or name), safe="")
            try:
                await api.call("DELETE", f"/api/v1/agents/{identity}", seconds=DELETE_SECONDS)
            except PlatformError as error:
                if error.status != 404:
                    raise


def agent_name(run_id: str, agentspec: str) -> str:
    """A name that no other agent has, and that says whose it is."""
    spec = re.sub(r"[^A-Za-z0-9_-]+", "-", agentspec).strip("-")[:60]
    return f"tui-eval-{re.sub(r'[^A-Za-z0-9_-]+', '-', run_id)}-{spec}-{secrets.token_hex(3)}"


async def _why_not(api: Api) -> str:
    """Why the server at an address is not the one to use, empty when it is."""
    try:
        service = await service_at(api)
    except PlatformError as error:
        return f"no agent server at {api.base_url} ({error})"
    if service != SERVICE:
        what = f"`{service[:60]}`" if service else "something else"
        return f"what answers at {api.base_url} is {what}, not agent-runtimes"
    return ""


def _passed(task: asyncio.Task[Any]) -> bool:
    """Whether a task failed in a way that may be over by now."""
    if task.cancelled():
        return True
    error = task.exception()
    return isinstance(error, PlatformError) and error.resend in (Resend.UNSENT, Resend.REJECTED)
