"""The settings of a launch as models for the form, and what was changed in the form as settings over the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from tui_eval.spec.agentloop_options import AgentLoopOptions
from tui_eval.spec.compose import EVERY, Setting, changed, without
from tui_eval.spec.model import Execution, Runtime, Sample, Strict
from tui_eval.tui.projections.launch import MISSING, at, base_value


class SampledDataset(Strict):
    """The part of a dataset that is a choice of the launch."""

    sample: Sample = Field(default_factory=Sample)


class RequestSettings(Strict):
    """What can be set for one request."""

    execution: Execution = Field(default_factory=lambda: Execution())
    dataset: SampledDataset = Field(default_factory=SampledDataset)


class SharedSettings(Strict):
    """What can be set for the whole launch, or for every request at once."""

    task_concurrency: int = Field(8, ge=1, le=4096, description="Tasks in flight over all requests.")
    execution: Execution = Field(default_factory=lambda: Execution())
    dataset: SampledDataset = Field(default_factory=SampledDataset)
    runtime: Runtime = Field(default_factory=Runtime)


class AgentLoopSection(Strict):
    """The section of a plan that names an experiment plan of AgentLoop."""

    agentloop: AgentLoopOptions


_OF_THE_PLAN = ("task_concurrency", "runtime", "agentloop")


def shown(plan: Mapping[str, Any], request: str | None, model: type[Strict] | None = None) -> dict[str, Any]:
    """What the form shows: what the resolved plan says. ``request`` None: for the launch as a whole, with what all
    requests agree on. ``model`` is the form's, when it is neither that of a request nor that of all."""
    found: dict[str, Any] = {}
    for path in _paths(model or (RequestSettings if request else SharedSettings)):
        value = base_value(Setting(_holder(path, request), path, None), plan)
        if value is not MISSING and value != "(differs)":
            _put(found, path, value)
    return found


def edited(
    settings: tuple[Setting, ...],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    base: Mapping[str, Any],
    request: str | None,
    model: type[Strict] | None = None,
) -> tuple[Setting, ...]:
    """``settings`` with what was changed in a form that showed ``before`` and holds ``after``.

    What is as in ``base`` (the plan without any changes) is no change. A field that was emptied goes back to what
    ``base`` says, or, when that was what stood there, to the default of the program.
    """
    model = model or (RequestSettings if request else SharedSettings)
    for path in _paths(model):
        old, new = at(before, path), at(after, path)
        if old == new:
            continue
        setting = Setting(_holder(path, request), path, new)
        original = base_value(setting, base)
        if new is MISSING:
            held = any(each.place == setting.place for each in settings)
            setting = Setting(setting.request, path, _default(model, path))
            settings = without(settings, setting.place) if held else changed(settings, setting)
        elif new == original and not _shadowed(settings, setting):
            settings = without(settings, setting.place)
        else:
            settings = changed(settings, setting)
    return settings


def _shadowed(settings: tuple[Setting, ...], setting: Setting) -> bool:
    """Whether a setting of every request stands where one request is to be as it was."""
    return setting.request not in (None, EVERY) and any(each.place == (EVERY, setting.path) for each in settings)


def _holder(path: tuple[str, ...], request: str | None) -> str | None:
    return None if path[0] in _OF_THE_PLAN else request or EVERY


def _paths(model: type[Strict], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, Strict):
            yield from _paths(inner, (*above, name))
        else:
            yield (*above, field.alias or name)


def _default(model: type[Strict], path: tuple[str, ...]) -> Any:
    field = next(each for name, each in model.model_fields.items() if (each.alias or name) == path[0])
    inner = field.annotation
    if len(path) > 1 and isinstance(inner, type) and issubclass(inner, Strict):
        return _default(inner, path[1:])
    return field.get_default(call_default_factory=True, validated_data={})


def _put(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for step in path[:-1]:
        data = data.setdefault(step, {})
    data[path[-1]] = value
