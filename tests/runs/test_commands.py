"""What viewers ask of a live run is obeyed within a second, and it is kept who asked for what."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.support.product import Product
from tui_eval.store.command_box import give, wait_taken

PLAN = """
version: 1
name: commands
task_concurrency: 3
runtime: {cleanup_grace_seconds: 1}
defaults:
  dataset: {path: cases.jsonl}
  evaluators: [{id: contains, expected: done}]
requests:
  - name: one
    solution: {type: command, argv: [sh, -c, "sleep 0.3; echo done"]}
  - name: two
    solution: {type: command, argv: [sh, -c, "sleep 0.3; echo done"]}
"""


@contextmanager
def live(product: Product, count: int = 60) -> Iterator[subprocess.Popen[str]]:
    """A run in another process that has tasks in flight."""
    product.write_cases([{"id": f"c{number}"} for number in range(count)])
    process = product.start("run", str(product.write_plan(PLAN)), "--run-id", "it", "--progress", "none")
    try:
        product.wait_for("SELECT 1 FROM activity")
        yield process
    finally:
        process.kill()
        process.communicate()


def ask(product: Product, kind: str, **arguments: object) -> str:
    answer = wait_taken(product.history, give(product.history, "it", kind, arguments, "me@here 7"), 5)
    assert answer is not None
    return answer


def state(product: Product) -> str:
    return str(product.query("SELECT state FROM runs")[0][0])


def test_every_command_is_obeyed_within_a_second_and_stands_in_the_log(product: Product) -> None:
    with live(product):
        assert ask(product, "set_concurrency", value=1) == "task_concurrency is 1"
        assert "paused" in ask(product, "pause")
        assert state(product) == "paused"
        assert ask(product, "resume") == "running"
        assert state(product) == "running"
        assert "cancelling request two" in ask(product, "cancel_request", request="two")
        assert "no live request" in ask(product, "cancel_request", request="three")
        task = product.query("SELECT task FROM activity")[0][0]
        ask(product, "cancel_task", task=task)
        assert "cancelling the run" in ask(product, "cancel_run")
        product.wait_for("SELECT 1 FROM runs WHERE state = 'cancelled'")
    late = product.query("SELECT kind, taken_at - given_at FROM commands WHERE taken_at - given_at >= 1")
    assert late == []
    logged = [message for (message,) in product.query("SELECT message FROM log ORDER BY id")]
    kinds = [
        "set_concurrency value=1",
        "pause",
        "resume",
        "cancel_request request=two",
        "cancel_request",
        "cancel_task",
    ]
    for kind, message in zip(kinds, logged, strict=False):
        assert message.startswith(f"me@here 7: {kind}")
    shown = product.run("show", "it", "--log")
    assert shown.stdout.count("me@here 7") == 7
    assert len(product.json("show", "it", "--log")["commands"]) == 7


NONSENSE: list[tuple[str, dict[str, object]]] = [
    ("cancel_task", {}),
    ("cancel_task", {"task": "x"}),
    ("cancel_task", {"task": 999999}),
    ("cancel_task", {"task": 2**70}),
    ("cancel_request", {"request": ["one"]}),
    ("set_concurrency", {"value": 0}),
    ("set_concurrency", {"value": "9"}),
    ("set_concurrency", {}),
]


def test_a_command_that_makes_no_sense_is_answered_and_harms_nothing(product: Product) -> None:
    with live(product, 30) as process:
        for kind, arguments in NONSENSE:
            assert ask(product, kind, **arguments)
        ask(product, "set_concurrency", value=30)
        process.wait(timeout=20)
    assert Counter(product.outcomes("it").values()) == {"passed": 60}


def test_a_command_that_no_program_of_ours_has_written_harms_nothing(product: Product) -> None:
    with live(product, 20) as process:
        with closing(sqlite3.connect(product.history)) as connection, connection:
            connection.execute("INSERT INTO commands (run, kind, given_at) VALUES (1, 'explode', 0)")
            connection.execute("INSERT INTO commands (run, kind, arguments, given_at) VALUES (1, 'pause', '[1', 0)")
            connection.execute("INSERT INTO commands (run, kind, arguments, given_at) VALUES (1, 'pause', '[1]', 0)")
        product.wait_for("SELECT 1 FROM (SELECT count(taken_at) AS taken FROM commands) WHERE taken = 3")
        ask(product, "resume")
        assert "task_concurrency" in ask(product, "set_concurrency", value=20)
        process.wait(timeout=20)
    assert Counter(product.outcomes("it").values()) == {"passed": 40}


def test_a_paused_run_starts_nothing_until_resume_and_loses_nothing(product: Product) -> None:
    with live(product, 10) as process:
        paused = product.run("pause", "it")
        assert paused.returncode == 0, paused.stderr
        product.wait_for("SELECT 1 FROM runs WHERE NOT EXISTS (SELECT 1 FROM activity)")
        before = Counter(product.outcomes("it").values())
        time.sleep(0.8)
        assert Counter(product.outcomes("it").values()) == before
        assert before["queued"] > 0
        (listed,) = product.json("runs")
        assert listed["state"] == "paused"
        resumed = product.run("resume", "it")
        assert (resumed.returncode, resumed.stdout) == (0, "running\n")
        process.wait(timeout=30)
    assert Counter(product.outcomes("it").values()) == {"passed": 20}


def test_a_paused_run_whose_runner_is_killed_is_finished_by_resume(product: Product) -> None:
    with live(product, 10) as process:
        product.run("pause", "it")
        process.send_signal(signal.SIGKILL)
        process.wait()
    resumed = product.run("resume", "it")
    assert resumed.returncode == 0, resumed.stderr
    assert Counter(product.outcomes("it").values()) == {"passed": 20}


def test_cancelling_a_paused_run_ends_it(product: Product) -> None:
    with live(product, 10) as process:
        product.run("pause", "it")
        cancelled = product.run("cancel", "it", "--drain")
        assert cancelled.returncode == 0, cancelled.stderr
        process.wait(timeout=20)
    assert state(product) == "cancelled"


def test_the_number_of_tasks_in_flight_can_be_changed(product: Product) -> None:
    with live(product):
        changed = product.run("set", "it", "--task-concurrency", "9")
        assert (changed.returncode, changed.stdout) == (0, "task_concurrency is 9\n")
        product.wait_for("SELECT 1 FROM (SELECT count(*) AS number FROM activity) WHERE number = 9")
        assert product.query("SELECT task_concurrency FROM runs") == [(9,)]


def test_a_task_that_waits_for_its_turn_can_be_cancelled_too(product: Product) -> None:
    with live(product, 200) as process:
        said = product.run("cancel", "it", "--request", "two", "--case", "c190")
        assert said.stdout == "the task will not be started\n", said.stderr
        last = ask(
            product, "cancel_task", task=product.query("SELECT min(id) FROM tasks WHERE outcome = 'passed'")[0][0]
        )
        assert last == "the task has ended already"
        ask(product, "set_concurrency", value=60)
        ask(product, "cancel_request", request="one")
        process.wait(timeout=60)
    outcomes = product.outcomes("it")
    two = {case: outcome for (request, case, _), outcome in outcomes.items() if request == "two"}
    assert {case for case, outcome in two.items() if outcome != "passed"} == {"c190"}
    ((message,),) = product.query(
        "SELECT message FROM tasks JOIN requests ON requests.id = request WHERE case_id = 'c190' AND name = 'two'"
    )
    assert message.startswith("cancelled by ")


def test_a_viewer_that_dies_in_the_middle_harms_nothing(product: Product) -> None:
    with live(product, 30) as process:
        viewers = [product.start("watch", "it", "--interval", "0.1") for _ in range(3)]
        viewers += [product.start("cancel", "it", "--case", "c29", "--request", "one") for _ in range(2)]
        for number, viewer in enumerate(viewers):
            time.sleep(0.1)
            viewer.send_signal(signal.SIGKILL if number % 2 else signal.SIGHUP)
        for viewer in viewers:
            viewer.communicate()
        ask(product, "set_concurrency", value=30)
        process.wait(timeout=60)
    assert set(product.outcomes("it").values()) <= {"passed", "cancelled"}
    assert product.query("PRAGMA integrity_check") == [("ok",)]
    assert state(product) == "completed"


def test_a_run_that_is_being_stopped_says_so(product: Product) -> None:
    product.write_cases([{"id": "a"}])
    plan = PLAN.replace("sleep 0.3", "trap '' TERM; sleep 3").replace("grace_seconds: 1", "grace_seconds: 2")
    process = product.start("run", str(product.write_plan(plan)), "--run-id", "it", "--progress", "none")
    product.wait_for("SELECT 1 FROM activity")
    process.send_signal(signal.SIGINT)
    product.wait_for("SELECT 1 FROM runs WHERE state = 'stopping'", seconds=3)
    assert "being stopped" in ask(product, "pause")
    process.communicate(timeout=20)
    assert state(product) == "interrupted"


def test_a_command_for_a_run_that_nothing_executes_is_refused(product: Product) -> None:
    with live(product):
        pass
    for *arguments, can in (
        ("cancel", "it", "be cancelled"),
        ("pause", "it", "be paused"),
        ("set", "it", "--task-concurrency", "3", "be given another limit"),
    ):
        ended = product.run(*arguments)
        assert ended.returncode == 2
        assert f"run it is interrupted: only a live run can {can}" in ended.stderr
    assert json.loads(product.run("runs", "--json").stdout)[0]["state"] == "interrupted"
