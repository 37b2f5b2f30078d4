"""What goes along with a run because its plan names a platform: hears of its start and end, adds to what calls carry.

The engine knows no platform: it finds the class through ``spec.kinds.PLATFORMS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_eval.domain import JsonValue
from tui_eval.spec import kinds

if TYPE_CHECKING:
    from tui_eval.engine.starting import Start
    from tui_eval.jobs import Job
    from tui_eval.spec.loading import LoadedPlatform


class Companion:
    """Made as ``cls(section, start, job, environment)`` once the run stands in the history.

    Trouble with the platform is a companion's own affair: it must neither stop the run nor slow its tasks. All methods
    do nothing; override what is needed.
    """

    async def begin(self) -> None:
        """Before the first task. May take a few seconds at most."""

    def services(self) -> Mapping[str, Any]:
        """What it does for solutions while tasks run, by name (``SolutionSetup.services``)."""
        return {}

    def baggage(self, request: str, case_input: Mapping[str, JsonValue]) -> Mapping[str, str]:
        """What the calls for a case carry as W3C baggage. Called for every attempt."""
        return {}

    async def close(self) -> None:
        """After the last task, however the run ended, also when it broke or was cancelled: let go of everything."""

    async def end(self) -> None:
        """When the run has ended and its final state is in the history."""


def companions_of(start: Start, job: Job, environment: Mapping[str, str]) -> list[Companion]:
    """A companion for each platform section of the plan."""
    made: list[Companion] = []
    for name, section in start.loaded.platforms.items():
        made.append(_companion(name, section, start, job, environment))
    return made


def _companion(name: str, section: LoadedPlatform, start: Start, job: Job, environment: Mapping[str, str]) -> Companion:
    companion: Companion = kinds.load(kinds.PLATFORMS[name].companion)(section, start, job, environment)
    return companion


def services_of(companions: Sequence[Companion]) -> dict[str, Any]:
    """The services of all companions together."""
    return {name: service for companion in companions for name, service in companion.services().items()}


def baggage_of(
    companions: Sequence[Companion], request: str, case_input: Mapping[str, JsonValue]
) -> Mapping[str, str] | None:
    """The baggage of all companions together, None when there is none."""
    found: dict[str, str] = {}
    for companion in companions:
        found.update(companion.baggage(request, case_input))
    return found or None
