"""Twenty thousand tasks against an agent that fails in every way: the totals are exact, the memory stays flat."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.product import Agent, Product

PLAN = """
version: 1
name: soak
task_concurrency: 96
requests:
  - name: one
    dataset: {path: cases.jsonl}
    solution:
      type: http
      url: ${AGENT}/json?retry_after=0&ms={{ ms }}
      body: {question: "{{ question }}", fault: "{{ fault }}", fault_times: "{{ times }}"}
      output_extractor: output
    evaluators: [{id: exact, variable_mapping: {expected_output: dataset.answer}}]
    execution: {max_retries: 1, retry_min_delay_seconds: 0.05, attempt_timeout_seconds: 8}
"""
FAULTS = {0: "429", 10: "500", 20: "drop", 30: "hang", 40: "garbage"}
"""Two in a hundred of each, by the case's number modulo 50."""
KINDS = {"500": "http_status", "drop": "connection", "hang": "timed_out", "garbage": "bad_answer"}


def cases(count: int) -> list[dict[str, object]]:
    """A 429 passes at the second try; the other faults are not tried again: the agent may have acted on the call."""
    rows: list[dict[str, object]] = []
    for number in range(count):
        fault = FAULTS.get(number % 50, "")
        times = 1 if fault == "429" else 0
        answer = str(number + 1) if number % 7 else "wrong"
        # A kept connection that is dropped at once could have been closed before: then the call is made once more.
        ms = 400 if fault == "drop" else 0
        question = f"What is {number} + 1?"
        row = {"id": f"c{number}", "question": question, "answer": answer, "fault": fault, "times": times, "ms": ms}
        rows.append(row)
    return rows


def expected(count: int) -> Counter[tuple[str, str, int]]:
    """How many tasks end with which outcome, kind of error, and number of attempts."""
    found: Counter[tuple[str, str, int]] = Counter()
    for number in range(count):
        fault = FAULTS.get(number % 50, "")
        if fault in KINDS:
            found["error", KINDS[fault], 1] += 1
        else:
            found["passed" if number % 7 else "failed", "", 2 if fault else 1] += 1
    return found


def peak_of(process: subprocess.Popen[str]) -> int:
    """The most memory that a process has held, in kB, as of its end."""
    peak = 0
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        try:
            lines = status.read_text().splitlines()
        except OSError:
            break
        peak = max([peak, *(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))])
        time.sleep(0.05)
    return peak


def soak(product: Product, agent: Agent, count: int) -> int:
    """Run so many tasks and check every total; the peak of memory in kB."""
    agent.reset()
    product.write_cases(cases(count))
    plan = str(product.write_plan(PLAN))
    run_id = f"of-{count}"
    process = product.start("run", plan, "--run-id", run_id, "--progress", "none", environment={"AGENT": agent.url})
    peak = peak_of(process)
    _, errors = process.communicate()
    assert process.returncode == 1, errors
    rows = product.query(
        "SELECT outcome, error_kind, tasks.attempts FROM tasks JOIN runs ON runs.id = run WHERE run_id = ?", run_id
    )
    wanted = expected(count)
    assert Counter(rows) == wanted
    attempts = sum(number * made for (_, _, made), number in wanted.items())
    counters = product.query(
        "SELECT total, passed + failed + error_count, unscored + cancelled + running + waiting, requests.attempts "
        "FROM requests JOIN runs ON runs.id = run WHERE run_id = ?",
        run_id,
    )
    assert counters == [(count, count, 0, attempts)]
    assert product.query("SELECT state FROM runs WHERE run_id = ?", run_id) == [("completed",)]
    assert product.query("PRAGMA integrity_check") == [("ok",)]
    calls = agent.stats()
    assert calls["requests"] == attempts, "what the agent saw is what was recorded"
    assert set(calls["by_case"]["/json"].values()) == {1, 2}
    return peak


@pytest.mark.long
def test_memory_is_flat_and_totals_are_exact_over_twenty_thousand_tasks(product: Product, agent: Agent) -> None:
    few = soak(product, agent, 2_000)
    many = soak(product, agent, 20_000)
    assert many <= 1.3 * few, f"{few} kB with 2,000 tasks, {many} kB with 20,000"
