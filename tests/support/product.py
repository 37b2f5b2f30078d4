"""The product as its users have it: processes of ``tui-eval``, an agent process, and the history read independently."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Agent:
    """The embedded agent in a process of its own."""

    url: str

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/stats") as reply:
            stats: dict[str, Any] = json.load(reply)
        return stats

    def reset(self) -> None:
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/reset", method="POST")).close()


@contextmanager
def agent_process(*arguments: str) -> Iterator[Agent]:
    """An agent that ends with the test, however the test ends."""
    command = [sys.executable, "-m", "tui_eval.demo.agent", "--until-stdin-closes", "--max-seconds", "900", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Agent(process.stdout.readline().split()[-1])
        finally:
            process.stdin.close()


@dataclass(frozen=True, slots=True)
class Product:
    """``tui-eval`` with a history of its own below ``folder``."""

    folder: Path

    @property
    def history(self) -> Path:
        return self.folder / "history" / "history.db"

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return {**os.environ, "TUI_EVAL_HISTORY": str(self.history), **(extra or {})}

    def start(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        own_group: bool = False,
        before: Sequence[str] = (),
    ) -> subprocess.Popen[str]:
        """Start a command and leave it running, in a process group of its own if asked. ``before``: what starts it, such
        as ``nohup``."""
        return subprocess.Popen(
            [*before, sys.executable, "-m", "tui_eval", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=self.environment(environment),
            cwd=self.folder,
            process_group=0 if own_group else None,
        )

    def run(
        self, *arguments: str, environment: Mapping[str, str] | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        with self.start(*arguments, environment=environment) as process:
            try:
                out, errors = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, errors)

    def json(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Any:
        """Run a command with ``--json`` and read what it printed."""
        ended = self.run(*arguments, "--json", environment=environment)
        assert ended.stdout, f"{arguments}: nothing on standard output; errors: {ended.stderr}"
        return json.loads(ended.stdout)

    def write_plan(self, text: str, name: str = "plan.yaml") -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def write_cases(self, cases: Sequence[Mapping[str, Any]], name: str = "cases.jsonl") -> Path:
        path = self.folder / name
        path.write_text("".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases), encoding="utf-8")
        return path

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Ask the history with SQL of the test's own, not with the product's reader."""
        with closing(sqlite3.connect(f"file:{self.history}?mode=ro", uri=True)) as connection:
            return connection.execute(sql, values).fetchall()

    def wait_for(self, sql: str, *values: Any, seconds: float = 20) -> list[tuple[Any, ...]]:
        """Wait until a query of the history gives a row; the rows. A history that is not there yet is waited for too."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if self.history.exists() and (rows := self.query(sql, *values)):
                    return rows
            except sqlite3.OperationalError as error:
                if "no such table" not in str(error):
                    raise
            time.sleep(0.03)
        raise AssertionError(f"{sql}: no row within {seconds:g} s")

    def outcomes(self, run_id: str) -> dict[tuple[str, str, int], str]:
        """Outcome by (request, case id, repeat)."""
        rows = self.query(
            "SELECT requests.name, tasks.case_id, tasks.repeat, tasks.outcome FROM tasks "
            "JOIN requests ON requests.id = tasks.request JOIN runs ON runs.id = requests.run WHERE runs.run_id = ?",
            run_id,
        )
        return {(name, case_id, repeat): outcome for name, case_id, repeat, outcome in rows}
