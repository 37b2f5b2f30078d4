"""What the screen of AgentLoop asks: in threads, the platform or what it said last. Nothing here touches a widget."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from tui_eval.errors import PlatformError, UsageError
from tui_eval.spec.agentloop_options import AgentLoopOptions
from tui_eval.spec.model import Strict
from tui_eval.tui.launch_draft import Draft

if TYPE_CHECKING:
    from tui_eval.platforms.agentloop.client import AgentLoop
    from tui_eval.platforms.agentloop.picking import Kind, Listing
    from tui_eval.tui.launch_parts import Choice

NAMES = ("plans", "datasets", "evaluators", "runs")
"""The lists of an agent space."""
NEW_HTTP: Mapping[str, Any] = {
    "body": {"input": "{{ input.input }}", "stream": True},
    "response": "sse",
    "chunk_extractor": "output",
}
"""Where the form of a new solution begins: an agent that streams, asked as the platform's guide asks it."""
_PLATFORM = "agentloop"
_PLACE = "place"
_ROWS = 5
_MONTH = 31 * 86400.0


class Place(Strict):
    """Where the platform is. Credentials are no part of it: they come from the environment."""

    region_id: str = Field(min_length=1, description="Region of the platform, as `cn-hangzhou`.")
    vpc: bool = Field(False, description="Use the endpoints inside the VPC.")
    custom_agentloop_endpoint: str = Field("", description="host[:port] of the platform, instead of the region's.")
    custom_sls_endpoint: str = Field("", description="host[:port] of the log service, instead of the region's.")


@dataclass(frozen=True, slots=True)
class Where:
    """The platform and the agent space that are looked at; either may still be unknown (None, empty)."""

    place: Place | None = None
    space: str = ""

    def options(self, plan_id: str = "-") -> AgentLoopOptions:
        """As a plan's section names it. Only with a ``place``."""
        assert self.place is not None
        return AgentLoopOptions(agent_space=self.space or "-", experiment_plan_id=plan_id, **self.place.model_dump())

    def section(self, plan_id: str) -> dict[str, Any]:
        """The section of a plan file; texts of the platform are texts there, no references."""
        assert self.place is not None
        named = {"agent_space": self.space, "experiment_plan_id": plan_id}
        written = {**named, **self.place.model_dump(exclude_defaults=True)}
        return {key: value.replace("${", "$${") if isinstance(value, str) else value for key, value in written.items()}


@dataclass(frozen=True, slots=True)
class Detail:
    """What the platform said about one thing, ``at`` seconds since the epoch."""

    at: float
    data: Mapping[str, Any] = field(repr=False)


def first_where(history: Path, environment: Mapping[str, str]) -> Where:
    """What the environment names (as for ``tui-eval agentloop``), else what was looked at last. Raises HistoryError."""
    from tui_eval.store.platform_records import read_cache

    found = read_cache(history, _PLATFORM, _PLACE)
    kept = found[1] if found is not None and isinstance(found[1], dict) else {}
    try:
        place = Place.model_validate(kept["place"]) if kept.get("place") else None
    except ValueError:
        place = None  # kept by another version
    space = str(kept.get("space", ""))
    region, endpoint = environment.get("TUI_EVAL_AGENTLOOP_REGION"), environment.get("TUI_EVAL_AGENTLOOP_ENDPOINT")
    if region and (place is None or place.region_id != region):
        place, space = Place(region_id=region), ""
    if place is not None and endpoint:
        place = place.model_copy(update={"custom_agentloop_endpoint": endpoint})
    return Where(place, environment.get("TUI_EVAL_AGENTLOOP_SPACE") or space)


def keep_where(history: Path, where: Where) -> None:
    """Begin here next time. Raises HistoryError."""
    from tui_eval.store.platform_records import write_cache

    place = None if where.place is None else where.place.model_dump()
    write_cache(history, _PLATFORM, _PLACE, {"place": place, "space": where.space})


def missing(where: Where, environment: Mapping[str, str]) -> str:
    """What is missing before the platform can be asked, and what to do; empty when nothing is. Reads a profile file."""
    from tui_eval.platforms.agentloop.credentials import find_credentials

    wanting = []
    try:
        find_credentials(environment)
    except UsageError as error:
        wanting.append(str(error))
    if where.place is None:
        wanting.append("the region is not known: press o to name it (or set TUI_EVAL_AGENTLOOP_REGION)")
    elif not where.space:
        wanting.append("no agent space is chosen: press a")
    return "; ".join(wanting)


def kind_of(name: str) -> Kind[Any]:
    """A list by its name: one of :data:`NAMES`, or ``spaces``."""
    from tui_eval.platforms.agentloop import picking

    kinds: tuple[Kind[Any], ...] = (
        picking.SPACES,
        picking.PLANS,
        picking.DATASETS,
        picking.EVALUATORS,
        picking.RUNS,
    )
    return next(kind for kind in kinds if kind.name == name)


def known(history: Path, name: str, where: Where) -> Listing[Any] | None:
    """What was listed last, None when nothing was. Raises HistoryError."""
    from tui_eval.platforms.agentloop.picking import remembered

    return remembered(history, kind_of(name), where.options())


def ask(history: Path, name: str, where: Where, environment: Mapping[str, str]) -> Listing[Any]:
    """What the platform has now, else what it had last; raises as ``picking.listing``."""
    from tui_eval.platforms.agentloop.picking import listing

    return asyncio.run(listing(history, kind_of(name), where.options(), environment, time.time()))


# -- one thing --


def known_detail(history: Path, name: str, item: str, where: Where) -> Detail | None:
    """What the platform said last about one thing of a list. Raises HistoryError."""
    from tui_eval.store.platform_records import read_cache

    found = read_cache(history, _PLATFORM, _detail_key(name, item, where))
    return None if found is None or not isinstance(found[1], dict) else Detail(found[0], found[1])


def ask_detail(history: Path, name: str, item: str, where: Where, environment: Mapping[str, str]) -> Detail:
    """Ask the platform about one thing, and keep the answer. Raises PlatformError, UsageError, HistoryError."""
    from tui_eval.platforms.agentloop.connecting import connected
    from tui_eval.store.platform_records import write_cache

    async def answer() -> dict[str, Any]:
        async with connected(where.options(), environment) as client:
            return await _LOADERS[name](client, item)

    data = asyncio.run(answer())
    write_cache(history, _PLATFORM, _detail_key(name, item, where), data)
    return Detail(time.time(), data)


def _detail_key(name: str, item: str, where: Where) -> str:
    return f"{where.options().kept_under(name)} one {item}"


async def _plan(client: AgentLoop, item: str) -> dict[str, Any]:
    return asdict(await client.plan(item))


async def _dataset(client: AgentLoop, item: str) -> dict[str, Any]:
    from tui_eval.platforms.agentloop.rows import preview_rows

    return {**asdict(await client.dataset(item)), "rows": await preview_rows(client, item, _ROWS)}


async def _evaluator(client: AgentLoop, item: str) -> dict[str, Any]:
    return asdict(await client.evaluator(item))


async def _run(client: AgentLoop, item: str) -> dict[str, Any]:
    """A record with its evaluation and the mean of each of its scores."""
    from tui_eval.platforms.agentloop.client import SCORES_STORE
    from tui_eval.platforms.agentloop.scores import score_of

    run = await client.run(item)
    data: dict[str, Any] = asdict(run)
    if not run.evaluation_task:
        return data
    try:
        data["evaluation"] = asdict(await client.evaluation(run.evaluation_task))
    except PlatformError as error:
        if error.status != 404:
            raise
    project = (await client.get_space()).project
    now = time.time()
    since = (run.executed_at or now - _MONTH) - 3600
    values: dict[str, list[float]] = {}
    query = f'task_id: "{run.evaluation_task}"'
    async for log in client.get_logs(project, SCORES_STORE, query, since, now + 3600):
        if log.get("experiment_id") in (None, "", item):
            score = score_of(log, {})
            values.setdefault(score.evaluator, []).extend([] if score.value is None else [score.value])
    data["scores"] = {
        name: {"count": len(found), "mean": sum(found) / len(found) if found else None}
        for name, found in values.items()
    }
    return data


_LOADERS = {"plans": _plan, "datasets": _dataset, "evaluators": _evaluator, "runs": _run}


# -- launching --


def solution_choices(workspace: Path) -> list[Choice]:
    """The solutions of the workspace, saved ones and those in plans."""
    from tui_eval.tui.launch_parts import read_choices

    return [choice for choice in read_choices(workspace)[0] if choice.of == "solution"]


def draft_of(where: Where, plan_id: str, name: str, dataset: str, solution: Choice, workspace: Path) -> Draft:
    """The launch of a plan of the platform with a solution: its rows, our calls, reported there."""
    from tui_eval.spec.compose import Part, compose_plan

    rows = Part(dataset, {"platform": _PLATFORM})
    composed = compose_plan(name or plan_id, [rows], [solution.part()], [])
    requests = composed.pop("requests")
    return Draft(workspace, plan={**composed, _PLATFORM: where.section(plan_id), "requests": requests})


def with_place(where: Where, data: Mapping[str, Any]) -> Where:
    """The same on another platform, where no agent space is chosen yet. Raises UsageError for an address that cannot
    be one."""
    from tui_eval.platforms.agentloop.connecting import endpoints_of

    place = Place.model_validate(dict(data))
    changed = Where(place, where.space if place == where.place else "")
    endpoints_of(changed.options())
    return changed
