"""What is found out before a launch: the check of a child process, a look at the plan here, times of earlier runs.

Nothing is executed or sent by any of it. The check needs the engine, which screens do not load: a child process of the
command line does it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tui_eval.errors import Fault, TuiEvalError
from tui_eval.tui.child_command import environment, program
from tui_eval.tui.launch_draft import Draft

if TYPE_CHECKING:
    from tui_eval.store.reader import History

T = TypeVar("T")

_RUNS_LOOKED_AT = 40
_TIMES_READ = 5000  # of a run: a median needs no more


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A request as the check found it. ``calls`` is how many calls of the agent it makes at most; ``cases`` and
    ``selected`` are None when its dataset could not be read."""

    name: str
    solution: str
    dataset: str | None
    cases: int | None
    selected: int | None
    tasks: int
    calls: int
    hosts: tuple[str, ...]
    commands: tuple[str, ...]
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the check said. ``requests`` is empty when the plan itself has faults."""

    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    requests: tuple[CheckedRequest, ...]

    @property
    def tasks(self) -> int:
        return sum(request.tasks for request in self.requests)

    @property
    def calls(self) -> int:
        return sum(request.calls for request in self.requests)


@dataclass(frozen=True, slots=True)
class Look:
    """What the plan says, whether or not it can be run here: ``base`` without the changes of the draft, ``resolved``
    with them. ``references`` are the environment variables it needs. ``stored`` is fit for the history."""

    base: Mapping[str, Any] = field(repr=False)
    resolved: Mapping[str, Any] = field(repr=False)
    stored: Mapping[str, Any] = field(repr=False)
    references: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(request["name"]) for request in self.resolved.get("requests", ()))


Hear = Callable[[str], None]
"""Hears now and then how far a check is: ``checking tickets.jsonl … 43 %``."""


async def check(draft: Draft, added: Mapping[str, str], told: Hear = lambda line: None) -> Verdict:
    """Check the draft in a child process that has ``added`` variables besides ours; cancelling ends the child.

    Raises TuiEvalError when the check itself could not be made.
    """
    source = draft.source()
    asked = {
        "plan": str(source) if isinstance(source, Path) else source,
        "folder": None if isinstance(source, Path) else str(draft.folder),
        "overrides": draft.overrides(),
    }
    return await checked(asked, added, told, _verdict)


async def checked(
    asked: Mapping[str, Any], added: Mapping[str, str], told: Hear, understood: Callable[[Mapping[str, Any]], T]
) -> T:
    """What ``validate --from-stdin`` answers to ``asked``, as ``understood`` makes it of the JSON; as :func:`check`."""
    process = await asyncio.create_subprocess_exec(
        *program(),
        "validate",
        "--from-stdin",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd="/",
        env={**environment(), **added},
    )
    try:
        out, words = await _answer(process, json.dumps(asked).encode(), told)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    try:
        return understood(json.loads(out))
    except (ValueError, KeyError, TypeError) as error:
        lines = words.decode("utf-8", "replace").strip().splitlines()
        raise TuiEvalError(f"the plan could not be checked: {lines[-1] if lines else error}") from error


async def _answer(process: asyncio.subprocess.Process, asked: bytes, told: Hear) -> tuple[bytes, bytes]:
    """All of standard output and error; ``told`` hears each line of the latter when it comes."""
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    stdin.write(asked)
    with suppress(BrokenPipeError, ConnectionResetError):  # it ended early: what it said tells why
        await stdin.drain()
    stdin.close()

    async def hear() -> bytes:
        words = b""
        while piece := await stderr.read(4096):
            words += piece
            told(words.rstrip().rpartition(b"\n")[2].decode("utf-8", "replace"))
        return words

    out, words = await asyncio.gather(stdout.read(), hear())
    await process.wait()
    return out, words


def _verdict(data: Mapping[str, Any]) -> Verdict:
    return Verdict(
        tuple(Fault(**fault) for fault in data["faults"]),
        tuple(Fault(**fault) for fault in data["warnings"]),
        tuple(
            CheckedRequest(
                entry["name"],
                entry["solution"],
                entry["dataset"],
                entry["cases"],
                entry["selected"],
                entry["tasks"],
                entry["calls_at_most"],
                tuple(entry["hosts"]),
                tuple(entry["commands"]),
                tuple(entry["functions"]),
            )
            for entry in data["requests"]
        ),
    )


def look(draft: Draft, environment: Mapping[str, str]) -> Look | None:
    """What the plan says; None when it has faults (the check tells them). In a thread: reads files."""
    from tui_eval.errors import SpecError
    from tui_eval.spec.loading import load_plan

    source = draft.source()
    load = partial(load_plan, environment=environment, folder=draft.folder, check_environment=False)
    try:
        base = load(source if isinstance(source, Path) else (draft.plan or {}))
    except SpecError:
        return None
    if draft.path is not None and not draft.names:
        # The names decide how the changes are written.
        draft = replace(draft, names=tuple(request.name for request in base.requests))
    try:
        loaded = load(source, overrides=draft.overrides())
    except SpecError:
        return Look(base.resolved, base.resolved, base.stored, tuple(sorted(base.references)))
    return Look(base.resolved, loaded.resolved, loaded.stored, tuple(sorted(loaded.references)))


def medians(history: History, stored: Mapping[str, Any]) -> dict[str, float]:
    """Median seconds of a task of each request, in a thread: by the newest earlier run that called the same solution,
    else by the newest run of a plan and a request of the same names. Requests without either are left out."""
    plan = str(stored.get("name", ""))
    wanted = {str(request["name"]): request.get("solution") for request in stored.get("requests", ())}
    found: dict[str, float] = {}
    by_name: dict[str, float] = {}
    seen: set[str] = set()
    for overview in (*history.runs(limit=_RUNS_LOOKED_AT, name=plan), *history.runs(limit=_RUNS_LOOKED_AT)):
        if overview.run.run_id in seen or len(found) == len(wanted):
            continue
        seen.add(overview.run.run_id)
        run = history.run(overview.run.run_id)
        solutions = {str(each["name"]): each.get("solution") for each in run.plan.get("requests", ())}
        alike = {
            name: next((old for old in (name, *solutions) if solutions.get(old) == solution), None)
            for name, solution in wanted.items()
            if name not in found
        }
        if not any(alike.values()) and run.name != plan:
            continue
        times = _times(history, run.id)
        for name, old in alike.items():
            if old is not None and times.get(old):
                found[name] = _median(times[old])
            elif run.name == plan and times.get(name):
                by_name.setdefault(name, _median(times[name]))
    return {**by_name, **found}


def _times(history: History, run: int) -> dict[str, list[float]]:
    """Latencies of the finished tasks of a run, by the name of their request."""
    requests = history.requests(run)
    names = {request.id: request.name for request in requests}
    step = 1 + sum(request.counters.finished for request in requests) // _TIMES_READ
    times: dict[str, list[float]] = {}
    for request, _, latency, _ in history.timings(run, step):
        if latency is not None:
            times.setdefault(names.get(request, ""), []).append(latency)
    return times


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
