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
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.errors import Fault, FaultsError, HistoryError, SpecError, TuiEvalError, UsageError
from tui_eval.jobs import Job, new_run_id
from tui_eval.processes.open_files import allow_many_open_files
from tui_eval.processes.strays import OURS
from tui_eval.store.faults import explaining
from tui_eval.store.place import log_path, make_folder

if TYPE_CHECKING:
    from tui_eval.engine.execution import Ended, Listener

DEFECT = 70
"""Exit status of a runner that came upon a defect of tui_eval."""

__all__ = ["Job", "carry_out", "execution_of", "main", "new_run_id", "start_detached"]


def carry_out(job: Job, listener: Listener | None = None) -> Ended:
    """Execute the job in this process until its end; signals are obeyed (see ``engine.execution``)."""
    import asyncio

    allow_many_open_files()
    return asyncio.run(execution_of(job)(job, listener=listener, signals=True))


def execution_of(job: Job) -> Callable[..., Coroutine[Any, Any, Ended]]:
    """What executes ``job``: our engine, or AgentCompass for its orchestrations. Both take the same arguments."""
    from tui_eval.platforms.agentcompass.recognising import is_ours

    if is_ours(job):
        from tui_eval.platforms.agentcompass.execution import execute_orchestration

        return execute_orchestration
    from tui_eval.engine.execution import execute_job

    return execute_job


def start_detached(job: Job, *, timeout: float = 600.0, environment: Mapping[str, str] | None = None) -> int:
    """Start a runner of its own for ``job`` and return its process id once the run stands in the history.

    ``environment`` is added to our own for this runner only: values of ``${NAME}`` that are written nowhere.
    Raises the runner's own error when it could not begin (a SpecError with all faults of the plan). ``timeout`` is in seconds.
    """
    with open(_opened_log(job), "wb") as log_file:
        child = subprocess.Popen(
            [sys.executable, "-m", "tui_eval.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log_file,
            start_new_session=True,
            cwd="/",
            env=_environment(environment or {}),
        )
    # Whoever stays (the screens) must not keep an ended runner as a zombie, which looks alive.
    threading.Thread(target=child.wait, name=f"runner-{child.pid}", daemon=True).start()
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(BrokenPipeError), child.stdin as stdin:  # it ended at once: its log says why
        stdin.write(json.dumps(asdict(job)).encode())
    with child.stdout as stdout:
        line = _first_line(stdout, timeout)
    if not line:
        raise UsageError(f"the runner ended before the run began; its log is {log_path(Path(job.history), job.run_id)}")
    word = json.loads(line)
    if "error" in word:
        child.wait(timeout=10)
        raise _told(word)
    return child.pid


def _opened_log(job: Job) -> int:
    """The descriptor of the runner's log (0600). Raises HistoryError when nothing can be written beside the history."""
    history = Path(job.history)
    log = log_path(history, job.run_id)
    with explaining(history):
        make_folder(log.parent)
        return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _first_line(stream: Any, timeout: float) -> bytes:
    import select

    ready, _, _ = select.select([stream], [], [], timeout)
    return stream.readline() if ready else b""


def _told(word: dict[str, Any]) -> TuiEvalError:
    """The error a runner reported: with its faults, if it had any, else with its exit code."""
    if word.get("faults"):
        return SpecError([Fault(**fault) for fault in word["faults"]])
    kind = {2: UsageError, 3: HistoryError}.get(word.get("exit_code", 1), TuiEvalError)
    return kind(word["error"])


def _environment(added: Mapping[str, str]) -> dict[str, str]:
    """The environment of a runner. It belongs to nobody: not even when the command that starts it was started by one."""
    inherited = {name: value for name, value in os.environ.items() if name not in OURS}
    return {**inherited, **added, "PYTHONPATH": _import_path()}


def _import_path() -> str:
    """The child must find the same package, also when it runs from a checkout."""
    package = str(Path(__file__).parent.parent)
    inherited = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join(part for part in (package, inherited) if part)


def main() -> int:
    """A runner process: the job on standard input, one line on standard output when the run stands (or why not)."""
    import asyncio

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

    allow_many_open_files()
    try:
        ended = asyncio.run(execution_of(job)(job, signals=True, begun=lambda run: say({"run_id": run.run_id})))
    except TuiEvalError as error:
        faults = [asdict(fault) for fault in error.faults] if isinstance(error, FaultsError) else []
        say({"error": str(error), "exit_code": error.exit_code, "faults": faults})
        print(f"tui-eval: {error}", file=sys.stderr)
        return error.exit_code
    except Exception as error:
        # Its message may quote a header or an address: only the report without values is kept.
        from tui_eval.defects import write_report

        told = f"a defect of tui_eval ({type(error).__name__}); the details are in {write_report(error) or 'no file'}"
        say({"error": told, "exit_code": DEFECT})
        print(f"tui-eval: {told}", file=sys.stderr)
        return DEFECT
    return ended.exit_status


def _job(data: dict[str, Any]) -> Job:
    return Job(**{**data, "overrides": tuple(data["overrides"]), "tags": tuple(data["tags"])})


if __name__ == "__main__":
    sys.exit(main())
