"""A runner that is killed at any moment loses nothing that was finished, and nothing is done twice."""

from __future__ import annotations

import random
import sqlite3
import time

import pytest

from tests.support.product import Agent, Product

CASES = 300
PLAN = """
version: 1
name: killed
task_concurrency: 24
defaults:
  dataset: {path: cases.jsonl}
  evaluators: [{id: exact, as_text: true, strip: true, variable_mapping: {expected_output: dataset.answer}}]
requests:
  - name: json
    solution: {type: http, url: "${AGENT}/json?ms=40", body: {question: "{{ question }}"}, output_extractor: output}
  - name: sse
    solution:
      type: http
      url: ${AGENT}/sse?ms=40
      body: {question: "{{ question }}"}
      chunk_extractor: delta
      end_marker: "[DONE]"
  - name: command
    solution: {type: command, argv: [sh, -c, 'echo $(($1))', agent, "{{ sum }}"]}
"""


def prepare(product: Product) -> str:
    product.write_cases(
        [
            {"id": f"s{n}", "question": f"What is {n} + 3?", "sum": f"{n} + 3", "answer": str(n + 3 + (n % 40 == 0))}
            for n in range(CASES)
        ]
    )
    return str(product.write_plan(PLAN))


def undisturbed() -> dict[tuple[str, str, int], str]:
    return {
        (name, f"s{n}", 0): "failed" if n % 40 == 0 else "passed"
        for name in ("json", "sse", "command")
        for n in range(CASES)
    }


def _stands(product: Product) -> bool:
    """Whether the run is in the history at all: the moment may have been before that."""
    try:
        return product.history.exists() and bool(product.query("SELECT 1 FROM runs"))
    except sqlite3.OperationalError:
        return False  # killed before the history had its tables


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_a_run_killed_at_a_random_moment_is_finished_by_resume(product: Product, agent: Agent, seed: int) -> None:
    plan = prepare(product)
    environment = {"AGENT": agent.url}
    process = product.start("run", plan, "--run-id", "it", "--progress", "none", environment=environment)
    moment = random.Random(seed).uniform(0.4, 3.5)
    deadline = time.monotonic() + moment
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    if not _stands(product):
        again = product.run("run", plan, "--run-id", "it", environment=environment)
        assert again.returncode == 1, again.stderr
        assert product.outcomes("it") == undisturbed()
        return

    finished = product.query("SELECT * FROM tasks WHERE outcome <> 'queued' ORDER BY id")
    was_over = product.query("SELECT state FROM runs") == [("completed",)]
    called_before = agent.stats()["by_case"]
    agent.reset()
    resumed = product.run("resume", "it", environment=environment)
    assert resumed.returncode == (2 if was_over else 1), resumed.stderr

    assert product.outcomes("it") == undisturbed()
    keys = [row[0] for row in finished]
    marks = ", ".join("?" * len(keys))
    assert product.query(f"SELECT * FROM tasks WHERE id IN ({marks}) ORDER BY id", *keys) == finished
    done = set(product.query(f"SELECT request, case_id FROM tasks WHERE id IN ({marks})", *keys))
    names = dict(product.query("SELECT name, id FROM requests"))
    for path, request in (("/json", "json"), ("/sse", "sse")):
        again_called = set(agent.stats()["by_case"].get(path, {}))
        for request_key, case_id in done:
            if request_key == names[request]:
                assert f"What is {case_id[1:]} + 3?" not in again_called, "a finished task was called again"
        assert all(count == 1 for count in called_before.get(path, {}).values())
    assert product.query("SELECT sum(passed + failed), sum(total), sum(running) FROM requests") == [(900, 900, 0)]
    assert product.query("SELECT state FROM runs") == [("completed",)]
    assert product.query("PRAGMA integrity_check") == [("ok",)]
    (attempts,) = product.query("SELECT count(*), count(DISTINCT task) FROM attempts")
    assert attempts == (900, 900)
