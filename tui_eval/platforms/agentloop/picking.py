"""What can be picked from on the platform: listed live and kept in the history, so that it can be looked at without it.

For the command line and the screens alike: :func:`listing` asks the platform and falls back to what it said last,
:func:`remembered` only looks into the history.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from tui_eval.errors import PlatformError
from tui_eval.platforms.agentloop.client import AgentLoop
from tui_eval.platforms.agentloop.connecting import connected
from tui_eval.platforms.agentloop.nouns import ExperimentRun, PlatformDataset, PlatformEvaluator, PlatformPlan, Space
from tui_eval.spec.agentloop_options import AgentLoopOptions
from tui_eval.store.platform_records import read_cache, write_cache

T = TypeVar("T")
PLATFORM = "agentloop"


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """Something to list: what it is called, what its items are, and how they are got."""

    name: str
    item: Callable[..., T]
    load: Callable[[AgentLoop], Awaitable[Sequence[T]]]
    of_space: bool = True


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """What the platform has, as of ``at`` (seconds since the epoch). ``trouble`` says why it is not from just now."""

    items: list[T]
    at: float
    trouble: str = ""


SPACES: Kind[Space] = Kind("spaces", Space, lambda client: client.spaces(), of_space=False)
PLANS: Kind[PlatformPlan] = Kind("plans", PlatformPlan, lambda client: client.plans())
DATASETS: Kind[PlatformDataset] = Kind("datasets", PlatformDataset, lambda client: client.datasets())
EVALUATORS: Kind[PlatformEvaluator] = Kind("evaluators", PlatformEvaluator, lambda client: client.evaluators())
RUNS: Kind[ExperimentRun] = Kind("runs", ExperimentRun, lambda client: client.runs())


def remembered(history: Path, kind: Kind[T], options: AgentLoopOptions) -> Listing[T] | None:
    """What was listed last, None when nothing was yet. Raises HistoryError."""
    found = read_cache(history, PLATFORM, _key(kind, options))
    if found is None:
        return None
    at, items = found
    return Listing([kind.item(**item) for item in items], at)


async def listing(
    history: Path, kind: Kind[T], options: AgentLoopOptions, environment: Mapping[str, str], now: float
) -> Listing[T]:
    """What the platform has now; where it cannot be asked, what it had last. Raises PlatformError when that is not
    known either, UsageError without credentials, HistoryError."""
    try:
        async with connected(options, environment) as client:
            items = list(await kind.load(client))
    except PlatformError as error:
        known = remembered(history, kind, options)
        if known is None:
            raise
        return Listing(known.items, known.at, str(error))
    write_cache(history, PLATFORM, _key(kind, options), [_data(item) for item in items])
    return Listing(items, now)


def _key(kind: Kind[Any], options: AgentLoopOptions) -> str:
    return options.kept_under(kind.name, of_space=kind.of_space)


def _data(item: Any) -> dict[str, Any]:
    return asdict(item)
