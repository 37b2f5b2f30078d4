"""The process that executes a run, and how others start one. Light to import: the engine comes when a run is executed.

A :class:`Job` says what to execute. :func:`carry_out` executes it in this process; :func:`start_detached` starts
``python -m tui_eval.runner`` in a session of its own, which outlives the terminal, and waits until the run is written
in the history. The job goes through the child's standard input, never through its command line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.errors import HistoryError, TuiEvalError, UsageError
from tui_eval.jobs import Job, new_run_id

if TYPE_CHECKING:
    from tui_eval.engine.execution import Ended, Listener

__all__ = ["Job", "carry_out", "main", "new_run_id", "start_detached"]


def carry_out(job: Job, listener: Listener | None = None) -> Ended:
    """Execute the job in this process until its end; signals are obeyed (see ``engine.execution``)."""
    import asyncio

    from tui_eval.engine.execution import execute_job

    return asyncio.run(execute_job(job, listener=listener, signals=True))


def start_detached(job: Job, *, timeout: float = 600.0, environment: Mapping[str, str] | None = None) -> int:
    """Start a runner of its own for ``job`` and return its process id once the run stands in the history.

    ``environment`` is added to our own for this runner only: values of ``${NAME}`` that are written nowhere.
    Raises the runner's own error when it could not begin. ``timeout`` is in seconds.
    """
    log = _log_path(job)
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as log_file:
        child = subprocess.Popen(
            [sys.executable, "-m", "tui_eval.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log_file,
            start_new_session=True,
            cwd="/",
            env={**os.environ, **(environment or {}), "PYTHONPATH": _import_path()},
        )
    # Whoever stays (the screens) must not keep an ended runner as a zombie, which looks alive.
    threading.Thread(target=child.wait, name=f"runner-{child.pid}", daemon=True).start()
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin as stdin:
        stdin.write(json.dumps(asdict(job)).encode())
    with child.stdout as stdout:
        line = _first_line(stdout, timeout)
    if not line:
        raise UsageError(f"the runner ended before the run began; its log is {log}")
    word = json.loads(line)
    if "error" in word:
        child.wait(timeout=10)
        raise _told(word)
    return child.pid


def _first_line(stream: Any, timeout: float) -> bytes:
    import select

    ready, _, _ = select.select([stream], [], [], timeout)
    return stream.readline() if ready else b""


def _told(word: dict[str, Any]) -> TuiEvalError:
    """The error a runner reported, with its exit code."""
    kind = {2: UsageError, 3: HistoryError}.get(word.get("exit_code", 1), TuiEvalError)
    return kind(word["error"])


def _log_path(job: Job) -> Path:
    return Path(job.history).parent / "logs" / f"{job.run_id}.log"


def _import_path() -> str:
    """The child must find the same package, also when it runs from a checkout."""
    package = str(Path(__file__).parent.parent)
    inherited = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join(part for part in (package, inherited) if part)


def main() -> int:
    """A runner process: the job on standard input, one line on standard output when the run stands (or why not)."""
    import asyncio

    from tui_eval.engine.execution import execute_job

    job = _job(json.load(sys.stdin))
    said = False

    def say(word: dict[str, Any]) -> None:
        nonlocal said
        if not said:
            said = True
            sys.stdout.write(json.dumps(word) + "\n")
            sys.stdout.flush()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.close(nowhere)

    try:
        ended = asyncio.run(execute_job(job, signals=True, begun=lambda run: say({"run_id": run.run_id})))
    except TuiEvalError as error:
        say({"error": str(error), "exit_code": error.exit_code})
        print(f"tui-eval: {error}", file=sys.stderr)
        return error.exit_code
    return ended.exit_status


def _job(data: dict[str, Any]) -> Job:
    return Job(**{**data, "overrides": tuple(data["overrides"]), "tags": tuple(data["tags"])})


if __name__ == "__main__":
    sys.exit(main())
