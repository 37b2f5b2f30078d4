"""The processes of the demo: the embedded agent, and for the screens a detached run of the quickstart plan to watch.

Those of a watched demo live in sessions of their own: they go on when the terminal is lost, and end by themselves.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tui_eval.demo.samples import samples_folder
from tui_eval.errors import TuiEvalError
from tui_eval.runner import Job, new_run_id, start_detached

AGENT_VARIABLE = "DEMO_AGENT_URL"
AGENT_SECONDS = 1800.0
"""The agent of a watched demo ends by itself after so long: time enough to re-run what failed."""
LATENCY_MS = 900
CONCURRENCY = 4


@dataclass(frozen=True, slots=True)
class LiveDemo:
    """A demo under way: the run's id, and the process of its agent."""

    run_id: str
    agent: int

    def end_agent(self) -> None:
        """End the agent now; nothing happens when it has ended already."""
        try:
            os.killpg(self.agent, signal.SIGTERM)
        except (ProcessLookupError, PermissionError):
            return


def start(history: Path) -> LiveDemo:
    """Start the agent and the run; returns when the run stands in the history.

    ``DEMO_AGENT_URL`` is set in our own environment too, so that a re-run of the demo finds its agent. Raises
    TuiEvalError when either cannot start.
    """
    process, address = _start_agent("--ms", str(LATENCY_MS), "--max-seconds", str(AGENT_SECONDS))
    os.environ[AGENT_VARIABLE] = address
    run_id = new_run_id()
    job = Job(
        "launch",
        history=str(history.absolute()),
        run_id=run_id,
        plan=str(samples_folder() / "quickstart.yaml"),
        overrides=(f"task_concurrency={CONCURRENCY}",),
        tags=("demo",),
    )
    # The plan starts `python3`: let it be this one, also when its folder is not on the path.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    demo = LiveDemo(run_id, process.pid)
    try:
        start_detached(job, environment={"PATH": path})
    except BaseException:
        demo.end_agent()
        raise
    return demo


@contextmanager
def embedded_agent(max_seconds: float = 600.0) -> Iterator[str]:
    """Run the agent in a process of its own; gives its address. It ends with us, however we end."""
    process, address = _start_agent("--until-stdin-closes", "--max-seconds", str(max_seconds), stdin=subprocess.PIPE)
    with process:
        assert process.stdin is not None
        try:
            yield address
        finally:
            process.stdin.close()


def _start_agent(*arguments: str, stdin: int = subprocess.DEVNULL) -> tuple[subprocess.Popen[bytes], str]:
    """The agent in a session of its own (Ctrl-C is for the run, which then still needs its agent for a moment)."""
    package = str(Path(__file__).parent.parent.parent)
    path = os.pathsep.join(part for part in (package, os.environ.get("PYTHONPATH", "")) if part)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tui_eval.demo.agent", *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert process.stdout is not None
    with process.stdout as stdout:
        address = stdout.readline().decode().strip()
    if not address.startswith("http://127.0.0.1:"):
        process.kill()
        process.wait()
        raise TuiEvalError("the embedded agent did not start; see: tui-eval demo --serve")
    return process, address
