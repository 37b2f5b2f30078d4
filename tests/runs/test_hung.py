"""One case that hangs holds nothing but its own slot, and what finished is safe long before it ends."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.support.product import Product

PLAN = """
version: 1
name: hung
task_concurrency: 2
runtime: {{cleanup_grace_seconds: 0.3}}
requests:
  - name: one
    dataset: {{path: "{folder}/data.jsonl"}}
    solution: {{type: command, argv: [{python}, "{folder}/agent.py"], stdin: json}}
    evaluators: [{{id: contains, expected: done}}]
    execution: {{{execution}}}
"""


def plan(product: Product, cases: Path, execution: str) -> str:
    text = PLAN.format(folder=cases / "39-one-hung-case", python=sys.executable, execution=execution)
    return str(product.write_plan(text))


def test_results_are_in_the_history_before_the_hung_one_ends(product: Product, cases: Path) -> None:
    process = product.start("run", plan(product, cases, "attempt_timeout_seconds: 4"), "--run-id", "it")
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if product.history.exists() and product.query("SELECT 1 FROM sqlite_schema WHERE name = 'log'"):
            (finished,) = product.query("SELECT coalesce(sum(passed), 0) FROM requests")[0]
            busy = product.query("SELECT case_id, phase FROM activity JOIN tasks ON tasks.id = activity.task")
            # What goes on is written a little later than what has ended.
            if finished == 5 and busy == [("w2", "calling")]:
                break
        time.sleep(0.05)
    else:
        raise AssertionError("the five quick cases never were in the history, with the hung one still at work")
    assert process.poll() is None, "the hung case must still be running"
    process.kill()
    process.communicate()
    assert {case: outcome for (_, case, _), outcome in product.outcomes("it").items()} == {
        "w1": "passed",
        "w2": "queued",
        "w3": "passed",
        "w4": "passed",
        "w5": "passed",
        "w6": "passed",
    }


def test_the_hung_case_times_out_and_the_run_ends(product: Product, cases: Path) -> None:
    began = time.monotonic()
    ended = product.run("run", plan(product, cases, "attempt_timeout_seconds: 2"), "--run-id", "it")
    assert ended.returncode == 1
    assert time.monotonic() - began < 6
    outcomes = {case: outcome for (_, case, _), outcome in product.outcomes("it").items()}
    assert outcomes.pop("w2") == "error"
    assert set(outcomes.values()) == {"passed"}
    ((kind, message),) = product.query("SELECT error_kind, message FROM tasks WHERE case_id = 'w2'")
    assert kind == "timed_out"
    assert "2 s" in message


def test_a_user_can_cancel_the_hung_case_alone(product: Product, cases: Path) -> None:
    process = product.start("run", plan(product, cases, "attempt_timeout_seconds: null"), "--run-id", "it")
    until = time.monotonic() + 10
    while time.monotonic() < until and not (
        product.history.exists()
        and product.query("SELECT 1 FROM sqlite_schema WHERE name = 'log'")
        and product.query("SELECT 1 FROM activity")
    ):
        time.sleep(0.05)
    time.sleep(0.5)
    cancelled = product.run("cancel", "it", "--case", "w2")
    assert cancelled.returncode == 0, cancelled.stderr
    process.communicate(timeout=10)
    outcomes = {case: outcome for (_, case, _), outcome in product.outcomes("it").items()}
    assert outcomes.pop("w2") == "cancelled"
    assert set(outcomes.values()) == {"passed"}
