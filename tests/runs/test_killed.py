"""A runner that is killed at any moment loses nothing that was finished, and nothing is done twice."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from contextlib import closing

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


def prepare(product: Product, count: int = CASES, plan: str = PLAN) -> str:
    product.write_cases(
        [
            {"id": f"s{n}", "question": f"What is {n} + 3?", "sum": f"{n} + 3", "answer": str(n + 3 + (n % 40 == 0))}
            for n in range(count)
        ]
    )
    return str(product.write_plan(plan))


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


TWO_THOUSAND = """
version: 1
name: killed
task_concurrency: 12
defaults:
  dataset: {path: cases.jsonl}
  evaluators: [{id: exact, as_text: true, strip: true, variable_mapping: {expected_output: dataset.answer}}]
requests:
  - name: json
    solution: {type: http, url: "${AGENT}/json?ms=60", body: {question: "{{ question }}"}, output_extractor: output}
  - name: sse
    solution:
      type: http
      url: ${AGENT}/sse?ms=60
      body: {question: "{{ question }}"}
      chunk_extractor: delta
      end_marker: "[DONE]"
  - name: command
    dataset: {sample: {limit: 400}}
    solution: {type: command, argv: [sh, -c, 'sleep 0.1; echo $(($1))', agent, "{{ sum }}"]}
"""


@pytest.mark.long
def test_a_run_of_two_thousand_tasks_is_killed_at_fifty_moments_and_loses_nothing(
    product: Product, agent: Agent
) -> None:
    """After each kill: what was recorded is still there as it was, was not called again, and the counts add up."""
    plan = prepare(product, 800, TWO_THOUSAND)
    environment = {"AGENT": agent.url}
    moments = random.Random(50)
    total = {("json", n) for n in range(800)} | {("sse", n) for n in range(800)} | {("command", n) for n in range(400)}
    recorded: dict[int, tuple[object, ...]] = {}
    arguments = ["run", plan, "--run-id", "it"]
    kills = 0
    while True:
        process = product.start(*arguments, "--progress", "none", environment=environment)
        arguments = ["resume", "it"]
        if kills < 50:
            # The clock starts when there are tasks: else most kills would fall into the start of the program.
            # Where the kill before came late, what is left can be over before anybody sees it run.
            running = "SELECT 1 FROM runs WHERE pid = ? AND state = 'running'"
            while process.poll() is None and not (_stands(product) and product.query(running, process.pid)):
                time.sleep(0.02)
            time.sleep(moments.uniform(0, 0.4))
            process.kill()
        _, errors = process.communicate(timeout=120)
        now = {row[0]: row for row in product.query("SELECT * FROM tasks WHERE outcome <> 'queued'")}
        assert {key: now.get(key) for key in recorded} == recorded, "a recorded task has changed"
        recorded = now
        assert product.query("PRAGMA integrity_check") == [("ok",)]
        counted = product.query("SELECT sum(passed + failed + error_count + unscored + cancelled) FROM requests")
        assert counted == [(len(now),)]
        if process.returncode >= 0 or product.query("SELECT state FROM runs") == [("completed",)]:
            break  # the last kill can come when all is done and the program only has to end
        kills += 1
    assert process.returncode in (1, -signal.SIGKILL), errors
    assert kills >= 40, "the run was over too soon to be killed often"
    outcomes = product.outcomes("it")
    assert {(name, int(case[1:])) for name, case, _ in outcomes} == total
    for (_, case, _), outcome in outcomes.items():
        assert outcome == ("failed" if int(case[1:]) % 40 == 0 else "passed")
    assert product.query("SELECT count(*), max(number) FROM attempts") == [(2000, 1)]
    assert product.query("SELECT sum(total), sum(passed), sum(failed), sum(attempts) FROM requests") == [
        (2000, 1950, 50, 2000)
    ]
    for path in ("/json", "/sse"):
        calls = agent.stats()["by_case"][path]
        assert len(calls) == 800
        # What was in flight at a kill was not recorded, so it is called once more; no more than the slots each time.
        assert sum(calls.values()) <= 800 + 12 * kills
    assert product.query("SELECT state FROM runs") == [("completed",)]


def test_nothing_is_left_of_a_runner_that_is_killed_with_its_process_group(product: Product, agent: Agent) -> None:
    """As when a terminal or a service manager kills all it knows: in the middle of commits, children included."""
    plan = prepare(product, 60)
    process = product.start("run", plan, "--run-id", "it", environment={"AGENT": agent.url}, own_group=True)
    product.wait_for("SELECT 1 FROM tasks WHERE outcome <> 'queued'")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    found = product.query("SELECT * FROM tasks WHERE outcome <> 'queued' ORDER BY id")
    resumed = product.run("resume", "it", environment={"AGENT": agent.url})
    assert resumed.returncode == 1, resumed.stderr
    keys = [row[0] for row in found]
    marks = ", ".join("?" * len(keys))
    assert product.query(f"SELECT * FROM tasks WHERE id IN ({marks}) ORDER BY id", *keys) == found
    assert product.query("SELECT sum(passed), sum(failed) FROM requests") == [(174, 6)]
    assert product.query("PRAGMA integrity_check") == [("ok",)]


CHILDREN = """
version: 1
name: children
task_concurrency: 4
requests:
  - name: one
    dataset: {cases: [{id: a}, {id: b}, {id: c}, {id: d}]}
    solution: {type: command, argv: [sh, -c, "sleep 4711.25 & sleep 4711.25; echo done"]}
    evaluators: [{id: contains, expected: done}]
"""


def sleepers() -> int:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return listed.stdout.splitlines().count("sleep 4711.25")


def test_children_end_with_a_runner_that_is_killed(product: Product) -> None:
    process = product.start("run", str(product.write_plan(CHILDREN)), "--run-id", "it")
    product.wait_for("SELECT 1 FROM (SELECT count(*) AS number FROM activity) WHERE number = 4")
    until = time.monotonic() + 10
    while sleepers() < 8:
        assert time.monotonic() < until
        time.sleep(0.05)
    process.kill()
    process.communicate()
    until = time.monotonic() + 15
    while sleepers():
        assert time.monotonic() < until, "children have outlived their runner"
        time.sleep(0.05)
    assert "started by a runner that is gone" not in product.run("doctor").stdout


def test_a_run_without_its_runner_is_interrupted_everywhere_at_once_and_resume_is_offered(product: Product) -> None:
    process = product.start("run", str(product.write_plan(CHILDREN)), "--run-id", "it")
    product.wait_for("SELECT 1 FROM activity")
    watcher = product.start("watch", "it", "--interval", "0.1")
    assert watcher.stdout is not None
    assert "running" in watcher.stdout.readline()
    killed = time.monotonic()
    process.kill()
    _, told = watcher.communicate(timeout=10)
    assert time.monotonic() - killed < 3
    assert watcher.returncode == 1
    assert "tui-eval resume it" in told
    process.communicate()
    for verb in (("runs",), ("show", "it"), ("doctor",)):
        said = product.run(*verb).stdout
        assert "tui-eval resume it" in said, verb
    assert product.json("runs")[0]["state"] == "interrupted"
    assert product.json("show", "it")["state"] == "interrupted"
    assert [run["run_id"] for run in product.json("runs", "--state", "interrupted")] == ["it"]
    assert product.query("SELECT state FROM runs") == [("running",)], "nobody has written that down: it was seen"


def test_another_process_with_the_number_of_the_runner_is_not_taken_for_it(product: Product) -> None:
    process = product.start("run", str(product.write_plan(CHILDREN)), "--run-id", "it")
    product.wait_for("SELECT 1 FROM activity")
    process.kill()
    process.communicate()
    with closing(sqlite3.connect(product.history)) as connection, connection:
        connection.execute("UPDATE runs SET pid = ?, heartbeat_at = ?", (os.getpid(), time.time()))
    assert product.json("show", "it")["state"] == "interrupted"
    refused = product.run("cancel", "it")
    assert refused.returncode == 2
    assert "interrupted" in refused.stderr
