"""Signals end a run with everything saved and the right status, here and detached."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter

import pytest

from tests.support.product import Product

PLAN = """
version: 1
name: signals
task_concurrency: 4
runtime: {cleanup_grace_seconds: %s}
requests:
  - name: one
    dataset: {path: cases.jsonl}
    solution: {type: command, argv: [sh, -c, "%s"]}
    evaluators: [{id: contains, expected: done}]
"""


def start(product: Product, command: str, grace: float, count: int = 40) -> subprocess.Popen[str]:
    product.write_cases([{"id": f"c{number}"} for number in range(count)])
    plan = product.write_plan(PLAN % (grace, command))
    process = product.start("run", str(plan), "--run-id", "it")
    wait_for(product, "SELECT 1 FROM activity")
    return process


def wait_for(product: Product, sql: str, seconds: float = 15) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ready = product.history.exists() and product.query("SELECT 1 FROM sqlite_schema WHERE name = 'log'")
        if ready and product.query(sql):
            return
        time.sleep(0.03)
    raise AssertionError(f"{sql}: never true")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_saves_what_is_in_flight_and_starts_nothing_new(product: Product, number: int, status: int) -> None:
    process = start(product, "sleep 0.5; echo done", grace=5)
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == status, errors
    outcomes = Counter(product.outcomes("it").values())
    assert outcomes["passed"] >= 4, "tasks in flight get the grace"
    assert outcomes["queued"] >= 20
    assert product.query("SELECT state FROM runs") == [("interrupted",)]
    assert "tui-eval resume it" in errors


def test_under_nohup_a_run_goes_on_when_the_terminal_goes_away(product: Product) -> None:
    product.write_cases([{"id": f"c{number}"} for number in range(6)])
    plan = product.write_plan(PLAN % (1, "sleep 0.5; echo done"))
    process = product.start("run", str(plan), "--run-id", "it", before=["nohup"])
    wait_for(product, "SELECT 1 FROM activity")
    process.send_signal(signal.SIGHUP)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert Counter(product.outcomes("it").values()) == {"passed": 6}


def test_a_second_interrupt_ends_at_once(product: Product) -> None:
    process = start(product, "sleep 60", grace=30)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert time.monotonic() - began < 5
    assert set(product.outcomes("it").values()) == {"queued"}
    assert not any("sleep 60" in line for line in _commands_of(process.pid))


def test_a_detached_run_outlives_its_starter_and_is_finished(product: Product) -> None:
    product.write_cases([{"id": f"c{number}"} for number in range(8)])
    plan = product.write_plan(PLAN % (1, "sleep 0.2; echo done"))
    began = product.run("run", str(plan), "--detach")
    assert began.returncode == 0, began.stderr
    run_id = began.stdout.strip()
    watched = product.run("watch", run_id, "--exit-code")
    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert Counter(product.outcomes(run_id).values()) == {"passed": 8}


def test_a_detached_run_that_cannot_begin_says_why(product: Product) -> None:
    plan = product.write_plan("version: 1\nname: x\nrequests: []\n")
    ended = product.run("run", str(plan), "--detach")
    assert ended.returncode == 2
    assert "requests" in ended.stderr


def test_a_detached_run_with_faults_tells_all_that_validate_tells(product: Product) -> None:
    (product.folder / "rows.jsonl").write_text('{"id": "a", "q": 1, "q": 2}\n{broken\n')
    solution = '{type: http, url: "http://127.0.0.1:9/${TUI_EVAL_NOT_SET}", bdy: x}'
    requests = "".join(
        f"  - {{name: {name}, dataset: {{path: {name}.jsonl}}, solution: {solution}}}\n" for name in ("rows", "gone")
    )
    plan = product.write_plan(f"version: 1\nname: x\nrequests:\n{requests}")
    validated = product.run("validate", str(plan))
    ended = product.run("run", str(plan), "--detach")
    assert (validated.returncode, ended.returncode, ended.stdout) == (2, 2, "")
    told = validated.stderr.splitlines()
    assert sum("/rows.jsonl:" in line for line in told) == 2
    assert set(told[:-1]) == set(ended.stderr.splitlines()[:-1]), "all but the line that counts them"


def test_a_detached_run_tells_its_warnings(product: Product) -> None:
    plan = product.write_plan(
        "version: 1\nname: x\nrequests:\n"
        "  - {name: a, dataset: {cases: [{id: a}]}, solution: {type: command, argv: [echo, done]}}\n"
    )
    ended = product.run("run", str(plan), "--detach")
    assert (ended.returncode, "warning: " in ended.stderr) == (0, True), ended.stderr
    assert "there are no evaluators" in ended.stderr
    assert product.run("watch", ended.stdout.strip()).returncode == 0


def test_a_detached_run_obeys_cancel_and_can_be_resumed(product: Product) -> None:
    product.write_cases([{"id": f"c{number}"} for number in range(12)])
    plan = product.write_plan(PLAN % (1, "while [ ! -e go ]; do sleep 0.05; done; echo done"))
    run_id = product.run("run", str(plan), "--detach").stdout.strip()
    wait_for(product, "SELECT 1 FROM activity")
    assert product.run("cancel", run_id, "--drain").returncode == 0
    wait_for(product, "SELECT 1 FROM commands WHERE taken_at IS NOT NULL")
    (product.folder / "go").touch()  # however long that took, no task had ended by itself
    product.run("watch", run_id)
    outcomes = Counter(product.outcomes(run_id).values())
    assert outcomes["cancelled"] > 0
    assert product.query("SELECT state FROM runs") == [("cancelled",)]
    resumed = product.run("resume", run_id)
    assert resumed.returncode == 0, resumed.stderr
    assert Counter(product.outcomes(run_id).values()) == {"passed": 12}


def test_a_live_run_is_not_taken_over(product: Product) -> None:
    process = start(product, "sleep 5; echo done", grace=0)
    taken = product.run("resume", "it")
    assert taken.returncode == 3
    assert "is being executed by process" in taken.stderr
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=20)


def _commands_of(pid: int) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if line.split()[0] == str(pid)]
