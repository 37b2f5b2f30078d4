"""Runs inside the interpreter of AgentCompass (3.12 or newer), never inside ours; needs nothing of tui_eval.

The job comes as one JSON document on standard input, what happens goes out as JSON lines on the original standard
output; everything else that is written there is diverted to standard error. Kinds of lines: ``hello`` first, then
``catalog``, ``dry_run``, or ``started``, ``tasks``, ``progress``, ``request_finished`` and at the end ``result``,
``cancelled`` or ``error``; ``heartbeat`` in between. The first SIGINT or SIGTERM cancels in AgentCompass's own way, the
second ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.metadata
import importlib.util
import json
import os
import queue
import signal
import sys
import threading
import time
from dataclasses import MISSING, asdict, fields, is_dataclass
from types import FrameType
from typing import Any

PROTOCOL = 1
CAPABILITIES = ("launch", "catalog", "dry_run", "tasks", "heartbeat", "preload")
HEARTBEAT_SECONDS = 5.0
TASKS_IN_A_LINE = 100
LONGEST_TEXT = 100_000
"""Characters of one text of a task that are passed on."""


class Lines:
    """The lines to the front-end, written by a thread of its own: neither waits for the other."""

    def __init__(self, descriptor: int) -> None:
        self._out = os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="\n")
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.turned = time.monotonic()
        self._thread = threading.Thread(target=self._write, name="bridge-lines", daemon=True)
        self._thread.start()

    def send(self, kind: str, **values: Any) -> None:
        line = json.dumps({"kind": kind, "t": time.time(), **values}, ensure_ascii=False, default=str)
        self._queue.put(line)

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join(timeout=30)

    def _write(self) -> None:
        with contextlib.suppress(BrokenPipeError):  # the front-end is gone; the files on disk stay complete
            while True:
                try:
                    line = self._queue.get(timeout=HEARTBEAT_SECONDS)
                except queue.Empty:
                    stalled = round(time.monotonic() - self.turned, 1)
                    line = json.dumps({"kind": "heartbeat", "t": time.time(), "stalled_seconds": stalled})
                if line is None:
                    return
                self._out.write(line + "\n")
                if self._queue.empty():
                    self._out.flush()


class Job:
    """One job: what is asked for, and the cancellation of it."""

    def __init__(self, lines: Lines, asked: dict[str, Any]) -> None:
        self.lines = lines
        self.asked = asked
        self.task: asyncio.Task[Any] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.signals = 0

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        self.signals += 1
        if self.signals > 1 or self.task is None or self.loop is None:
            self.lines.send("cancelled")
            self.lines.close()
            os._exit(130)
        self.loop.call_soon_threadsafe(self.task.cancel)

    async def turn(self) -> None:
        """Note that the event loop turns, so that a heartbeat can tell how long it has not."""
        while True:
            self.lines.turned = time.monotonic()
            await asyncio.sleep(1)

    async def launch(self) -> int:
        self.loop = asyncio.get_running_loop()
        turning = asyncio.create_task(self.turn())
        compass, spec = self._spec()
        self._tell_tasks()
        self.lines.send("started", name=spec.name, requests=[request.name for request in spec.requests])
        self.task = asyncio.create_task(
            compass.async_launch(
                spec,
                config_path=self.asked.get("config") or None,
                progress="none",
                on_progress=lambda event: self.lines.send("progress", event=event.to_dict()),
                on_request_finished=lambda outcome: self.lines.send("request_finished", outcome=asdict(outcome)),
            )
        )
        try:
            result = await self.task
        except asyncio.CancelledError:
            self.lines.send("cancelled")
            return 130
        finally:
            turning.cancel()
        self.lines.send("result", result=asdict(result))
        return 0 if result.status == "completed" else 1

    def dry_run(self) -> int:
        _, spec = self._spec()
        orchestration = importlib.import_module("agentcompass.runtime.orchestration")
        resolved = orchestration.resolve_orchestration(spec, config_path=self.asked.get("config") or None)
        asyncio.run(orchestration.validate_orchestration(resolved))
        self.lines.send("dry_run", text=orchestration.dump_resolved_orchestration(resolved))
        return 0

    def _spec(self) -> tuple[Any, Any]:
        compass = importlib.import_module("agentcompass")
        for number, path in enumerate(self.asked.get("preload") or ()):
            _preload(path, f"agentcompass_preload_{number}")
        orchestration = importlib.import_module("agentcompass.runtime.orchestration")
        return compass, orchestration.load_orchestration_spec(self.asked["file"])

    def _tell_tasks(self) -> None:
        """Have the tasks of each request told once they are loaded: neither events nor files name those that wait, or
        what a task that fails was asked. What cannot be hooked into is left as it is."""
        try:
            runtime = importlib.import_module("agentcompass.runtime.runner").UnifiedEvaluationRuntime
            original = runtime.prepare
        except (ImportError, AttributeError):
            return
        lines = self.lines

        async def prepare(this: Any, *args: Any, **options: Any) -> Any:
            prepared = await original(this, *args, **options)
            try:
                for line in _task_lines(this, prepared, options):
                    lines.send("tasks", **line)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                print(f"tui_eval bridge: tasks cannot be told: {type(error).__name__}: {error}", file=sys.stderr)
            return prepared

        runtime.prepare = prepare


def _task_lines(runtime: Any, prepared: Any, options: dict[str, Any]) -> Any:
    contract = getattr(runtime.benchmark, "metric_contract", None)
    specs = getattr(contract, "metrics", None) or ()
    primary = next((spec for spec in specs if getattr(spec, "primary", False)), None)
    head = {
        "request_name": options.get("request_name"),
        "request_index": options.get("request_index"),
        "k": runtime.req.execution.attempts.k,
        "metric": getattr(primary, "metric_id", None) or getattr(primary, "id", None),
        "output_dir": str(runtime.output_dir),
        "reused": sorted(prepared.reused_results),
    }
    tasks = list(prepared.tasks)
    for start in range(0, max(len(tasks), 1), TASKS_IN_A_LINE):
        part = [_task(task, start + at) for at, task in enumerate(tasks[start : start + TASKS_IN_A_LINE])]
        yield {**head, "total": len(tasks), "tasks": part}


def _task(task: Any, position: int) -> dict[str, Any]:
    return {
        "position": position,
        "task_id": task.task_id,
        "category": task.category,
        "question": _short(task.question),
        "ground_truth": _short(task.ground_truth),
    }


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) > LONGEST_TEXT:
        return text[:LONGEST_TEXT] + "…"
    return value


def _preload(path: str, name: str) -> None:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def catalog() -> dict[str, Any]:
    """Every component with its parameters, as in ``catalog.json``."""
    registry = importlib.import_module("agentcompass.runtime.registry")
    registry.load_builtin_components()
    environment = importlib.import_module("agentcompass.runtime.config.environment")
    found: dict[str, Any] = {"version": _version()}
    for kind, entries in (("benchmark", registry.BENCHMARKS), ("harness", registry.HARNESSES)):
        found[kind] = {name: _entry(entry.component_cls) for name, entry in sorted(entries.items())}
    found["environment"] = {}
    for name, entry in sorted(registry.ENVIRONMENTS.items()):
        parameters = environment.environment_provider_fields(name)
        found["environment"][name] = {
            **_entry(entry.component_cls),
            "fields": [_field(item) for item in parameters.values()],
        }
    return found


def _entry(component: Any) -> dict[str, Any]:
    config = getattr(component, "config_class", None)
    listed = [_field(item) for item in fields(config) if item.init] if is_dataclass(config) else []
    free = any(base.__name__ == "HarnessFreeBenchmark" for base in component.__mro__)
    return {"description": str(getattr(component, "description", "") or ""), "harness_free": free, "fields": listed}


def _field(item: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": item.name,
        "type": str(item.type),
        "description": item.metadata.get("description", ""),
    }
    if item.default is not MISSING:
        told["default"] = (
            item.default if isinstance(item.default, str | int | float | bool | None) else str(item.default)
        )
    elif item.default_factory is not MISSING:
        told["default"] = json.loads(json.dumps(item.default_factory(), default=str))
    else:
        told["required"] = True
    return told


def _version() -> str:
    try:
        return importlib.metadata.version("agentcompass")
    except importlib.metadata.PackageNotFoundError:
        return ""


def main() -> int:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks GitHub while it is imported
    lines = Lines(os.dup(1))
    os.dup2(2, 1)
    asked = json.load(sys.stdin)
    lines.send(
        "hello",
        protocol=PROTOCOL,
        capabilities=CAPABILITIES,
        pid=os.getpid(),
        python=sys.version.split()[0],
        agentcompass=_version(),
    )
    job = Job(lines, asked)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, job.on_signal)
    try:
        status = _do(job, asked.get("action"))
    except Exception as error:
        # Whatever it is, the front-end must hear of it; the traceback goes to the log.
        import traceback

        traceback.print_exc()
        usage = isinstance(error, ValueError | TypeError | KeyError | FileNotFoundError)
        lines.send("error", error=f"{type(error).__name__}: {error}", usage=usage)
        status = 2 if usage else 1
    lines.close()
    return status


def _do(job: Job, action: str | None) -> int:
    if action == "launch":
        return asyncio.run(job.launch())
    if action == "dry_run":
        return job.dry_run()
    if action == "catalog":
        job.lines.send("catalog", catalog=catalog())
        return 0
    if action == "hello":
        return 0
    raise ValueError(f"unknown action {action!r}")


if __name__ == "__main__":
    sys.exit(main())
