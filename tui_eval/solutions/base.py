"""What a solution is to the engine: rendered request in, answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tui_eval.domain import Answer
from tui_eval.net.trace import TraceContext
from tui_eval.spec.rendered import Rendered


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one attempt in seconds, None for none. ``total`` is from the start of the call to the last byte."""

    total: float | None = 300.0
    connect: float | None = 10.0
    idle: float | None = None
    grace: float = 10.0  # between TERM and KILL of a child process


PREPARING = "preparing"
"""The phase of a call in which what it needs is made first: the time of the call begins when it ends."""


def _ignore(phase: str) -> None:
    """The default listener for phases."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """What a call gets besides its request.

    ``on_phase`` is told what the call is doing (:data:`PREPARING`, ``connecting``, ``calling``, ``streaming``), for the
    people watching.
    """

    limits: Limits
    trace: TraceContext
    on_phase: Callable[[str], None] = _ignore


@dataclass(frozen=True, slots=True)
class SolutionSetup:
    """What a solution gets when it is made, once per request of a plan.

    ``folder`` is the plan's folder (relative paths start there). ``environment`` is where ``${NAME}`` is looked up and
    what a child process inherits. ``concurrency`` is the most calls in flight at once. ``resolve`` puts the values of
    ``${NAME}`` into an option that is not a template (``proxy``). ``services`` are what the plan's platforms do for
    solutions during a run, by name; a solution that needs one says which.
    """

    folder: Path
    environment: Mapping[str, str]
    concurrency: int = 1
    resolve: Callable[[str], str] = field(default=lambda text: text)
    services: Mapping[str, Any] = field(default_factory=dict)


class Solution(Protocol):
    """One way of calling an agent. Made once per request, called from many tasks at the same time.

    The class is constructed as ``cls(options, setup)`` with the kind's options model and a :class:`SolutionSetup`.
    Making one opens nothing and executes nothing. It may also have a method ``check(request)`` that raises
    :class:`~tui_eval.errors.SolutionError` for a request that :meth:`call` could not send.
    """

    async def call(self, request: Rendered, context: CallContext) -> Answer:
        """One attempt. Raises :class:`~tui_eval.errors.SolutionError`; cancellation closes what it opened."""
        ...

    def host(self, request: Rendered) -> str | None:
        """The ``host[:port]`` that limits apply to (port left out when it is the scheme's own), None if there is none."""
        ...

    def preview(self, request: Rendered) -> dict[str, Any]:
        """Exactly what :meth:`call` would send, made by the same code from ``request.shown``: JSON, secrets hidden."""
        ...

    async def aclose(self) -> None:
        """Close connections and end worker processes."""
        ...
