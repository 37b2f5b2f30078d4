"""What it costs to watch: the CPU of the screens over a live run, whose runner is a process of its own."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.support.product import Product, agent_process
from tests.support.pty import Terminal, screens

PLAN = """
version: 1
name: watched
task_concurrency: 6
defaults:
  dataset: {path: cases.jsonl}
  evaluators: [{id: exact, variable_mapping: {expected_output: dataset.answer}}]
  solution: {type: http, url: "${AGENT}/json?ms=250", body: {question: "{{ question }}"}, output_extractor: output}
requests:
  - name: one
  - name: two
  - name: three
"""
SECONDS = 12.0


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far (proc(5), fields 14 and 15)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.long
def test_watching_twenty_tasks_a_second_costs_less_than_15_percent_of_a_core(tmp_path: Path) -> None:
    product = Product(tmp_path)
    product.write_cases(
        [{"id": f"s{n}", "question": f"What is {n} + 3?", "answer": str(n + 3 + (n % 9 == 0))} for n in range(400)]
    )
    plan = str(product.write_plan(PLAN))
    with agent_process() as agent:
        runner = product.start("run", plan, "--run-id", "it", "--progress", "none", environment={"AGENT": agent.url})
        try:
            product.wait_for("SELECT 1 FROM (SELECT count(*) AS n FROM tasks WHERE outcome <> 'queued') WHERE n > 40")
            with Terminal(screens(product.history, tmp_path / "config.yaml", run_id="it")) as terminal:
                terminal.wait_for("▸ running")
                terminal.pump(3.0)
                began, spent, done = time.monotonic(), cpu_seconds(terminal.pid), finished(product)
                terminal.pump(SECONDS)
                seconds = time.monotonic() - began
                share, rate = (cpu_seconds(terminal.pid) - spent) / seconds, (finished(product) - done) / seconds
                assert "▸ running" in terminal.text
                terminal.send("q")
                terminal.send("q")
        finally:
            runner.terminate()
            runner.communicate(timeout=60)
    # Slower runs on a busy machine are watched for less: the allowance goes with the rate.
    assert rate > 5, rate
    assert share < 0.15 * max(1.0, rate / 20), (share, rate)


def finished(product: Product) -> int:
    ((count,),) = product.query("SELECT sum(passed + failed + error_count) FROM requests")
    return int(count)
