"""An AgentCompass orchestration that is composed or changed: its data, and how each change is made. Plain functions."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from tui_eval.jobs import Job

Owner: TypeAlias = int | str
"""Whose section it is: a request by its position from 0, ``DEFAULTS``, or ``WHOLE``: the orchestration itself."""
WHOLE = "orchestration"
DEFAULTS = "defaults"
GENERAL, TOP_RUNTIME, NAME = "general", "top_runtime", "name"
"""Parts that are no section of a request: the keys at the top, the ``runtime`` of all, the name of a request."""
SECTIONS = ("benchmark", "harness", "environment", "model", "execution", "runtime", "output")
COMPONENTS = ("benchmark", "harness", "environment")
_TOP = ("version", "name", "task_concurrency", "runtime", "defaults", "requests")


@dataclass(frozen=True, slots=True)
class CompassDraft:
    """An orchestration as it stands now. ``folder`` (absolute) is where relative paths start; ``written`` is what the
    file at ``path`` holds, None where there is no file yet. ``broken``: the file cannot be read as data at all."""

    folder: Path
    path: Path | None = None
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    written: Mapping[str, Any] | None = field(default=None, repr=False)
    broken: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""

    @property
    def changed(self) -> bool:
        """Whether something would be lost without saving."""
        return not self.broken and self.data != self.written

    @property
    def title(self) -> str:
        return self.path.name if self.path is not None else str(self.data.get("name") or "orchestration")

    def source(self) -> Path | dict[str, Any]:
        """The file while it is as it stands, else the data."""
        return self.path if self.path is not None and not self.changed else dict(self.data)

    def job(self, history: Path, run_id: str, overrides: tuple[str, ...] = ()) -> Job:
        """What the runner is told to do."""
        source = self.source()
        return Job(
            "launch",
            history=str(history),
            run_id=run_id,
            plan=str(source) if isinstance(source, Path) else source,
            folder=str(self.folder),
            overrides=overrides,
            tags=self.tags,
            note=self.note,
        )


def read_draft(path: Path) -> CompassDraft:
    """The orchestration in a file, in a thread. One that cannot be read is ``broken``; why is found out by a check."""
    from tui_eval.errors import SpecError
    from tui_eval.platforms.agentcompass.scalars import as_compass_reads
    from tui_eval.spec.source import read_document

    path = Path(path).expanduser().absolute()
    try:
        data = as_compass_reads(read_document(path).root).data()
    except SpecError:
        data = None
    if not isinstance(data, dict):
        return CompassDraft(path.parent, path, broken=True)
    return CompassDraft(path.parent, path, data, data)


def new_draft(folder: Path) -> CompassDraft:
    """An orchestration of one request, to be filled in."""
    data = {
        "version": 1,
        "name": "orchestration",
        "task_concurrency": 4,
        "defaults": {"environment": {"id": "host_process"}},
        "requests": [{"name": "first"}],
    }
    return CompassDraft(folder, None, data, None)


# -- reading --


def mapping(value: Any) -> dict[str, Any]:
    """A map as it is; anything else (the file may hold anything) is none."""
    return value if isinstance(value, dict) else {}


def requests_of(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The requests; what stands among them and is no map is an empty one, so that positions stay."""
    found = data.get("requests")
    return [mapping(each) for each in found] if isinstance(found, list) else []


def request_name(data: Mapping[str, Any], position: int) -> str:
    """What a request is called on the screen."""
    requests = requests_of(data)
    name = requests[position].get("name") if position < len(requests) else None
    return str(name) if name not in (None, "") else f"request {position + 1}"


def section(data: Mapping[str, Any], owner: Owner, key: str) -> dict[str, Any]:
    """What stands in a section of its owner, without what it inherits."""
    if owner == WHOLE:
        if key == TOP_RUNTIME:
            return mapping(data.get("runtime"))
        return {name: data[name] for name in ("name", "task_concurrency") if name in data}
    if owner == DEFAULTS:
        return mapping(mapping(data.get("defaults")).get(key))
    requests = requests_of(data)
    return mapping(requests[owner].get(key)) if isinstance(owner, int) and owner < len(requests) else {}


def inherited(data: Mapping[str, Any], owner: Owner, key: str) -> dict[str, Any]:
    """What a request gets from the defaults where it says nothing itself."""
    return section(data, DEFAULTS, key) if isinstance(owner, int) else {}


def effective_id(data: Mapping[str, Any], owner: Owner, key: str) -> str:
    """The id of the component or model that holds for a request, "" for none."""
    value = section(data, owner, key).get("id", inherited(data, owner, key).get("id"))
    return "" if value is None else str(value)


def path_of(data: Mapping[str, Any], owner: Owner, key: str = "") -> str:
    """The beginning of the paths of faults in a section, or in all of an owner."""
    if owner == WHOLE:
        return "runtime" if key == TOP_RUNTIME else ""
    if isinstance(owner, int):
        name = requests_of(data)[owner].get("name") if owner < len(requests_of(data)) else None
        above = f"requests.{str(name).strip() if isinstance(name, str) and name.strip() else owner}"
    else:
        above = DEFAULTS
    return f"{above}.{key}" if key else above


# -- changing --


def with_section(draft: CompassDraft, owner: Owner, key: str, value: Mapping[str, Any]) -> CompassDraft:
    """The draft with another section; an empty one is left out."""
    data = deepcopy(dict(draft.data))
    if owner == WHOLE and key == GENERAL:
        for name in ("name", "task_concurrency"):
            data.pop(name, None)
        data.update(value)
    elif owner == WHOLE:
        _put(data, "runtime", value)
    elif owner == DEFAULTS:
        defaults = mapping(data.get(DEFAULTS))
        _put(defaults, key, value)
        _put(data, DEFAULTS, _ordered(defaults, SECTIONS))
    elif isinstance(owner, int):
        requests = requests_of(data)
        _put(requests[owner], key, value)
        requests[owner] = _ordered(requests[owner], ("name", *SECTIONS))
        data["requests"] = requests
    return replace(draft, data=_ordered(data, _TOP))


def renamed(draft: CompassDraft, position: int, name: str) -> CompassDraft:
    requests = deepcopy(requests_of(draft.data))
    requests[position] = {"name": name, **{key: value for key, value in requests[position].items() if key != "name"}}
    return _with_requests(draft, requests)


def with_request(draft: CompassDraft, name: str, like: Owner) -> CompassDraft:
    """The draft with one request more, after ``like`` and with the same sections when that is a request."""
    requests = deepcopy(requests_of(draft.data))
    copied = deepcopy(requests[like]) if isinstance(like, int) else {}
    copied.pop("name", None)
    if "run_id" in (output := mapping(copied.get("output"))):
        del output["run_id"]  # two requests of one place cannot have one
    place = like + 1 if isinstance(like, int) else len(requests)
    requests.insert(place, {"name": name, **copied})
    return _with_requests(draft, requests)


def without_request(draft: CompassDraft, position: int) -> CompassDraft:
    requests = requests_of(draft.data)
    return _with_requests(draft, [*requests[:position], *requests[position + 1 :]])


def moved(draft: CompassDraft, position: int, step: int) -> CompassDraft:
    """The draft with a request earlier (-1) or later (1): AgentCompass works through them in the order of the file."""
    requests = list(requests_of(draft.data))
    place = max(0, min(len(requests) - 1, position + step))
    requests.insert(place, requests.pop(position))
    return _with_requests(draft, requests)


def _with_requests(draft: CompassDraft, requests: list[dict[str, Any]]) -> CompassDraft:
    return replace(draft, data=_ordered({**deepcopy(dict(draft.data)), "requests": requests}, _TOP))


def _put(holder: dict[str, Any], key: str, value: Mapping[str, Any]) -> None:
    if value:
        holder[key] = dict(value)
    else:
        holder.pop(key, None)


def _ordered(data: Mapping[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
    known = {key: data[key] for key in order if key in data}
    return {**known, **{key: value for key, value in data.items() if key not in known}}
