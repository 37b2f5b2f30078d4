"""Screens by name. A screen is one module and one line here; it is imported when it is first opened."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_eval.tui.screens.base import BaseScreen


@dataclass(frozen=True, slots=True)
class Route:
    """``place`` is ``module:Class``. A ``section`` needs no argument: it has a key of its own and stands in the
    palette; going to a section that is open already goes back to it."""

    place: str
    title: str
    section: bool = False


_HERE = "tui_eval.tui.screens"
ROUTES = {
    "home": Route(f"{_HERE}.home:HomeScreen", "Home", section=True),
    "plans": Route(f"{_HERE}.plans:PlansScreen", "Plans", section=True),
    "datasets": Route(f"{_HERE}.datasets:DatasetsScreen", "Datasets", section=True),
    "solutions": Route(f"{_HERE}.solutions:SolutionsScreen", "Solutions", section=True),
    "evaluators": Route(f"{_HERE}.evaluators:EvaluatorsScreen", "Evaluators", section=True),
    "launch": Route(f"{_HERE}.launch:LaunchScreen", "Launch", section=True),
    "agentloop": Route(f"{_HERE}.agentloop:AgentLoopScreen", "AgentLoop", section=True),
    "settings": Route(f"{_HERE}.settings:SettingsScreen", "Settings", section=True),
    "run": Route(f"{_HERE}.run:RunScreen", "Run"),  # run_id
    "task": Route(f"{_HERE}.task:TaskScreen", "Task"),  # run_id, task_id, task_ids (to page through)
    "compare": Route(f"{_HERE}.compare:CompareScreen", "Compare"),  # left, right: run ids
}


def available(name: str) -> bool:
    """Whether this installation has the screen."""
    return name in ROUTES and find_spec(ROUTES[name].place.partition(":")[0]) is not None


def make(name: str, **arguments: Any) -> BaseScreen:
    """A new screen. ``arguments`` are those of its class. Raises ModuleNotFoundError when it is not available."""
    module, _, class_name = ROUTES[name].place.partition(":")
    screen: BaseScreen = getattr(import_module(module), class_name)(**arguments)
    screen.route = name
    return screen
