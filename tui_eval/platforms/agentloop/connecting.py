"""A client of the platform from a plan's section, and a way to use it from code that is not asynchronous."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from tui_eval.platforms.agentloop.calls import Caller
from tui_eval.platforms.agentloop.client import AgentLoop
from tui_eval.platforms.agentloop.credentials import Credentials, find_credentials
from tui_eval.platforms.agentloop.endpoints import Endpoints
from tui_eval.spec.agentloop_options import AgentLoopOptions

T = TypeVar("T")


def endpoints_of(options: AgentLoopOptions) -> Endpoints:
    """Raises UsageError for a region or an address that cannot be one."""
    return Endpoints.of(
        options.region_id,
        vpc=options.vpc,
        openapi=options.custom_agentloop_endpoint,
        sls=options.custom_sls_endpoint,
    )


@asynccontextmanager
async def connected(
    options: AgentLoopOptions, environment: Mapping[str, str], credentials: Credentials | None = None
) -> AsyncIterator[AgentLoop]:
    """A client of the platform that ``options`` name; nothing is opened before it is used. Raises UsageError without
    credentials."""
    found = credentials or find_credentials(environment)
    client = AgentLoop(Caller(found, endpoints_of(options), environment=environment), options.agent_space)
    try:
        yield client
    finally:
        await client.aclose()


def waited_for(work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, run in a thread of its own: also where an event loop runs already (it stands meanwhile)."""
    outcome: list[T] = []
    problem: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:
            problem.append(error)

    thread = threading.Thread(target=run, name="agentloop", daemon=True)
    thread.start()
    thread.join()
    if problem:
        raise problem[0]
    return outcome[0]
