"""Running the product, the yardstick and the agent as processes, and the operating system's own figures about them."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figures:
    """One finished process: user + system seconds, wall seconds, peak resident memory in MB."""

    cpu: float
    wall: float
    peak_mb: float


@contextmanager
def agent() -> Iterator[str]:
    """The embedded agent in a process of its own; gives its address."""
    command = [sys.executable, "-m", "tui_eval.demo.agent", "--until-stdin-closes", "--max-seconds", "1200"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.stdin.close()


def run_process(command: Sequence[str], environment: dict[str, str] | None = None) -> Figures:
    """Run a process to its end; it must succeed. The peak is that of the process itself."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=errors, env={**os.environ, **(environment or {})}
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            raise RuntimeError(f"{command} ended with {process.returncode}: {errors.read().decode()[-2000:]}")
    return Figures(usage.ru_utime + usage.ru_stime, time.perf_counter() - began, usage.ru_maxrss / 1024)


def bare_loop(url: str, tasks: int, concurrency: int) -> Figures:
    return run_process([sys.executable, "-m", "tests.bench.bare_loop", url, str(tasks), str(concurrency)])


@dataclass(frozen=True, slots=True)
class ProductRun:
    """Whole-process figures and the time from the run's start to its end as the history has it."""

    figures: Figures
    seconds: float


def product(folder: Path, url: str, tasks: int, concurrency: int) -> ProductRun:
    """`tui-eval run` of a plan with three evaluators over ``tasks`` cases, into a history of its own."""
    place = Path(tempfile.mkdtemp(dir=folder))
    rows = ({"id": f"c{n}", "question": f"What is {n} + 7?", "answer": str(n + 7)} for n in range(tasks))
    (place / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    output = "variable_mapping: {expected_output: dataset.answer}"
    (place / "plan.yaml").write_text(
        f"""
version: 1
name: bench
task_concurrency: {concurrency}
requests:
  - name: json
    dataset: {{path: cases.jsonl}}
    solution: {{type: http, url: "{url}", body: {{question: "{{{{ question }}}}"}}, output_extractor: output}}
    evaluators:
      - {{id: contains, {output}}}
      - {{id: exact, {output}}}
      - {{id: json, name: shape, schema: {{type: integer}}}}
"""
    )
    history = place / "history.db"
    command = [sys.executable, "-m", "tui_eval", "run", str(place / "plan.yaml"), "--history", str(history), "--json"]
    figures = run_process([*command, "--progress", "none"])
    shown = subprocess.run(
        [sys.executable, "-m", "tui_eval", "runs", "--history", str(history), "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    (run,) = json.loads(shown.stdout)
    return ProductRun(figures, run["finished_at"] - run["started_at"])


def own_peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
