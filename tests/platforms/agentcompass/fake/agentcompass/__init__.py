"""A stand-in for the package AgentCompass: the same calls, events and files, tasks of its own, no model.

Tasks are those of ``version`` of a request's benchmark: texts as ``ok``, ``fatal``, ``error``, ``wrong``, ``slow``, ``hang``.
"""

import asyncio
import json
import os
import re
import time
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path

SAFE = re.compile(r"[^A-Za-z0-9._=-]+")


@dataclass
class Event:
    values: dict

    def to_dict(self):
        return self.values


@dataclass
class RequestOutcome:
    name: str
    status: str
    result: dict | None = None
    error: str = ""
    paths: dict = field(default_factory=dict)


@dataclass
class OrchestrationResult:
    orchestration_id: str
    name: str
    status: str
    requests: dict
    started_at: str = "2026-11-29T11:24:22+00:00"
    finished_at: str = "2026-11-29T11:24:32+00:00"


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def task_folder(task_id):
    import hashlib

    return f"{SAFE.sub('_', task_id).strip('._-')[:80]}--{hashlib.sha256(task_id.encode()).hexdigest()}"


def result_of(kind, task_id):
    issues = {
        "fatal": [{"severity": "fatal", "phase": "run", "code": "model_failed", "message": "HTTP 500: exploded"}],
        "error": [{"severity": "error", "phase": "run", "code": "model_empty_output", "message": "no content"}],
    }.get(kind, [])
    answer = f"{kind}: key {os.environ.get('MODEL_KEY', '')}" if kind != "fatal" else None
    metrics = {} if kind == "fatal" else {"correct": kind in ("ok", "slow")}
    return {
        "status": "run_error" if issues else "completed",
        "metrics": metrics,
        "final_answer": answer,
        "issues": issues,
        "trajectory": {},
        "artifacts": {},
    }


class Request:
    def __init__(self, spec, index, orchestration, root, tell):
        self.spec, self.index, self.tell = spec, index, tell
        self.orchestration = orchestration
        self.folder = root / SAFE.sub("_", spec.name) / spec.output["run_id"]
        if self.folder.exists():
            raise ValueError(f"Run id '{spec.output['run_id']}' already exists at {self.folder}")
        self.kinds = str(spec.benchmark.get("version", "ok")).split()
        self.wanted = spec.benchmark.get("sample_ids")
        self.failed = False

    def emit(self, name, task_id=None, attempt=None, phase=None, status=None, **payload):
        event = {
            "run_id": self.spec.output["run_id"],
            "event": name,
            "timestamp": time.time(),
            "task_id": task_id,
            "category": "c" if task_id else None,
            "attempt": attempt,
            "phase": phase,
            "status": status,
            "payload": payload,
            "orchestration_id": self.orchestration,
            "request_key": f"{self.orchestration}/{self.index}",
            "request_name": self.spec.name,
            "request_index": self.index,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "progress.jsonl").open("a") as stream:
            stream.write(json.dumps(event) + "\n")
        self.tell(Event(event))

    async def run(self):
        if "missing" in self.kinds:
            return RequestOutcome(self.spec.name, "failed", error="[Errno 2] No such file: data/missing.jsonl")
        info = {
            "run_id": self.spec.output["run_id"],
            "started_at": "2026-11-29T11:24:23+00:00",
            "request": {"metadata": {"request_name": self.spec.name}, "output": self.spec.output},
        }
        write(self.folder / "run_info.json", info)
        self.emit("run_started")
        tasks = [(f"{self.spec.name}_{at}", kind) for at, kind in enumerate(self.kinds)]
        tasks = [one for one in tasks if self.wanted is None or one[0] in self.wanted]
        self.emit("tasks_loaded", total_tasks=len(tasks))
        reused = self.reuse()
        self.emit("reuse_loaded", reused_tasks=len(reused), tasks_to_run=len(tasks) - len(reused))
        for task_id, kind in tasks:
            if task_id not in reused:
                await self.task(task_id, kind)
        status = "failed" if self.failed else "completed"
        metrics = {
            "evaluation_failed": self.failed,
            "series": [
                {
                    "metric_id": "correct",
                    "display": {"label": "Correct"},
                    "value": None if self.failed else 1.0,
                    "reference_value": 0.5 if self.failed else None,
                    "counts": {"total": len(tasks), "evaluated": len(tasks), "invalidated": int(self.failed)},
                }
            ],
        }
        write(self.folder / "metrics.json", metrics)
        write(self.folder / "run_info.json", {**info, "status": status, "finished_at": "2026-11-29T11:24:33+00:00"})
        self.emit("run_finished", status=status)
        return RequestOutcome(
            self.spec.name,
            status,
            {"metrics": metrics, "evaluation_failed": self.failed},
            "Final FATAL issues" if self.failed else "",
            {"output_dir": str(self.folder)},
        )

    def reuse(self):
        source = (self.spec.runtime or {}).get("reuse_run_id")
        if not source:
            return set()
        import shutil

        found = set()
        for state in ("normal", "error", "fatal"):
            for folder in (self.folder.parent / source / "details").glob(f"{state}/*"):
                shutil.copytree(folder, self.folder / "details" / state / folder.name)
                found.add(json.loads((folder / "task.json").read_text())["task_id"])
        return found

    async def task(self, task_id, kind):
        self.emit("task_started", task_id, index=0, total=len(self.kinds))
        self.emit("attempt_started", task_id, 1)
        self.emit("phase_changed", task_id, 1, "run_harness")
        with open("calls.txt", "a") as calls:
            calls.write(task_id + "\n")
        await asyncio.sleep({"slow": 0.3, "hang": 600}.get(kind, 0))
        result = result_of(kind, task_id)
        state = {"fatal": "fatal", "error": "error"}.get(kind, "normal")
        self.failed = self.failed or state == "fatal"
        folder = self.folder / "details" / state / task_folder(task_id)
        write(folder / "attempt-1" / "result.json", result)
        write(
            folder / "task.json",
            {
                "task_id": task_id,
                "category": "c",
                "attempts": {"1": "attempt-1"},
                "attempt_plan": {"k": 1, "strategy": "avg"},
            },
        )
        self.emit("attempt_finished", task_id, 1, status="completed")
        self.emit("partial_saved", task_id)
        status = "failed" if state == "fatal" else "completed"
        self.emit("task_finished", task_id, status=status, severity="" if state == "normal" else state)


async def async_launch(spec, *, config_path=None, progress=None, on_progress, on_request_finished):
    print("something that a library prints")
    orchestration = uuid.uuid4().hex
    root = Path(spec.runtime["results_dir"])
    requests = [Request(one, index, orchestration, root, on_progress) for index, one in enumerate(spec.requests)]
    outcomes = {}
    try:
        for request in requests:
            outcome = await request.run()
            outcomes[outcome.name] = outcome
            on_request_finished(outcome)
    except asyncio.CancelledError:
        for request in requests:
            if request.spec.name not in outcomes:
                on_request_finished(RequestOutcome(request.spec.name, "cancelled", error="orchestration cancelled"))
        raise
    failed = any(outcome.status == "failed" for outcome in outcomes.values())
    return OrchestrationResult(orchestration, spec.name, "partial_failure" if failed else "completed", outcomes)


__all__ = ["asdict", "async_launch"]
